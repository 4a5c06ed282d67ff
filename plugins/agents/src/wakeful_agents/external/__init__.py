"""Reasoning from another program, held to everything that holds for a model."""

from wakeful_agents.external.plugin import External, ExternalSettings

__all__ = ["External", "ExternalSettings"]
