"""Settings of the entry point ``loops``."""

from __future__ import annotations

from attrs import field, frozen
from attrs import validators as valid


@frozen
class LoopsSettings:
    """Settings of ``[plugins.loops]``."""

    max_iterations: int = field(
        default=10_000, validator=valid.ge(1), metadata={"help": "iterations after which a loop stops"}
    )
    max_seconds: float = field(
        default=600.0,
        converter=float,
        validator=valid.gt(0),
        metadata={"help": "seconds after which a loop stops; the run's own limit counts as well"},
    )
    max_failures: int = field(
        default=10,
        validator=valid.ge(0),
        metadata={
            "help": "failed iterations after which a loop stops, unless a call says another number; 0: none"
        },
    )
    parallel: int = field(
        default=8,
        validator=[valid.ge(1), valid.le(64)],
        metadata={
            "help": "iterations of `for_each` that run at the same time; 1: strictly one after the other"
        },
    )
    shown_results: int = field(
        default=20,
        validator=valid.ge(0),
        metadata={"help": "results that the model is shown where no plugin keeps long outputs elsewhere"},
    )
