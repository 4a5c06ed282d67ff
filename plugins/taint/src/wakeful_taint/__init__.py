"""Outside text stays data: envelopes, and rules about what a run may do once it has read some."""

from wakeful_taint.envelope import DataEnvelope
from wakeful_taint.plugin import Taint
from wakeful_taint.rules import Case, Decision, decide
from wakeful_taint.settings import TaintSettings

__all__ = ["Case", "DataEnvelope", "Decision", "Taint", "TaintSettings", "decide"]
