"""Rules about what an agent may do, with windows of time and a default for what no rule names."""

from wakeful_policy.plugin import Policy
from wakeful_policy.settings import Condition, PolicySettings, Rule

__all__ = ["Condition", "Policy", "PolicySettings", "Rule"]
