"""Failed results that say how to succeed, and an end to calls that cannot."""

from wakeful_recovery.recovery.plugin import Recovery
from wakeful_recovery.recovery.settings import RecoverySettings

__all__ = ["Recovery", "RecoverySettings"]
