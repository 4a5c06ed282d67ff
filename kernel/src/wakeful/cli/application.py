"""The commands as typer declares them. Each imports what does the work when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wakeful.cli.extra import Commands, RootCommands
from wakeful.cli.failures import TRACEBACK
from wakeful.cli.options import (
    DEFAULT_FILE,
    AgentName,
    AsJson,
    Conversation,
    File,
    Quiet,
    RunId,
    User,
)

app = typer.Typer(
    cls=RootCommands,
    help="Run always-on AI agents that are configured in wakeful.toml.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
runs = typer.Typer(cls=Commands, help="Look at runs, and go on with one that waits.", rich_markup_mode=None)
plugin = typer.Typer(cls=Commands, help="Work on plugins of your own.", rich_markup_mode=None)
db = typer.Typer(cls=Commands, help="Make, upgrade and check the database.", rich_markup_mode=None)


def _version(value: bool) -> None:
    if value:
        from wakeful import __version__
        from wakeful.cli.failures import JSON
        from wakeful.cli.output import say, say_json

        if JSON in sys.argv:
            say_json({"version": __version__})
        else:
            say(f"wakeful {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="Show where an error was raised; also WAKEFUL_TRACEBACK=1.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    """Run always-on AI agents that are configured in wakeful.toml."""
    del version, traceback, json


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    json: AsJson = False,
) -> int:
    """Write a commented wakeful.toml that works, with a script and an action."""
    from wakeful.cli.init import init_project

    return init_project(folder, force=force, as_json=json)


@app.command()
def run(
    agent: AgentName,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads standard input.")],
    conversation: Conversation = None,
    user: User = "",
    file: File = DEFAULT_FILE,
    json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Run one turn of an agent and print its answer."""
    from wakeful.cli.run import Asking, run_turn

    return run_turn(Asking(file, agent, text, conversation, user), as_json=json, quiet=quiet)


@app.command()
def chat(
    agent: AgentName,
    conversation: Conversation = None,
    user: User = "",
    file: File = DEFAULT_FILE,
    json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Talk to an agent. Ctrl-C cancels a turn, Ctrl-D or /exit ends."""
    from wakeful.cli.chat import chat as talk
    from wakeful.cli.run import Asking

    return talk(Asking(file, agent, "", conversation, user), as_json=json, quiet=quiet)


@app.command()
def plugins(file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """List the installed plugins and the agents that use them."""
    from wakeful.cli.plugins import list_plugins

    return list_plugins(file, as_json=json)


@app.command()
def doctor(file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Print what each agent really gets, and what is wrong."""
    from wakeful.cli.doctor import examine
    from wakeful.cli.extra import shadowed
    from wakeful.plugins.commands import installed_commands

    own = getattr(typer.main.get_command(app), "commands", {})
    return examine(file, shadowed(installed_commands(), own), as_json=json)


@runs.command("list")
def runs_list(
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="NAME", help="Only the runs of this agent.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", metavar="ID", help="Only its runs.")
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only runs with this status.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 20,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """List runs, the newest first."""
    from wakeful.cli.runs import Wanted, list_runs

    return list_runs(file, Wanted(agent, conversation, status, limit), as_json=json)


@runs.command("show")
def runs_show(run_id: RunId, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Explain every step of a run."""
    from wakeful.cli.runs import show_run

    return show_run(file, run_id, as_json=json)


@runs.command("resume")
def runs_resume(run_id: RunId, file: File = DEFAULT_FILE, json: AsJson = False, quiet: Quiet = False) -> int:
    """Go on with a run that waits for a person or was left unfinished, and print its answer."""
    from wakeful.cli.run import resume_run

    return resume_run(file, run_id, as_json=json, quiet=quiet)


@runs.command("cancel")
def runs_cancel(run_id: RunId, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """End a run as cancelled, in whatever process it runs, and wait until it has ended."""
    from wakeful.cli.cancel import cancel_run

    return cancel_run(file, run_id, as_json=json)


@plugin.command("new")
def plugin_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and _.")],
    folder: Annotated[Path, typer.Option("--in", metavar="FOLDER", help="Where to put it.")] = Path(),
    json: AsJson = False,
) -> int:
    """Write a working plugin with a test, in a folder wakeful-NAME."""
    from wakeful.cli.new import new_plugin

    return new_plugin(name, folder, as_json=json)


@db.command("upgrade")
def db_upgrade(file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Bring the database to what this installation needs; makes a missing one."""
    from wakeful.cli.db import upgrade_database

    return upgrade_database(file, as_json=json)


@db.command("current")
def db_current(file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Say which revision each part of the database is at."""
    from wakeful.cli.db import current_database

    return current_database(file, as_json=json)


@db.command("check")
def db_check(file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Compare the database with the code, and look for lost rows and results."""
    from wakeful.cli.db import check_database

    return check_database(file, as_json=json)


@db.command("forget")
def db_forget(
    conversation: Annotated[str, typer.Argument(metavar="CONVERSATION", help="Its id.")],
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Delete a conversation with all that belongs to it, its artifacts included."""
    from wakeful.cli.keeping import forget_one

    return forget_one(file, conversation, as_json=json)


@db.command("clean")
def db_clean(
    grace: Annotated[
        float, typer.Option("--grace", metavar="SECONDS", min=0, help="Leave younger contents alone.")
    ] = 3600.0,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Remove large contents that no conversation keeps, as a crash leaves them."""
    from wakeful.cli.keeping import clean

    return clean(file, grace, as_json=json)


app.add_typer(runs, name="runs")
app.add_typer(plugin, name="plugin")
app.add_typer(db, name="db")
