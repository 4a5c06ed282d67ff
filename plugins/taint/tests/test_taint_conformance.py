from __future__ import annotations

from wakeful.testing import PluginConformance


class TestTaint(PluginConformance):
    plugin = "taint"


class TestTaintWithEverythingSet(PluginConformance):
    plugin = "taint"
    settings = {
        "profile": "permissive",
        "trusted_sites": ["docs.example.com/guide"],
        "recipients": ["ana@example.com", "*@example.org"],
    }
