"""wakeful: a microkernel with plugins for always-on AI agents.

The names here are what users type; everything is loaded when it is first touched, so that
``import wakeful`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakeful.app import Agent, App, open  # noqa: A004  (the name users type)
    from wakeful.hookspecs import hookimpl
    from wakeful.tools.declare import action
    from wakeful.types import (
        Action,
        ActionContext,
        ActionError,
        ActionResult,
        Answer,
        Limits,
        Param,
        WakefulError,
    )

__version__ = "0.1.0"

_WHERE = {
    "Agent": "wakeful.app",
    "App": "wakeful.app",
    "open": "wakeful.app",
    "hookimpl": "wakeful.hookspecs",
    "action": "wakeful.tools.declare",
    "Action": "wakeful.types",
    "ActionContext": "wakeful.types",
    "ActionError": "wakeful.types",
    "ActionResult": "wakeful.types",
    "Answer": "wakeful.types",
    "Limits": "wakeful.types",
    "Param": "wakeful.types",
    "WakefulError": "wakeful.types",
}

__all__ = [
    "Action",
    "ActionContext",
    "ActionError",
    "ActionResult",
    "Agent",
    "Answer",
    "App",
    "Limits",
    "Param",
    "WakefulError",
    "__version__",
    "action",
    "hookimpl",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        msg = f"module 'wakeful' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
