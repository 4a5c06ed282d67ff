"""Instructions in folders, read by the model when it needs them."""

from wakeful_agents.skills.plugin import Skills, SkillsSettings

__all__ = ["Skills", "SkillsSettings"]
