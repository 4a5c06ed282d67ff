"""The prompt as values: what plugins contribute, what is drafted, what is sent, what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from wakeful.types.enums import Stop, Trust
from wakeful.types.json import Json, canonical, canonicalise, digest
from wakeful.types.transcript import Item, Row, dump_item


@frozen
class Section:
    """A static part of the system prompt, frozen for the epoch. Sorted by (order, name)."""

    name: str
    order: int
    text: str


@frozen
class Fragment:
    """A piece of runtime state or retrieved context. Sorted by (order, name)."""

    name: str
    order: int
    text: str
    trust: Trust = Trust.TRUSTED
    source: str = ""


@frozen
class Tool:
    """What a model is shown of an action. The schema is canonicalised when the tool is built.

    ``spelling`` is its canonical JSON, made once: tools are hashed with every request.

    Args:
        name: what a call names.
        description: when to call it and what it returns.
        schema: JSON schema of the arguments.
        deferred: declared, but kept out of the prompt until the provider's own search has found it. A
            provider whose model has no such search declares it like any other. It takes no cache mark.
    """

    name: str
    description: str
    schema: Json = field(converter=canonicalise)
    deferred: bool = False
    spelling: str = field(init=False, repr=False, eq=False)

    @spelling.default
    def _spell(self) -> str:
        return canonical(self.dump())

    def dump(self) -> list[Json]:
        """Return the arguments that make it again."""
        own = [self.name, self.description, self.schema]
        return [*own, True] if self.deferred else own


@frozen
class Profile:
    """Facts about a model that decide how a request is laid out.

    Args:
        provider: the scheme that reaches it, e.g. ``anthropic``.
        family: cache family, ``breakpoint``, ``byte-prefix`` or ``none``.
        window: context window in tokens.
        minimum: smallest cacheable prefix in tokens.
        output: output limit in tokens.
        native_tools: whether the API takes tool declarations.
        cache_ttl: seconds a cached prefix lives, 0 = unknown.
        tool_search: whether its API takes deferred tools and searches them itself.
        breakpoints: how many cache breakpoints a request may have, 0 = any number.
    """

    provider: str
    family: str = "none"
    window: int = 128_000
    minimum: int = 0
    output: int = 8_192
    native_tools: bool = True
    cache_ttl: int = 0
    tool_search: bool = False
    breakpoints: int = 4


@frozen
class Declared:
    """What an agent shows a model before any turn: the prefix, and the slots' stored decisions."""

    model: str
    tools: tuple[Tool, ...]
    sections: tuple[Section, ...]
    decisions: Mapping[str, Json] = field(factory=dict)

    def dump(self) -> str:
        """Return the canonical JSON by which epochs are compared and stored."""
        return canonical(
            {
                "model": self.model,
                "tools": [tool.dump() for tool in self.tools],
                "sections": [[section.name, section.order, section.text] for section in self.sections],
                "decisions": dict(self.decisions),
            }
        )


@frozen
class Epoch:
    """The life of one prefix in one conversation. Stored; a resumed run uses it as stored.

    ``change`` says where it differs from the epoch before, in the run that began it.
    """

    id: int
    reason: str
    declared: Declared
    change: Break | None = None


@frozen
class Kept:
    """State that was sent and stays in the request history (append mode).

    ``hashes`` maps fragment names to digests of their text; an empty digest marks one withdrawn.
    """

    after: int
    hashes: Mapping[str, str]
    text: str


def _pairs(values: Iterable[Iterable[Json]]) -> tuple[tuple[Json, ...], ...]:
    return tuple(tuple(value) for value in values)


@frozen
class Sent:
    """The fingerprint of a request: a rolling chain over its pieces, not a hash for each of them.

    A piece is what one row, or one kept state, puts into the request.

    Args:
        last_seq: sequence of the last row that was sent.
        chain: the chain over everything that stays for the next request.
        parts: digests of what comes before: ``model``, ``tools`` and each ``section:name``.
        view: name of the view.
        epoch: the epoch it belongs to; the last one of another epoch is handed to the first of the next.
        count: how many pieces the chain covers.
        items: how many items they are.
        points: (pieces, chain) at some places before, close together near the end, to find a difference.
        left_out: (first, last) sequences of rows whose reasoning is no longer sent.
        tokens: input tokens of the request as the provider reported them; 0 if it did not.
    """

    last_seq: int
    chain: str
    parts: Mapping[str, str]
    view: str
    epoch: int = 0
    count: int = 0
    items: int = 0
    points: tuple[tuple[int, str], ...] = field(default=(), converter=_pairs)
    left_out: tuple[tuple[int, int], ...] = field(default=(), converter=_pairs)
    tokens: int = 0


