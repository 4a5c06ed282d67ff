"""From an action's result to the frozen text a model reads."""

from wakeful.results.render import PlainEnvelope, nonce, render
from wakeful.results.stages import apply_stages, stamp

__all__ = ["PlainEnvelope", "apply_stages", "nonce", "render", "stamp"]
