"""What every plugin promises, checked by the kernel's own kit."""

from __future__ import annotations

from pathlib import Path

from wakeful.testing import PluginConformance

HERE = Path(__file__).parent


class TestPayload(PluginConformance):
    plugin = "payload"
    settings = {"paths": ["orders[*].total:add,update"]}


class TestPlan(PluginConformance):
    plugin = "plan"


class TestSkills(PluginConformance):
    plugin = "skills"
    settings = {"folders": [str(HERE / "skills")]}


class TestFlow(PluginConformance):
    plugin = "flow"
    settings = {"file": str(HERE / "twenty.toml")}


class TestExternal(PluginConformance):
    plugin = "external"
    settings = {"command": ["python", "harness.py"]}
