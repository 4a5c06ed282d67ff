"""The scenario's place in one conversation, and how its next reply meets the tools of a request."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from attrs import define, field

from wakeful.testing.wire.canon import Body
from wakeful.testing.wire.scenario import Reply, Scenario, View
from wakeful.types import WakefulError, nearest

#: What a rule can ask about a request.
TESTS: dict[str, Callable[[Any, View], bool]] = {
    "last_contains": lambda value, view: value in view.last_text,
    "last_matches": lambda value, view: re.search(value, view.last_text) is not None,
    "last_role": lambda value, view: value == view.last_role,
    "has_tool": lambda value, view: value in view.tools,
    "lacks_tool": lambda value, view: value not in view.tools,
    "api": lambda value, view: value == view.api,
}


class ExhaustedError(Exception):
    """The scenario has no further reply."""


@define
class Thread:
    """The scenario's place in one conversation.

    Args:
        scenario: the script.
    """

    scenario: Scenario
    next: int = field(default=0, init=False)
    rule_uses: Counter[int] = field(factory=Counter, init=False)
    searched: set[str] = field(factory=set, init=False)
    minted: int = field(default=0, init=False)

    def mint(self, prefix: str, salt: str) -> str:
        """Return an id that this conversation has not had."""
        self.minted += 1
        return f"{prefix}{salt}{self.minted:05d}"

    def reply(self, view: View) -> Reply:
        """Return the next reply to a request.

        Raises:
            ExhaustedError: there is none.
            WakefulError: a rule asks for something unknown.
        """
        for n, rule in enumerate(self.scenario.rules):
            if self.rule_uses[n] < rule.get("times", float("inf")) and _matches(rule.get("when", {}), view):
                self.rule_uses[n] += 1
                return self._resolve(rule["reply"], view, -1)
        replies = self.scenario.replies
        if self.next >= len(replies):
            if not (self.scenario.loop and replies):
                raise ExhaustedError(f"scenario {self.scenario.name!r} has no reply number {self.next + 1}")
            self.next = 0
        found = self._resolve(replies[self.next], view, self.next)
        if not found.indirect:
            self.next += 1
        return found

    def _resolve(self, raw: Body, view: View, index: int) -> Reply:
        values = {**self.scenario.defaults, **raw}
        wanted: list[Body] = values.pop("calls", [])
        values["error"] = values.get("error") or {}
        reply = Reply(**values, index=index)
        searches = [search for call in wanted if (search := self._reach(call, view, reply))]
        if searches:
            return Reply(calls=searches, indirect=True, latency_ms=reply.latency_ms, index=index)
        if reply.unreachable and not reply.calls and not reply.text:
            reply.text = "I could not find the tool " + ", ".join(reply.unreachable)
        if reply.stop is None and any(call.get("cut") for call in reply.calls):
            reply.stop = "max_tokens"
        return reply

    def _reach(self, call: Body, view: View, reply: Reply) -> Body | None:
        """Add a call to the reply the way the request allows it, or return the search that comes first."""
        tool, args = call["tool"], call.get("args", {})
        if tool in view.tools or call.get("force"):
            reply.calls.append({**call, "args": args})
            return None
        if tool in view.deferred and view.native_search:
            reply.native_search.append(tool)
            reply.native_name = view.native_search
            reply.calls.append({**call, "args": args})
            return None
        way = next((each for each in self.scenario.indirection if each["search"] in view.tools), None)
        if way and way.get("execute") and tool in self.searched:
            reply.calls.append({"tool": way["execute"], "args": _fill(way["execute_args"], tool, args)})
            return None
        if way is None or tool in self.searched:
            reply.unreachable.append(tool)
            return None
        self.searched.add(tool)
        return {"tool": way["search"], "args": _fill(way["search_args"], tool, args)}


def _fill(template: Any, tool: str, args: Body) -> Any:
    if template == "{args}":
        return copy.deepcopy(args)
    if isinstance(template, str):
        return template.replace("{tool}", tool).replace("{words}", re.sub(r"[_\-.]+", " ", tool))
    if isinstance(template, list):
        return [_fill(each, tool, args) for each in template]
    if isinstance(template, dict):
        return {key: _fill(value, tool, args) for key, value in template.items()}
    return template


def _matches(when: Body, view: View) -> bool:
    for key in when:
        if key not in TESTS:
            raise WakefulError(f"a rule asks for {key!r}, which cannot be asked{nearest(key, TESTS)}")
    return all(TESTS[key](value, view) for key, value in when.items())
