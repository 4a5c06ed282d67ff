"""Calls as text: the way to act for models whose API knows no tools."""

from wakeful.models.envelope.model import EnvelopeModel

__all__ = ["EnvelopeModel"]
