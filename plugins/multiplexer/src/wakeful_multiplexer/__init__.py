"""Hides most of an agent's actions behind a search, so that hundreds cost what is used of them."""

from wakeful_multiplexer.plugin import Multiplexer
from wakeful_multiplexer.settings import MultiplexerSettings

__all__ = ["Multiplexer", "MultiplexerSettings"]
