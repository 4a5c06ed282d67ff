"""The command line in this process: quick, with distributions that exist for one test."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import Console, Done, Wakeful
from wakeful.cli.main import main

#: A provider that always says the same, for agents of a kernel without any plugin.
TOY = '''
from wakeful import hookimpl
from wakeful.types import Profile, Reply, Text, Usage


class Model:
    profile = Profile("toy")

    async def complete(self, request, conversation, emit=None):
        return Reply((Text("assistant", "I am a toy."),), Usage(uncached=3, output=4))


class Provider:
    name = "toy"

    def bind(self, model, settings, resolve):
        return Model()


class Toy:
    """Brings the scheme toy."""

    @hookimpl
    def model_providers(self):
        return [Provider()]
'''
CONFIG = '[agents.desk]\nmodel = "toy:any"\n'


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """Give a folder that is the current one, and a place for distributions."""
    console = Console(tmp_path)
    console.site.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(console.site))
    before = set(sys.modules)
    yield console
    for name in set(sys.modules) - before:
        if name.startswith("wk_"):
            del sys.modules[name]


@pytest.fixture
def wakeful(console: Console, capsys: pytest.CaptureFixture[str]) -> Wakeful:
    """Give a function that runs a command line in the folder of the test."""

    def run(*args: str) -> Done:
        importlib.invalidate_caches()
        capsys.readouterr()
        code = main(args)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def toy(console: Console) -> Console:
    """Give a folder with a configuration whose model needs nothing."""
    console.install("wk_toy", TOY, {"toy": "Toy"})
    console.write("wakeful.toml", CONFIG)
    return console
