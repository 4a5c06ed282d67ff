"""A request as the body of the Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from attrs import define, field, frozen

from wakeful.types import Item, Json, Request, Tool
from wakeful_anthropic.blocks import Block, Memory, spell, text_block

#: Sent where the API wants a user's message first and the transcript begins with the model's own words.
BEGINNING = "(Earlier messages are left out.)"
#: Sent for a call that has no result in the request, as when a plugin asks the model in the middle of a step.
NO_RESULT = "(No result yet.)"
#: Names that the provider's tool search goes by (API reference, ``tools``).
SEARCH_TOOLS = {
    "bm25": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    "regex": {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
}
#: Sets of tools whose spelling is kept, per model of an agent: an agent has few prefixes at a time.
TOOL_SETS = 8


@frozen
class Fixed:
    """What is the same in every request of a bound model.

    Args:
        model: its name.
        params: further parameters, e.g. ``thinking``.
        marker: the ``cache_control`` of a breakpoint.
        breakpoints: how many may stand in a request.
        server_tools: declarations of tools that the provider runs.
        search: the declaration of the provider's tool search, sent where a tool is deferred; None: the model
            has none, and no tool is.
        deferring: whether tools are deferred that do not say so themselves.
        keep: globs of tools that are not.
    """

    model: str
    params: Json
    marker: Json
    breakpoints: int
    server_tools: tuple[Json, ...] = ()
    search: Json = None
    deferring: bool = False
    keep: tuple[str, ...] = ()


@frozen
class _Tools:
    """Declarations as JSON, and the place of the last that takes a breakpoint: a deferred one does not."""

    spelled: tuple[bytes, ...]
    last: int


@define(eq=False)
class Encoder:
    """Puts bodies together for one bound model, remembering what it has spelled."""

    fixed: Fixed
    memory: Memory = field(factory=Memory)
    _mark: bytes = field(init=False)
    _own_marks: int = field(init=False)
    _sets: dict[tuple[str, ...], _Tools] = field(factory=dict, init=False)
    _last: tuple[tuple[Tool, ...], _Tools] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Spell what every breakpoint looks like, and count those that the settings bring."""
        self._mark = b',"cache_control":' + spell(self.fixed.marker) + b"}"
        self._own_marks = sum("cache_control" in tool for tool in self.fixed.server_tools)

    def body(self, request: Request, *, max_tokens: int, stream: bool) -> bytes:
        """Return the body of a request as JSON in UTF-8."""
        left = max(self.fixed.breakpoints - self._own_marks, 0)
        tools = self._declared(request.tools)
        head = {"model": self.fixed.model, "max_tokens": max_tokens, **self.fixed.params}
        if not tools.spelled:
            head.pop("tool_choice", None)  # the API refuses a choice among none
        parts = [spell(head if not stream else {**head, "stream": True})[:-1]]
        if tools.spelled:
            marked = request.marks.tools and left > 0
            left -= marked
            parts += [b',"tools":[', self._joined(tools.spelled, tools.last if marked else -1), b"]"]
        system = [text_block(text) for text in request.system if text.strip()]
        if system:
            marked = request.marks.system and left > 0
            left -= marked
            parts += [b',"system":[', self._joined(system, len(system) - 1 if marked else -1), b"]"]
        parts += [b',"messages":[', self._messages(request, left), b"]}"]
        return b"".join(parts)

    def _declared(self, tools: tuple[Tool, ...]) -> _Tools:
        """Return the declarations, spelled once for as long as they stay the same."""
        if self._last is not None and self._last[0] is tools:
            return self._last[1]
        key = tuple(tool.spelling for tool in tools)
        found = self._sets.get(key)
        if found is None:
            found = self._spelled(tools)
            while len(self._sets) >= TOOL_SETS:
                del self._sets[next(iter(self._sets))]
            self._sets[key] = found
        self._last = (tools, found)
        return found

    def _defers(self, tool: Tool) -> bool:
        if self.fixed.search is None:
            return False
        kept = any(fnmatchcase(tool.name, glob) for glob in self.fixed.keep)
        return tool.deferred or (self.fixed.deferring and not kept)

    def _spelled(self, tools: Sequence[Tool]) -> _Tools:
        search = [self.fixed.search] if any(map(self._defers, tools)) else []
        declared = [spell(tool) for tool in (*search, *self.fixed.server_tools)]
        last = len(declared) - 1
        for tool in tools:
            value = {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            if self._defers(tool):
                value["defer_loading"] = True
            else:
                last = len(declared)
            declared.append(spell(value))
        return _Tools(tuple(declared), last)

    def _joined(self, blocks: Sequence[bytes], marked: int) -> bytes:
        if marked < 0:
            return b",".join(blocks)
        return b",".join([*blocks[:marked], blocks[marked][:-1] + self._mark, *blocks[marked + 1 :]])

    def _messages(self, request: Request, marks: int) -> bytes:
        blocks = _without_lost([self.memory.block(item) for item in request.items], request.tools)
        data = [b"" if block is None else block.data for block in blocks]
        for at in _marked(blocks, request.marks.items, marks):
            data[at] = data[at][:-1] + self._mark
        spelled = [
            b'{"role":"' + role.encode() + b'","content":[' + b",".join(content) + b"]}"
            for role, content in _grouped(request.items, blocks, data)
        ]
        return b",".join(spelled)


def _without_lost(blocks: list[Block | None], tools: Sequence[Tool]) -> list[Block | None]:
    """Return the blocks without searches that found tools of then: the API refuses what is not declared."""
    if not any(block is not None and block.refers for block in blocks):
        return blocks
    known = {tool.name for tool in tools}
    lost = {block.serves for block in blocks if block is not None and not known.issuperset(block.refers)}
    return [None if block is not None and block.serves in lost else block for block in blocks]


def _marked(blocks: Sequence[Block | None], wanted: Iterable[int], left: int) -> set[int]:
    """Return where breakpoints go: on the wanted items, or the nearest before them that takes one."""
    places = set()
    for place in wanted:
        fits = (at for at in range(min(place, len(blocks) - 1), -1, -1) if _markable(blocks[at]))
        places.add(next(fits, -1))
    return set(sorted(places - {-1})[-left:]) if left > 0 else set()


def _markable(block: Block | None) -> bool:
    return block is not None and block.markable


@define
class _Message:
    """A message being put together: in one of the user's, results stand before everything else."""

    role: str
    results: list[bytes] = field(factory=list)
    content: list[bytes] = field(factory=list)

    def whole(self) -> tuple[str, list[bytes]]:
        return self.role, [*self.results, *self.content]


def _grouped(
    items: Sequence[Item], blocks: Sequence[Block | None], data: Sequence[bytes]
) -> list[tuple[str, list[bytes]]]:
    """Return messages that the API takes: roles alternate, the user's first, every call answered at once."""
    first = _Message("user")
    messages, waiting = [first], dict[str, None]()
    for item, block, spelled in zip(items, blocks, data, strict=True):
        if block is None:
            continue
        if block.role != messages[-1].role:
            if block.role == "assistant":
                _answer(messages[-1], waiting)
            messages.append(_Message(block.role))
        if block.call:
            waiting[block.call] = None
        if block.answers in waiting:
            del waiting[block.answers]
            messages[-1].results.append(spelled)
        elif block.answers:  # its call is not in the message before: the API would refuse a bare result
            messages[-1].content.append(
                text_block(f"Result of an earlier call:\n{getattr(item, 'text', '')}")
            )
        else:
            messages[-1].content.append(spelled)
    if waiting and messages[-1].role == "assistant":
        messages.append(_Message("user"))
    _answer(messages[-1], waiting)
    if not first.results and not first.content:
        first.content.append(text_block(BEGINNING))
    return [message.whole() for message in messages]


def _answer(message: _Message, waiting: dict[str, None]) -> None:
    """Answer the calls that nothing has answered."""
    for call in waiting:
        head = b'{"type":"tool_result","tool_use_id":' + spell(call)
        message.results.append(head + b',"content":' + spell(NO_RESULT) + b"}")
    waiting.clear()
