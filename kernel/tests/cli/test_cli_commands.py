"""Help, names, versions, and the commands that plugins bring."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli import Console, Wakeful
from wakeful import __version__

HEAVY = ("attrs", "rich", "sqlalchemy", "sqlmodel", "cattrs", "alembic", "wakeful.types", "wk_broken")


def test_help_imports_nothing_heavy_and_no_plugin(console: Console) -> None:
    console.install("wk_broken", "raise RuntimeError\n", {"smash": "run"}, group="wakeful.commands")
    code = (
        "import sys\nfrom wakeful.cli.main import main\ncode = main(['--help'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules], code, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=console.environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[] 0"
    assert "Commands of installed plugins:" in done.stdout
    assert "smash" in done.stdout
    assert "Brings wk_broken" in done.stdout


def test_no_command_prints_the_help(wakeful: Wakeful) -> None:
    assert wakeful().out == wakeful("--help").out
    assert "resume" in wakeful("runs").out
    assert "wait until it has ended." in " ".join(wakeful("runs").out.split())


def test_version(wakeful: Wakeful) -> None:
    assert wakeful("--version").out == f"wakeful {__version__}\n"


def test_json_may_stand_before_the_command(wakeful: Wakeful) -> None:
    assert wakeful("init").code == 0
    for args in (("runs", "list"), ("plugins",)):
        assert wakeful("--json", *args).out == wakeful(*args, "--json").out != wakeful(*args).out


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("docter",), "wakeful has no command 'docter'; did you mean 'doctor'?"),
        (("runs", "lst"), "wakeful runs has no command 'lst'; did you mean 'list'?"),
        (("run", "--jsn", "a", "b"), "wakeful run has no option '--jsn'; did you mean '--json'?"),
        (("run", "desk"), "Missing argument 'TEXT' (see wakeful run --help)"),
        (("runs", "list", "--status", "complete"), "no status 'complete'; did you mean 'completed'?"),
        (("runs", "list", "-n", "none"), "'--limit' / '-n'"),
    ],
)
def test_what_is_mistyped_names_the_nearest(wakeful: Wakeful, args: tuple[str, ...], line: str) -> None:
    done = wakeful(*args)
    (error,) = done.errors
    assert line in error
    assert (done.code, done.out) == (2, "")


def test_a_mistyped_command_names_the_command_of_a_plugin(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_near", "", {"approvals-all": "run"}, group="wakeful.commands")
    assert wakeful("aprovals-all").errors == [
        "wakeful has no command 'aprovals-all'; did you mean 'approvals-all'?"
    ]


def test_errors_are_a_document_with_json(wakeful: Wakeful) -> None:
    done = wakeful("docter", "--json")
    assert done.json["error"]["type"] == "NotFoundError"
    assert done.json["error"]["message"] == done.errors[0]
    assert done.code == done.json["error"]["exit_code"] == 2


FUNCTION = """
def greet(who: str, loud: bool = False) -> int:
    '''Greet somebody.'''
    print(f"Hello, {who}!".upper() if loud else f"Hello, {who}!")
    return 7 if loud else 0
"""
TYPER = """
import typer

app = typer.Typer()


@app.command()
def one(who: str):
    print("one", who)


@app.command()
def two():
    raise typer.Exit(9)
"""


def test_a_plugins_function_is_a_command(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_function", FUNCTION, {"greet": "greet"}, group="wakeful.commands")
    assert wakeful("greet", "Ada").out == "Hello, Ada!\n"
    done = wakeful("greet", "Ada", "--loud")
    assert (done.code, done.out) == (7, "HELLO, ADA!\n")
    assert "Greet somebody." in wakeful("greet", "--help").out
    assert "wakeful greet has no option '--lod'; did you mean '--loud'?" in wakeful("greet", "--lod").err


def test_a_plugins_typer_application_is_a_group(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_typer", TYPER, {"group": "app"}, group="wakeful.commands")
    assert wakeful("group", "one", "--", "--Ada").out == "one --Ada\n"
    assert wakeful("group", "two").code == 9
    assert "two" in wakeful("group", "--help").out


def test_a_command_with_its_own_main_gets_the_arguments_as_they_are(
    console: Console, wakeful: Wakeful
) -> None:
    source = (
        "class Command:\n"
        "    def make_context(self): ...\n"
        "    def main(self, args, prog_name, standalone_mode):\n"
        "        print(prog_name, args, standalone_mode)\n"
        "command = Command()\n"
    )
    console.install("wk_click", source, {"foreign": "command"}, group="wakeful.commands")
    assert wakeful("foreign", "-x", "--help").out == "wakeful foreign ['-x', '--help'] False\n"


def test_a_broken_command_is_one_line_when_it_is_called(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_broken", "import no_such_thing\n", {"smash": "run"}, group="wakeful.commands")
    done = wakeful("smash", "--all")
    assert done.code == 2
    (line,) = done.errors
    assert "command 'smash': importing wk-broken 1.0" in line
    assert "no_such_thing" in line
    assert wakeful("--help").code == 0


def test_a_command_that_is_nothing_to_run(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_value", "run = 3\n", {"three": "run"}, group="wakeful.commands")
    (line,) = wakeful("three").errors
    assert line == "command 'three': 3 is neither a typer application, nor a click command, nor a function"


def test_wakefuls_own_command_wins_and_the_other_is_named(toy: Console, wakeful: Wakeful) -> None:
    toy.install("wk_thief", "raise SystemExit\n", {"doctor": "run"}, group="wakeful.commands")
    line = "command 'doctor' is wakeful's own; that of wk-thief 1.0 is not used"
    done = wakeful("doctor")
    assert done.err == f"note: {line}\n"
    assert line in done.out
    assert wakeful("doctor", "--json").json["notes"] == [line]
    assert "Brings wk_thief" not in wakeful("--help").out
