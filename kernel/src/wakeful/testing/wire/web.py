"""The one place that imports aiohttp, which is an extra."""

from __future__ import annotations

from wakeful.types import WakefulError

try:
    from aiohttp import web
except ImportError as error:
    raise WakefulError(
        "the wire server needs aiohttp, which is not installed; run: pip install 'wakeful[testing]'"
    ) from error

__all__ = ["web"]
