"""What the pretended model says: a JSON object, see the keys at :class:`Scenario`.

A call means "call this tool however it is exposed". If it is not declared, but hidden behind another tool
that searches, the reply searches first; ``indirection`` says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs import Factory, define, field

from wakeful.testing.wire.canon import Body
from wakeful.types import WakefulError, nearest

#: Ways in which a tool can be hidden behind others. ``{tool}``, ``{words}`` and ``{args}`` are filled in.
INDIRECTION: tuple[Body, ...] = (
    {
        "search": "search_available_actions",
        "search_args": {"query": "{words}"},
        "execute": "execute_discovered_action",
        "execute_args": {"actions": [{"actionName": "{tool}", "parameters": "{args}"}]},
    },
    {"search": "search_tools", "search_args": {"queries": ["{words}"]}},
    {"search": "tool_search", "search_args": {"query": "{words}"}},
)
TOP_KEYS = {
    "name",
    "about",
    "defaults",
    "loop",
    "replies",
    "rules",
    "indirection",
    "api_key",
    "context_window",
}
RULE_KEYS = {"when", "times", "reply"}
CALL_KEYS = {"tool", "args", "force", "cut", "raw"}
ERROR_KEYS = {
    *("status", "kind", "type", "message", "code", "param", "retry_after", "should_retry", "html"),
    *("stream", "at"),
}


@define
class View:
    """One request as the scenario sees it, whichever wire format it came in.

    Args:
        api: ``anthropic``, ``openai-chat`` or ``openai-responses``.
        last_role: who spoke last: ``user``, ``tool`` and so on.
        last_text: what they said.
        tools: schemas of the tools that can be called now, by name.
        deferred: schemas of those that are declared, but hidden behind the provider's own search.
        native_search: name of the search tool that the provider runs, if one is declared.
    """

    api: str
    last_role: str
    last_text: str
    tools: dict[str, Any]
    deferred: dict[str, Any]
    native_search: str | None


@define
class Reply:
    """One reply, resolved against the tools of the request.

    Args:
        text: what the model says.
        thinking: reasoning before it.
        redacted: reasoning that only the provider can read (Anthropic).
        refusal: the words of a refusal.
        calls: ``{"tool", "args"}``, with ``cut`` or ``raw``, see :class:`Scenario`.
        server: calls that the provider runs itself and has not answered yet (Anthropic).
        stop: why the reply ends, in Anthropic's words.
        latency_ms: milliseconds before the answer.
        chunk_ms: milliseconds behind each piece of a stream.
        hold: wait before the answer until released.
        hold_at: wait before that piece of a stream until released.
        keep_alive: send comments between the pieces of a stream.
        split_bytes: send a stream in pieces of that many bytes, through the middle of characters.
        usage: false leaves it out; an object overwrites some of it.
        reasoning_field: where Chat Completions puts thinking, e.g. ``reasoning_content``.
        error: see :class:`Scenario`.
        advance_s: seconds that the clock moves before the request is booked.
        native_search: tools that the provider's search has found first.
        native_name: the name of that search.
        unreachable: tools that could not be called at all.
        indirect: the reply only searches; the scripted one follows.
        index: its number in the script; -1 for a rule's.
    """

    text: str = ""
    thinking: str = ""
    redacted: str = ""
    refusal: str = ""
    calls: list[Body] = field(factory=list)
    server: list[Body] = field(factory=list)
    stop: str | None = None
    latency_ms: float = 0.0
    chunk_ms: float = 0.0
    hold: bool = False
    hold_at: int | None = None
    keep_alive: bool = False
    split_bytes: int = 0
    usage: Any = True
    reasoning_field: str = ""
    error: Body = Factory(dict)
    advance_s: float = 0.0
    native_search: list[str] = field(factory=list)
    native_name: str = ""
    unreachable: list[str] = field(factory=list)
    indirect: bool = False
    index: int = -1

    @property
    def sent(self) -> list[Body]:
        """The calls that get through: all, or those up to the one that the output limit cuts off."""
        cut = next((n for n, call in enumerate(self.calls, 1) if call.get("cut")), len(self.calls))
        return self.calls[:cut]


#: What is found out about a reply while it is resolved, and cannot be scripted.
RESOLVED = {"native_search", "native_name", "unreachable", "indirect", "index"}
REPLY_KEYS = {name.name for name in Reply.__attrs_attrs__} - RESOLVED


class Scenario:
    """A script.

    Keys: ``replies``, handed out in order, one list for each conversation, each a text or a :class:`Reply`'s
    fields; ``loop``, to begin again;
    ``rules``, tried first: ``when``, ``times``, ``reply``; ``defaults`` for every reply; ``indirection``;
    ``api_key``, which others are refused; ``context_window`` in tokens, beyond which a request is too long.

    A call has ``tool``, ``args`` and, all optional: ``force`` calls a tool that was not declared; ``raw``
    sends these characters as its arguments; ``cut`` ends the reply after that many characters of them, or
    after half with ``true``, as the output limit does.

    An error has ``status`` or ``kind`` (see :data:`wakeful.testing.wire.faults.ERRORS`), and overrides:
    ``type``, ``message``, ``code``, ``param``, ``retry_after``, ``should_retry``, ``html`` (a page, or true).
    In streams instead ``stream``: ``truncate``, ``bad_json``, ``error_event`` or ``failed``, at the piece
    ``at``, by default in the middle.

    Args:
        spec: the object, or the path of a file that holds it.

    Raises:
        WakefulError: a key is unknown, or something is no object that must be one.
    """

    def __init__(self, spec: Mapping[str, Any] | str | Path) -> None:
        loaded = spec if isinstance(spec, Mapping) else json.loads(Path(spec).read_text(encoding="utf-8"))
        self.spec: Body = dict(loaded)
        self.name: str = self.spec.get("name", "unnamed")
        self.replies: list[Body] = [
            {"text": reply} if isinstance(reply, str) else reply for reply in self.spec.get("replies", [])
        ]
        self.rules: list[Body] = list(self.spec.get("rules", []))
        self.indirection: list[Body] = list(self.spec.get("indirection", INDIRECTION))
        self.defaults: Body = self.spec.get("defaults", {})
        self.loop = bool(self.spec.get("loop"))
        self.api_key: str | None = self.spec.get("api_key")
        self.context_window: int | None = self.spec.get("context_window")
        self._check()

    @classmethod
    def named(cls, name: str) -> Scenario:
        """Return one of the scenarios that come with the test kit.

        Raises:
            WakefulError: there is none of that name.
        """
        known = scenarios()
        if name not in known:
            raise WakefulError(f"no scenario {name!r} in the test kit{nearest(name, known)}")
        return cls(json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8")))

    def _check(self) -> None:
        self._known(self.spec, TOP_KEYS, "the scenario")
        replies = [(f"replies[{n}]", reply) for n, reply in enumerate(self.replies)]
        for n, rule in enumerate(self.rules):
            self._known(rule, RULE_KEYS, f"rules[{n}]")
            replies.append((f"rules[{n}].reply", rule.get("reply", {})))
        for where, reply in [("defaults", self.defaults), *replies]:
            self._known(reply, REPLY_KEYS, where)
            self._known(reply.get("error") or {}, ERROR_KEYS, f"{where}.error")
            for n, call in enumerate(reply.get("calls", [])):
                self._known(call, CALL_KEYS, f"{where}.calls[{n}]")

    def _known(self, value: Body, keys: Iterable[str], where: str) -> None:
        if not isinstance(value, Mapping):
            raise WakefulError(f"scenario {self.name!r}: {where}: must be an object, not {value!r}")
        for key in value:
            if key not in keys:
                raise WakefulError(
                    f"scenario {self.name!r}: {where}: unknown key {key!r}{nearest(key, keys)}"
                )


def scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that come with the test kit."""
    return tuple(sorted(path.name.removesuffix(".json") for path in _folder().iterdir()))


def _folder() -> Any:
    return files("wakeful.testing.wire") / "scenarios"
