"""What the kernel does for plugins, and what actions and stages are handed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field

from wakeful.loop.statements import save_state
from wakeful.types import (
    Action,
    ActionResult,
    Called,
    Clock,
    Envelope,
    Event,
    IdSource,
    Invocation,
    Json,
    NotAvailableError,
    Provenance,
    Referred,
    Reply,
    Run,
    Services,
    Tx,
    canonical,
    clean,
)

if TYPE_CHECKING:
    from sqlalchemy import Executable

    from wakeful.store.engine import Store
    from wakeful.store.files import FileStore

log = logging.getLogger("wakeful")


class Calls(Protocol):
    """Runs the inner calls of the calls of a step."""

    def call(
        self,
        outer: Invocation,
        puts: list[tuple[str, str, Json]],
        name: str,
        args: Json,
        inner: int,
        provenance: Sequence[Provenance] | None,
    ) -> Awaitable[ActionResult]:
        """Run one."""
        ...

    def called(self, outer: Invocation, of: str) -> AsyncIterator[Called]:
        """Give those of the call with a key so far."""
        ...

    def refer(
        self, outer: Invocation, puts: Sequence[tuple[str, str, Json]], reference: str
    ) -> Awaitable[Referred]:
        """Return what a reference stands for."""
        ...

    def given(self, outer: Invocation) -> Sequence[Provenance]:
        """Return the least trusted of what the call was given as it ran."""
        ...


class Asker(Protocol):
    """Answers a plugin's question to the model of a run in progress."""

    def __call__(self, run: Run, kind: str, text: str, *, alone: bool = False) -> Awaitable[Reply]:
        """Ask; see ``Services.ask``."""
        ...


@define(eq=False)
class PluginServices:
    """The services of one plugin of one agent, bound to the plugin's namespace.

    ``store``, ``catalogue_``, ``asker`` and ``finder`` are filled in when the agent is built.
    """

    plugin: str
    clock: Clock
    ids: IdSource
    folder: Path
    secrets: tuple[str, ...] = field(default=(), repr=False)
    store: Store | None = None
    catalogue_: Mapping[str, Action] = field(factory=dict, repr=False)
    asker: Asker | None = field(default=None, repr=False)
    listeners: list[Callable[[str, str], None]] = field(factory=list, repr=False)
    finder: Callable[[str], Sequence[Action]] | None = field(default=None, repr=False)

    @property
    def files(self) -> FileStore:
        """Return where large contents are."""
        return self._store().files

    async def read(self, statement: Executable) -> Sequence[Any]:
        """Run a SELECT on the store and return its rows."""
        return await self._store().read(lambda conn: conn.execute(statement).all())

    async def ask(self, run: Run, kind: str, text: str, *, alone: bool = False) -> Reply:
        """Ask the run's model with its stable prefix plus one trailing text, or that text alone."""
        if self.asker is None:
            msg = f"plugin {self.plugin!r} asked a model outside of an agent"
            raise NotAvailableError(msg)
        return await self.asker(run, kind, text, alone=alone)

    async def save(self, run: Run, values: Mapping[str, Json]) -> None:
        """Store values in this plugin's namespace of the conversation, at once."""
        puts = [(self.plugin, key, value) for key, value in values.items()]
        await self._store().write(lambda conn: save_state(conn, run.conversation, puts))

    def catalogue(self, run: Run) -> Mapping[str, Action]:
        """Return every action the run may call, by tool name."""
        if self.finder is None or not run.options:
            return self.catalogue_
        from wakeful.loop.changes import catalogue  # late: it knows agents, which know their services

        return catalogue(self.catalogue_, run, self.finder)

    def report(self, message: str) -> None:
        """Log ``message`` and pass it to whoever listens to the agent's runs."""
        log.warning("%s: %s", self.plugin, message)
        for listener in tuple(self.listeners):
            listener(self.plugin, message)

    def _store(self) -> Store:
        if self.store is None:
            msg = f"plugin {self.plugin!r} used the store before the agent was open"
            raise NotAvailableError(msg)
        return self.store


@define
class Context:
    """The context of one execution, or of one result on its way through the stages.

    ``pending`` collects what is put; the step applies it in call order when it closes. ``earlier`` is what
    the call that this one is a part of has put.
    """

    run: Run
    key: str
    services: Services
    owner: str
    pending: list[tuple[str, str, Json]]
    tx: Tx | None = None
    envelope: Envelope | None = None
    earlier: Sequence[tuple[str, str, Json]] = ()
    _inner: Calls | None = None
    _call: Invocation | None = None
    _listener: Callable[[Event], Awaitable[None]] | None = None

    def bind(self, inner: Calls, call: Invocation, listener: Callable[[Event], Awaitable[None]]) -> None:
        """Let this context make inner calls of ``call``, and pass events on."""
        self._inner, self._call, self._listener = inner, call, listener

    @property
    def idempotency_key(self) -> str:
        """The key stored before the action ran; the same when an interrupted call runs again."""
        return self.key

    @property
    def provenance(self) -> Sequence[Provenance]:
        """Return what the arguments were taken from."""
        return self._call.provenance if self._call is not None else ()

    @property
    def given(self) -> Sequence[Provenance]:
        """Return the least trusted of what the call was given as it ran, e.g. by calls inside of it."""
        return self._inner.given(self._call) if self._inner and self._call else ()

    def get(self, key: str, default: Json = None) -> Json:
        """Return a value of the declaring plugin's state, own writes of this step included."""
        for puts in (self.pending, self.earlier):
            for owner, name, value in reversed(puts):
                if owner == self.owner and name == key:
                    return value
        return self.run.state.get(self.owner, {}).get(key, default)

    def put(self, key: str, value: Json) -> None:
        """Set a value of the declaring plugin's state; see ``wakeful.types.ActionContext``."""
        try:
            canonical(clean(value))
        except (TypeError, ValueError) as error:
            raise type(error)(f"put({key!r}): {error}") from error
        self.pending.append((self.owner, key, value))

    async def call(
        self,
        action: str,
        args: Mapping[str, Json],
        *,
        inner: int,
        provenance: Sequence[Provenance] | None = None,
    ) -> ActionResult:
        """Run another action as a part of this call; see ``wakeful.types.ActionContext``."""
        if self._inner is None or self._call is None:
            raise self._not_here()
        return await self._inner.call(self._call, self.pending, action, args, inner, provenance)

    def called(self, of: str = "") -> AsyncIterator[Called]:
        """Give the inner calls so far; see ``wakeful.types.ActionContext``."""
        if self._inner is None or self._call is None:
            raise self._not_here()
        return self._inner.called(self._call, of or self._call.key)

    async def refer(self, reference: str) -> Referred:
        """Return what a reference stands for; see ``wakeful.types.ActionContext``."""
        if self._inner is None or self._call is None:
            raise self._not_here()
        return await self._inner.refer(self._call, self.pending, reference)

    def _not_here(self) -> NotAvailableError:
        return NotAvailableError("inner calls cannot be made here; only an action that runs makes them")

    async def emit(self, event: Event) -> None:
        """Pass an event to whoever streams the run."""
        if self._listener is not None:
            await self._listener(event)
