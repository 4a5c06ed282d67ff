from __future__ import annotations

from wakeful.testing import PluginConformance


class TestNotes(PluginConformance):
    plugin = "notes"
    settings = {"max_chars": 500, "writes": 2, "days": 30}
