"""Settings of the judge."""

from __future__ import annotations

from attrs import field, frozen
from attrs import validators as valid


@frozen
class JudgeSettings:
    """Settings of ``[plugins.judge]``."""

    timeout_s: float = field(
        default=5.0,
        converter=float,
        validator=[valid.gt(0), valid.le(600)],
        metadata={"help": "seconds after which a review counts as undecided, and a person is asked"},
    )
    max_chars: int = field(
        default=8_000,
        validator=[valid.ge(100), valid.le(200_000)],
        metadata={"help": "characters of arguments; a call with more goes to a person unreviewed"},
    )
