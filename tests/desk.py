"""A small project of an agent, and the ways to break it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli import Console

CONFIG = """
[store]
url = "sqlite:///wakeful.db?{options}"

[plugins]
enable = [{plugins}]

[agents.desk]
model = "replay:script.jsonl"
actions = ["tools:*"]
"""
TOOLS = '''
from wakeful import action


@action(effect="read", output_trust="trusted")
def count_customers(region: str) -> int:
    """Count customers."""
    return 42
'''
SAYS = json.dumps({"text": "Forty-two."}) + "\n"
PLUGIN = """
from wakeful import action, hookimpl


class Plugin:
    @hookimpl
    {hook}
"""
GIVES_A_TOOL = '''def tool_actions(self, agent):
        @action(name="look up", effect="read", output_trust="trusted")
        def look_up() -> str:
            """Look up."""
            return ""

        return [look_up]
'''
FILLS_A_SLOT = """def prompt_window(self, agent):
        return self

    def select(self, run):
        return None
"""


def configure(console: Console, *plugins: str, options: str = "timeout=0.3", extra: str = "") -> None:
    listed = ", ".join(f'"{name}"' for name in plugins)
    console.write("wakeful.toml", CONFIG.format(plugins=listed, options=options) + extra)


def plugin(console: Console, name: str, hook: str, requires: tuple[str, ...] = ()) -> None:
    console.install(f"wk_{name}", PLUGIN.format(hook=hook), {name: "Plugin"}, requires=requires)


def broken_plugin(console: Console) -> None:
    console.install("wk_broken", "import not_there_at_all\n", {"broken": "Plugin"})
    configure(console, "broken")


def project(folder: Path) -> Console:
    """Write a project that works."""
    console = Console(folder)
    configure(console)
    console.write("tools.py", TOOLS)
    console.write("script.jsonl", SAYS)
    return console
