"""The tools of MCP servers as actions of agents: accepted by a person, pinned, judged as any other."""

from __future__ import annotations

from wakeful_mcp.plugin import Mcp
from wakeful_mcp.settings import McpSettings, ServerSettings

__all__ = ["Mcp", "McpSettings", "ServerSettings"]
