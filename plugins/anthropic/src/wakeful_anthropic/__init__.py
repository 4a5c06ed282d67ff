"""Anthropic models for wakeful agents."""
class Anthropic: pass