@frozen
class Break:
    """Where a request stops repeating the one before it of its conversation.

    Args:
        section: what differs first: ``model``, ``tool send_email``, ``section rules``, ``message 12``.
        reason: why, in words.
        declared: whether it was announced: a new epoch with a cause, or a rewrite with a view of its own.
        plugin: whose it is; empty until the kernel has looked it up, or if nobody knows.
        before, after: what stood there and what stands there now, cut short.
        lost: tokens that were sent before and had to be paid for again; set when the reply is there.
    """

    section: str
    reason: str
    declared: bool = False
    plugin: str = ""
    before: str = ""
    after: str = ""
    lost: int = 0


@frozen
class Draft:
    """Everything a layout may use to compose one request. ``trailing`` follows after the state."""

    epoch: Epoch
    profile: Profile
    conversation: str
    rows: tuple[Row, ...]
    state: tuple[Fragment, ...]
    kept: tuple[Kept, ...] = ()
    previous: Sent | None = None
    view: str = "full"
    trailing: tuple[Item, ...] = ()


@frozen
class Marks:
    """Cache breakpoints, kept beside the items so that the items keep their identity."""

    tools: bool = False
    system: bool = False
    items: frozenset[int] = frozenset()


@frozen
class Request:
    """A provider-neutral model request.

    Args:
        model: ``scheme:name``.
        tools, system, items: the prompt.
        marks: cache breakpoints.
        cache_key: keeps conversations apart in caches that have one.
        keep: state that is stored with the reply and stays in the history.
        sent: its fingerprint, if the layout makes one.
        change: where it stops repeating the request before it.
        state: how many of the items, counted from the place of the state, are this request's own:
            the state and what trails.
    """

    model: str
    tools: tuple[Tool, ...]
    system: tuple[str, ...]
    items: tuple[Item, ...]
    marks: Marks = Marks()
    cache_key: str = ""
    keep: Kept | None = None
    sent: Sent | None = None
    change: Break | None = None
    state: int = 0

    def canonical(self) -> str:
        """Return the canonical prompt: tools, system, items; cache marks are left out."""
        tools = ",".join(tool.spelling for tool in self.tools)
        rest = canonical([self.model, list(self.system), [dump_item(item) for item in self.items]])
        return f"[[{tools}],{rest}]"

    def fingerprint(self) -> str:
        """Return the sha256 of :meth:`canonical`."""
        return digest(self.canonical())


@frozen
class Usage:
    """Tokens of one or more model calls; input is ``read + write + uncached``.

    Args:
        read: input tokens served from the provider's cache.
        write: input tokens written to it.
        uncached: input tokens paid in full.
        output: tokens produced, reasoning included.
        cost: US dollars where prices are known, else None.
        reported: whether the provider said so (False: nothing was reported).
        reasoning: of ``output``, tokens that the model thought with, where the provider says.
        write_1h: of ``write``, tokens that are kept for an hour.
    """

    read: int = 0
    write: int = 0
    uncached: int = 0
    output: int = 0
    cost: float | None = None
    reported: bool = True
    reasoning: int = 0
    write_1h: int = 0

    @property
    def input(self) -> int:
        """All input tokens."""
        return self.read + self.write + self.uncached

    @property
    def total(self) -> int:
        """Input and output tokens."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; a cost that one side does not know counts as nothing."""
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.read + other.read,
            self.write + other.write,
            self.uncached + other.uncached,
            self.output + other.output,
            sum(known) if known else None,
            self.reported and other.reported,
            self.reasoning + other.reasoning,
            self.write_1h + other.write_1h,
        )


@frozen
class Reply:
    """What a model answered; ``model`` is who stood in for it, ``trust`` that of what its provider read."""

    items: tuple[Item, ...]
    usage: Usage = Usage()
    stop: Stop = Stop.END
    model: str = ""
    trust: Trust = Trust.TRUSTED
    source: str = ""

    def with_items(self, items: tuple[Item, ...]) -> Reply:
        """Return the reply with other items."""
        return evolve(self, items=items)
