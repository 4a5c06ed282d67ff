"""A server with one tool."""

from datetime import UTC, datetime

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("clock")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weekday(day: str) -> str:
    """Say which day of the week a date is, e.g. 2026-03-01."""
    return f"{datetime.fromisoformat(day).replace(tzinfo=UTC):%A}"


server.run("stdio")
