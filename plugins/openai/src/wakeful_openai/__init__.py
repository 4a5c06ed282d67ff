"""OpenAI and compatible models for wakeful agents."""
class OpenAI: pass
