"""A JSON document that travels through a run."""

from wakeful_agents.payload.plugin import Payload, PayloadSettings

__all__ = ["Payload", "PayloadSettings"]
