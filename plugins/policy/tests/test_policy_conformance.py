from __future__ import annotations

from wakeful.testing import PluginConformance


class TestPolicy(PluginConformance):
    plugin = "policy"


class TestPolicyWithRules(PluginConformance):
    plugin = "policy"
    settings = {
        "rules": [
            {"action": "send_*", "verdict": "auto_review", "criteria": "Replies only.", "confidence": 0.9},
            {"effect": "external", "verdict": "allow", "when": ["Mon-Fri 09:00-17:00"]},
        ]
    }
