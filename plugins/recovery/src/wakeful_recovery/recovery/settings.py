"""Settings of the entry point ``recovery``."""

from __future__ import annotations

from attrs import field, frozen
from attrs import validators as valid

#: Codes after which no call of the action can succeed in this run, whatever its arguments.
FATAL_CODES = ("INVALID_CREDENTIALS", "MISSING_CREDENTIALS", "SERVICE_NOT_CONFIGURED")


@frozen
class RecoverySettings:
    """Settings of ``[plugins.recovery]``."""

    repair_names: bool = field(
        default=True, metadata={"help": "carry out calls whose tool name is meant beyond doubt"}
    )
    prefixes: tuple[str, ...] = field(
        default=(), metadata={"help": "prefixes, e.g. of servers, that models add to tool names or leave out"}
    )
    identical_failures: int = field(
        default=2,
        validator=valid.ge(1),
        metadata={"help": "failures of one and the same call after which it is blocked"},
    )
    failures_in_a_row: int = field(
        default=5,
        validator=valid.ge(1),
        metadata={"help": "failures of an action in a row after which it is blocked for the run"},
    )
    warn_from: int = field(
        default=3,
        validator=valid.ge(1),
        metadata={"help": "failures of an action in a row from which the model is warned"},
    )
    fatal_codes: tuple[str, ...] = field(
        default=FATAL_CODES,
        metadata={"help": "result codes that block the action for the run at once"},
    )
