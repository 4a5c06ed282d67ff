"""What can be set: where outputs spill, how much is kept, how long a query may take."""

from __future__ import annotations

from attrs import field, frozen
from attrs import validators as valid


@frozen
class SpilloverSettings:
    """Settings of the plugin."""

    threshold_chars: int = field(
        default=8_000,
        validator=valid.ge(0),
        metadata={"help": "longest output (or message) that stays inline, in characters; 0 = never spill"},
    )
    rows: int = field(
        default=25,
        validator=valid.ge(1),
        metadata={"help": "arrays of more rows than this spill from 4,000 characters on"},
    )
    quota_mb: int = field(
        default=4_000,
        validator=valid.ge(1),
        metadata={"help": "largest size of all artifacts of a conversation, in millions of bytes"},
    )
    quota_count: int = field(
        default=1_000, validator=valid.ge(1), metadata={"help": "most artifacts of a conversation"}
    )
    timeout_s: float = field(
        default=20.0,
        converter=float,
        validator=[valid.gt(0), valid.le(3600)],
        metadata={"help": "seconds after which a query is stopped"},
    )
    memory_mb: int = field(
        default=256,
        validator=[valid.ge(64), valid.le(65_536)],
        metadata={"help": "memory that queries over tables may use together, in millions of bytes"},
    )
