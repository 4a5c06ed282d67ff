"""The objects that hooks return. Anything with these methods will do; no base class is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from wakeful.types.actions import (
    Action,
    ActionResult,
    Invocation,
    Judgement,
    Offered,
)
from wakeful.types.agent import AgentView
from wakeful.types.context import ActionContext
from wakeful.types.enums import Phase, Trust
from wakeful.types.events import Delta
from wakeful.types.json import Json
from wakeful.types.prompt import Draft, Profile, Reply, Request
from wakeful.types.run import Run
from wakeful.types.transcript import Call, View

Emit = Callable[[Delta], Awaitable[None]]
NextCall = Callable[[Mapping[str, Json]], Awaitable[ActionResult]]


class Model(Protocol):
    """A model bound to one agent."""

    @property
    def profile(self) -> Profile:
        """Return the facts about the model."""
        ...

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask once. With ``emit`` the reply streams: pieces are awaited as they arrive.

        Raises:
            ModelError: classified; the caller decides about another try.
        """
        ...


class Resolve(Protocol):
    """Binds another ``scheme:name`` for the same agent: ``resolve(model, settings=None)``.

    Args:
        model: scheme and name.
        settings: taken instead of the agent's settings of the plugin that provides the scheme, e.g. the
            address of a server that the caller runs.

    Raises:
        ConfigError: nothing provides the scheme, the settings are wrong, or the provider says so.
    """

    def __call__(self, model: str, settings: Mapping[str, Json] | None = None) -> Model:
        """Return the model."""
        ...


class Provider(Protocol):
    """Binds models for one scheme of ``model = "scheme:name"``."""

    @property
    def name(self) -> str:
        """Return the scheme it serves."""
        ...

    def bind(self, model: str, settings: Json, resolve: Resolve) -> Model:
        """Return the model ``model`` (the part after the colon) for one agent.

        Args:
            model: everything after the first colon.
            settings: the agent's ``Settings`` of this plugin.
            resolve: binds another ``scheme:name`` for the same agent, e.g. to record it. It may be kept
                and called later.

        Raises:
            ConfigError: unknown model, missing key, unreadable file.
        """
        ...


class BackgroundService(Protocol):
    """Runs beside the agents while the application is open, e.g. a local server."""

    @property
    def name(self) -> str:
        """Return its name, for messages."""
        ...

    async def start(self) -> None:
        """Begin. Returns as soon as agents may count on it; what takes longer goes on by itself.

        Raises:
            Exception: any; its text becomes a problem of the agents that use the plugin.
        """
        ...

    async def stop(self) -> None:
        """End everything that ``start`` began: no task, thread or process stays.

        Awaited once, also after a start that failed or was cut off.
        """
        ...


class Window(Protocol):
    """Chooses the rows that are sent."""

    def select(self, run: Run) -> View:
        """Return the view of ``run.rows``; rows may be left out or replaced, never reordered."""
        ...


class Layout(Protocol):
    """Composes the request."""

    def decide(self, agent: AgentView) -> Json:
        """Return what holds for a whole epoch; stored with it."""
        ...

    def compose(self, draft: Draft) -> Request:
        """Return the request. Pure: the same draft gives the same bytes in every process."""
        ...


class Offer(Protocol):
    """Decides what a model is shown of the actions, and what its calls mean."""

    def open(self, actions: Mapping[str, Action], agent: AgentView) -> Offered:
        """Return what is declared for a new epoch.

        Args:
            actions: by tool name, in the agent's own order: those its file lists, then its plugins', then
                what :meth:`actions` gave.
            agent: the agent.

        Raises:
            ConfigError: what is asked of the offer cannot be.
        """
        ...

    def actions(self) -> Sequence[Action]:
        """Return extra actions that the offer itself answers."""
        ...

    def resolve(
        self, call: Call, catalogue: Mapping[str, Action], decision: Json
    ) -> Sequence[tuple[str, Json]] | ActionResult:
        """Return (tool name, arguments) of each execution, or the failed result that answers the call.

        A failed result in place of arguments answers that one and leaves the others alone. A tool name that
        no action has may be passed on: it is repaired, or refused with near names.

        Args:
            call: the call as the model wrote it.
            catalogue: what may be called, by tool name.
            decision: what :meth:`open` decided for the epoch in force.
        """
        ...


class NameRepair(Protocol):
    """Finds the tool that a name means which no tool has."""

    def meant(self, written: str, names: Sequence[str]) -> str | None:
        """Return the one name of ``names`` that is meant beyond doubt, or None; never a guess."""
        ...


class Stage(Protocol):
    """Turns results into results: in call order, in the step's closing transaction."""

    @property
    def phase(self) -> Phase:
        """Return when it runs."""
        ...

    @property
    def name(self) -> str:
        """Return its name; stages of one phase run by name."""
        ...

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        """Return the result, changed or not; ``action`` is None for a call of no known action."""
        ...


class Envelope(Protocol):
    """Marks text from outside as data."""

    def wrap(self, text: str, trust: Trust, source: str, nonce: str) -> str:
        """Return ``text`` in its envelope. Called only for text that is not trusted."""
        ...


class Middleware(Protocol):
    """Runs around an execution. For retries and tracing only; limits and guards are judges."""

    @property
    def order(self) -> int:
        """Return its place, outermost first."""
        ...

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    async def around(
        self, ctx: ActionContext, action: Action, args: Mapping[str, Json], nxt: NextCall
    ) -> ActionResult:
        """Return ``await nxt(args)``, perhaps more than once."""
        ...


class Reviewer(Protocol):
    """Resolves ``AUTO_REVIEW``."""

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
        """Return another judgement; an exception counts as ``REQUIRE_APPROVAL``."""
        ...


@frozen
class Lineage:
    """A line of migrations that an owner brings.

    Args:
        owner: plugin name; its tables are named ``<owner>_…``, its version table ``alembic_<owner>``.
        locations: folders with Alembic revisions, as ``package:folder``.
        depends_on: owners whose tables must exist first.
    """

    owner: str
    locations: tuple[str, ...]
    depends_on: tuple[str, ...] = ("kernel",)
