"""Laying out the demonstration's folder and choosing its model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from wakeful.plugins.loader import installed
from wakeful_demo import company
from wakeful_demo.office import DATABASE

#: Installed plugin, the variable that holds its key, and the model the demonstration takes.
REAL = (
    ("anthropic", "ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5"),
    ("openai", "OPENAI_API_KEY", "openai:gpt-5.6"),
)
SCRIPT = "replay:conversation.jsonl"
#: Scripts of the scenes, which a real model takes the place of too.
SCRIPTS = (SCRIPT, *(f"replay:{name}.jsonl" for name in ("mailroom", "chief", "clerk", "reminders")))
_TEMPLATES = (
    "wakeful.toml",
    "desk.md",
    "conversation.jsonl",
    "scenes.toml",
    "reminders.toml",
    "mailroom.jsonl",
    "chief.jsonl",
    "clerk.jsonl",
    "reminders.jsonl",
)


class InUseError(Exception):
    """The folder holds files of an earlier demonstration; the text names them."""


def lay_out(folder: Path, model: str) -> Path:
    """Write database, configuration, instructions and script into ``folder``; return the configuration.

    Raises:
        InUseError: one of the files is there already; nothing is written.
    """
    there = [name for name in (DATABASE, *_TEMPLATES) if (folder / name).exists()]
    if there:
        raise InUseError(", ".join(there))
    folder.mkdir(parents=True, exist_ok=True)
    for name in _TEMPLATES:
        text = files("wakeful_demo").joinpath("files", name).read_text(encoding="utf-8")
        for script in SCRIPTS if model != SCRIPT else ():
            text = text.replace(json.dumps(script), json.dumps(model))
        (folder / name).write_text(text, encoding="utf-8")
    company.create(folder / DATABASE)
    return folder / "wakeful.toml"


def choose_model(env: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the model to take, and why in a sentence."""
    there = installed()
    for plugin, variable, model in REAL:
        if env.get(variable) and plugin in there:
            return model, f"{variable} is set: talking to {model} for real."
    for plugin, variable, _ in REAL:
        if env.get(variable):
            return SCRIPT, f"{variable} is set, but wakeful-{plugin} is not installed: playing a script."
    return (
        SCRIPT,
        "No key is set: the model's side is a script that is played; database and actions are real.",
    )
