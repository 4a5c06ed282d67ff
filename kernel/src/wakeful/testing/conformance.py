"""Checks that every plugin distribution runs against itself: subclass, and name the plugin.

::

    from wakeful.testing import PluginConformance

    class TestHello(PluginConformance):
        plugin = "hello"
        settings = {"greeting": "Hi"}
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import attrs
import pytest

from wakeful.config import structure
from wakeful.hookspecs import hookimpl
from wakeful.plugins.hooks import AgentPlugins, PlatformPlugins
from wakeful.plugins.settings import settings_table
from wakeful.testing.checks import action_problems, answers, same, toml, turn
from wakeful.testing.footprints import footprint
from wakeful.testing.probes import probe
from wakeful.testing.subjects import Subject, declarations, documented
from wakeful.types import AgentView, ConfigError, Json, Section

#: Seconds that threads get to end after an application is closed.
PATIENCE = 5.0


class Neighbour:
    """Another plugin of the agent: the order of the two must make no difference."""

    name = "neighbour"

    @hookimpl
    def prompt_sections(self, agent: AgentView) -> list[Section]:
        """Give a section."""
        return [Section("neighbour", 50, f"Beside {agent.name}.")]


class PluginConformance:
    """What holds for every plugin, whatever it does.

    Attributes:
        plugin: the name of its entry point.
        settings: the settings it is tested with; needed if some have no default.
    """

    plugin: ClassVar[str]
    settings: ClassVar[Mapping[str, Json]] = {}

    def prepare(self, folder: Path) -> None:
        """Make what the settings refer to (a database, a script) in the folder where paths resolve."""

    @pytest.fixture(name="subject")
    def _subject(self, tmp_path: Path) -> Subject:
        return self.subject_in(tmp_path)

    def subject_in(self, folder: Path) -> Subject:
        """Return the plugin under test, for agents whose paths resolve in ``folder``."""
        self.prepare(folder)
        return Subject(self.plugin, self.settings, folder)

    def test_importing_it_does_nothing_else(self, subject: Subject) -> None:
        """An import opens no socket, thread or file, starts nothing and prints nothing."""
        module = subject.entry.module
        try:
            did, printed = probe("imported", module)
        except AssertionError as error:
            raise AssertionError(f"plugin {self.plugin!r}: importing {module}: {error}") from None
        assert not did, f"plugin {self.plugin!r}: importing {module} did more than that: {'; '.join(did)}"
        assert not printed, f"plugin {self.plugin!r}: importing {module} printed {printed[:200]!r}"

    def test_its_hooks_are_known(self, subject: Subject) -> None:
        """Every hook it implements exists, with the same signature; it implements one at least."""
        plugin = subject.make()
        for facade in (AgentPlugins, PlatformPlugins):
            try:
                facade({self.plugin: plugin})
            except ConfigError as error:
                raise AssertionError(str(error)) from None
        assert subject.hooks(plugin), (
            f"plugin {self.plugin!r}: implements no hook; mark methods with @hookimpl"
        )

    def test_two_instances_share_nothing(self, subject: Subject) -> None:
        """What one instance does or gives away does not show in another, nor in its classes or modules."""
        other = subject.make()
        given = [repr(answer) for answer in answers(subject, other)]
        before = footprint(other, subject.package)
        asyncio.run(turn(subject, spoiling=True))
        after = footprint(other, subject.package)
        changed = [line for line in after.splitlines() if line not in before.splitlines()]
        shared = f"plugin {self.plugin!r}: instances share state; make it in __init__"
        assert not changed, f"{shared}: {changed[0][:300]}"
        again = [repr(answer) for answer in answers(subject, other)]
        assert again == given, f"{shared}: a change to what one gave shows in what the other gives"

    def test_its_declarations_are_the_same_everywhere(self, subject: Subject) -> None:
        """It declares the same twice, in another process with other hashes, and in another order."""
        settings = {self.plugin: subject.settings}

        def declared(*plugins: str | object) -> str:
            return asyncio.run(declarations(plugins, settings, subject.folder))

        first = declared(self.plugin)
        same(self.plugin, first, declared(self.plugin), "the second time")
        for seed in ("1", "2"):
            found, _ = probe(
                "declared",
                self.plugin,
                dict(subject.settings),
                str(subject.folder),
                env={"PYTHONHASHSEED": seed},
            )
            same(self.plugin, first, found, "in another process; sort what comes from sets")
        before, after = declared(Neighbour(), self.plugin), declared(self.plugin, Neighbour())
        same(self.plugin, before, after, "after another plugin")

    def test_its_actions_are_valid(self, subject: Subject) -> None:
        """Schemas are JSON schemas in canonical form; names and texts are what models accept."""
        problems = asyncio.run(action_problems(subject))
        assert not problems, f"plugin {self.plugin!r}: " + "; ".join(problems)

    def test_its_settings_are_documented(self, subject: Subject) -> None:
        """The settings are an attrs class with a text for each; a key that is not there is refused."""
        cls = subject.load()
        settings = getattr(cls, "Settings", None)
        who = f"plugin {self.plugin!r}"
        if settings is None:
            assert not self.settings, f"{who}: is tested with settings but has no Settings class"
            return
        assert (settings.__doc__ or "").strip(), f"{who}: {settings.__name__} has no docstring"
        silent = [
            each.name for each in attrs.fields(settings) if not str(each.metadata.get("help", "")).strip()
        ]
        assert not silent, f'{who}: settings without metadata={{"help": ...}}: {", ".join(silent)}'
        structure(settings, dict(self.settings), self.plugin)
        try:
            structure(settings, {**self.settings, "no_such_setting": 1}, self.plugin)
        except ConfigError:
            return
        raise AssertionError(f"{who}: accepts the unknown setting 'no_such_setting'; declare each setting")

    def test_off_means_gone(self, subject: Subject) -> None:
        """An agent without it sends the same bytes whether or not another has it; off, it is not imported."""
        settings = "".join(f"{key} = {toml(value)}\n" for key, value in subject.settings.items())
        table = f"[plugins.{self.plugin}]\n{settings}"
        plain = '[agents.plain]\nmodel = "scripted:any"\ninstructions = "Help."\n'
        other = f'[agents.other]\nmodel = "scripted:any"\nplugins.enable = ["{self.plugin}"]\n'
        alone, both = subject.folder / "alone.toml", subject.folder / "both.toml"
        for file, text in ((alone, plain + table), (both, plain + other + table)):
            file.write_text(f'[store]\nurl = "sqlite://"\n{text}', encoding="utf-8")
        without, _ = probe("left_out", str(alone), "plain", subject.package)
        beside, _ = probe("left_out", str(both), "plain", subject.package)
        who = f"plugin {self.plugin!r}"
        assert not without["imported"], f"{who}: is imported although no agent enables it"
        for what in ("sent", "rows", "answer"):
            assert without[what] == beside[what], (
                f"{who}: changes agents that do not enable it ({what}); act through hooks only"
            )

    def test_it_leaves_no_task_behind(self, subject: Subject) -> None:
        """After a turn no task of its runs on, and after closing no thread."""
        before = set(threading.enumerate())
        tasks = asyncio.run(turn(subject))
        who = f"plugin {self.plugin!r}"
        assert not tasks, f"{who}: left tasks running after a turn: {', '.join(tasks)}"
        for thread in set(threading.enumerate()) - before:
            thread.join(PATIENCE)
            assert not thread.is_alive(), (
                f"{who}: left the thread {thread.name!r} running; end it in `async def close(self)`"
            )

    def test_it_ships_its_types(self, subject: Subject) -> None:
        """The package is marked as typed."""
        marked = (subject.root / "py.typed").is_file()
        assert marked, f"plugin {self.plugin!r}: {subject.package}/py.typed is missing; add an empty file"

    def test_its_readme_is_current(self, subject: Subject) -> None:
        """The README of its distribution holds the table of its settings as they are."""
        settings = getattr(subject.load(), "Settings", None)
        if settings is None or not attrs.fields(settings):
            return
        text = documented(subject)
        assert text, f"plugin {self.plugin!r}: its distribution has no README"
        assert settings_table(settings) in text, (
            f"plugin {self.plugin!r}: the README does not hold the current table of settings;"
            " write wakeful.plugins.settings.settings_table into it with `cog -r README.md`"
        )
