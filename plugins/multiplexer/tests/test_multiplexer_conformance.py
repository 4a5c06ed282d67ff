from __future__ import annotations

from wakeful.testing import PluginConformance


class TestMultiplexer(PluginConformance):
    plugin = "multiplexer"
    settings = {
        "mode": "always",
        "threshold": 3,
        "min_hidden_tokens": 0,
        "pinned": ["crm_*"],
        "pin_top": 1,
        "backend": "tools",
        "index_names_up_to": 2,
        "synonyms": {"ring": ["call"]},
    }
