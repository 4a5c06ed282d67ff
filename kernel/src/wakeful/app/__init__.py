"""The application: what ``wakeful.open`` gives."""

from wakeful.app.application import App, open  # noqa: A004  (the name users type)
from wakeful.app.definition import Agent
from wakeful.app.report import ActionReport, AgentReport

__all__ = ["ActionReport", "Agent", "AgentReport", "App", "open"]
