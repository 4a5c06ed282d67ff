"""Flows: steps from a file, with no model between them."""

from wakeful_agents.flow.plugin import Flows, FlowSettings

__all__ = ["FlowSettings", "Flows"]
