from __future__ import annotations

from wakeful.testing import PluginConformance


class TestSpillover(PluginConformance):
    plugin = "spillover"
    settings = {
        "threshold_chars": 3000,
        "rows": 10,
        "quota_mb": 10,
        "quota_count": 5,
        "timeout_s": 2.0,
        "memory_mb": 128,
    }
