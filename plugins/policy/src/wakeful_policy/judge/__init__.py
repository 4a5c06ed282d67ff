"""The safety judge: a model's second look at calls that rules send to review."""

from wakeful_policy.judge.plugin import Judge
from wakeful_policy.judge.settings import JudgeSettings

__all__ = ["Judge", "JudgeSettings"]
