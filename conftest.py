"""Set up every test run of the repository: hypothesis profiles by ``WAKEFUL_EXAMPLES``."""

from __future__ import annotations

from tests.counts import register

register()
