"""The plugin: bounds results, lists artifacts in the state, answers questions about them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import Action, Fragment, Lineage, Reference, Run, Services, Stage
from wakeful_spillover.actions import Questions
from wakeful_spillover.engine import Engine
from wakeful_spillover.jobs import Runner
from wakeful_spillover.manifest import manifest
from wakeful_spillover.references import ArtifactReference
from wakeful_spillover.settings import SpilloverSettings
from wakeful_spillover.sources import Sources
from wakeful_spillover.stage import Bound
from wakeful_spillover.tables import LINEAGE


class Spillover:
    """Large outputs become artifacts with handles. One instance for each agent that enables it."""

    Settings = SpilloverSettings

    def __init__(self, settings: SpilloverSettings, services: Services) -> None:
        """Keep the settings; nothing is opened before the first question about a table."""
        self._settings, self._services = settings, services
        self._engine = Engine(settings.memory_mb)
        self._runner = Runner(settings.timeout_s)
        self._sources = Sources(self._engine, self._runner)
        self._questions = Questions(services, self._engine, self._runner, self._sources)

    @hookimpl
    def store_tables(self) -> Sequence[Lineage]:
        """Bring the table of artifacts."""
        return [LINEAGE]

    @hookimpl
    def result_stages(self) -> Sequence[Stage]:
        """Bound what is too long."""
        return [Bound(self._settings, self._services, self._sources)]

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Declare the questions."""
        return self._questions.actions()

    @hookimpl
    def tool_references(self) -> Sequence[Reference]:
        """Let arguments be taken out of artifacts."""
        return [ArtifactReference(self._services, self._runner, self._sources)]

    @hookimpl
    def prompt_state(self, run: Run) -> Sequence[Fragment] | None:
        """List the artifacts of the conversation."""
        found = manifest(run)
        return None if found is None else [found]

    async def close(self) -> None:
        """Stop what runs and end the database of tables."""
        await self._sources.close()
        await asyncio.to_thread(self._engine.close)
