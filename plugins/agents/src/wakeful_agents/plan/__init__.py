"""Plan mode: nothing is changed, fetched or sent before a person has approved a plan."""

from wakeful_agents.plan.plugin import Plan

__all__ = ["Plan"]
