from __future__ import annotations

from wakeful.testing import PluginConformance


class TestLifecycle(PluginConformance):
    plugin = "lifecycle"


class TestLifecycleWithEverythingSet(PluginConformance):
    plugin = "lifecycle"
    settings = {
        "expirations": {
            "action-result": {"turns": 5, "mode": "compact", "method": "first_n_chars", "length": 300},
            "loop-result": {"turns": 1},
        },
        "batch_share": 0.5,
        "argument_chars": 200,
        "summary_chars": 400,
        "summary_prompt": "Shorten this.",
    }


class TestLoops(PluginConformance):
    plugin = "loops"


class TestLoopsWithEverythingSet(PluginConformance):
    plugin = "loops"
    settings = {
        "max_iterations": 50,
        "max_seconds": 5.0,
        "max_failures": 0,
        "parallel": 1,
        "shown_results": 3,
    }
