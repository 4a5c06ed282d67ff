"""Prompts that providers' caches read again: what changes stands at the end, every break is named."""

from wakeful_cache.layout import CacheLayout
from wakeful_cache.plugin import Cache
from wakeful_cache.settings import CacheSettings

__all__ = ["Cache", "CacheLayout", "CacheSettings"]
