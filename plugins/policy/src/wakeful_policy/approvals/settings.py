"""Settings of the approvals."""

from __future__ import annotations

from attrs import field, frozen
from attrs import validators as valid


@frozen
class ApprovalsSettings:
    """Settings of ``[plugins.approvals]``."""

    expires_days: float = field(
        default=60.0,
        converter=float,
        validator=[valid.ge(0), valid.le(3650)],
        metadata={"help": "days after which an undecided request is void; 0 = never"},
    )
    ask: bool = field(
        default=True, metadata={"help": "whether the agent may ask people questions with `ask_person`"}
    )
