"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

#: Where the configuration is looked for unless told otherwise.
DEFAULT_FILE = Path("wakeful.toml")

File = Annotated[Path, typer.Option("--file", "-f", metavar="PATH", help="The configuration file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer and errors only.")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="Name of the agent in the file.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]
User = Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Who asks.")]
Conversation = Annotated[
    str | None,
    typer.Option("--conversation", "-c", metavar="ID", help="Continue this conversation, or start it."),
]
