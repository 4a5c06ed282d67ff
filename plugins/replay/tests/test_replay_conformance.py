from __future__ import annotations

from wakeful.testing import PluginConformance


class TestReplay(PluginConformance):
    plugin = "replay"


class TestReplayThatRecords(PluginConformance):
    plugin = "replay"
    settings = {"mode": "auto", "upstream": "anthropic:claude-sonnet-5", "strict": False}
