"""From an action's result to the frozen text a model reads."""

from wakeful.results.artifacts import inlined
from wakeful.results.media import Media, media_of
from wakeful.results.render import PlainEnvelope, nonce, render
from wakeful.results.stages import apply_stages, stamp

__all__ = ["Media", "PlainEnvelope", "apply_stages", "inlined", "media_of", "nonce", "render", "stamp"]
