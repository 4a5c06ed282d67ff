from __future__ import annotations

from wakeful.testing import PluginConformance


class TestAnthropic(PluginConformance):
    plugin = "anthropic"
