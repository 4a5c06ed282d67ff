"""The plugin against the test kit."""

from __future__ import annotations

from wakeful.testing import PluginConformance


class TestCache(PluginConformance):
    plugin = "cache"
    settings = {"retention": "auto"}
