"""What stands between the loop and a provider's model: retries, fail-over, calls as text."""

from wakeful.models.envelope import EnvelopeModel
from wakeful.models.retry import PatientModel

__all__ = ["EnvelopeModel", "PatientModel"]
