from __future__ import annotations

from wakeful.testing import PluginConformance


class TestRecovery(PluginConformance):
    plugin = "recovery"


class TestRecoveryWithEverythingSet(PluginConformance):
    plugin = "recovery"
    settings = {
        "repair_names": False,
        "prefixes": ["crm"],
        "identical_failures": 1,
        "failures_in_a_row": 3,
        "warn_from": 2,
        "fatal_codes": ["NO_LICENCE"],
    }
