"""The test kit: fakes for time, identity and models, turns without an event loop, and conformance checks.

Its fixtures are there wherever pytest and wakeful are installed. Names are loaded when they are first
touched, because pytest imports this package in every run of an environment that has wakeful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakeful.testing.clock import FakeClock
    from wakeful.testing.conformance import PluginConformance
    from wakeful.testing.databases import Database
    from wakeful.testing.gates import Gate
    from wakeful.testing.ids import FakeIds
    from wakeful.testing.models import Say, ScriptedModel, say, shown
    from wakeful.testing.prefixes import PrefixStable
    from wakeful.testing.runtime import RuntimeConformance
    from wakeful.testing.turns import TurnResult, run_turn

_WHERE = {
    "Database": "databases",
    "FakeClock": "clock",
    "FakeIds": "ids",
    "Gate": "gates",
    "PluginConformance": "conformance",
    "PrefixStable": "prefixes",
    "RuntimeConformance": "runtime",
    "Say": "models",
    "ScriptedModel": "models",
    "TurnResult": "turns",
    "run_turn": "turns",
    "say": "models",
    "shown": "models",
}

__all__ = [
    "Database",
    "FakeClock",
    "FakeIds",
    "Gate",
    "PluginConformance",
    "PrefixStable",
    "RuntimeConformance",
    "Say",
    "ScriptedModel",
    "TurnResult",
    "run_turn",
    "say",
    "shown",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'wakeful.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wakeful.testing.{_WHERE[name]}"), name)
