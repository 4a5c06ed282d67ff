"""The action ``search_available_actions``: what the index finds, as a bounded text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from attrs import define, field

from wakeful.tools.describe import declare_tool, shrink
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    Effect,
    ErrorRecovery,
    Json,
    ResultCode,
    Trust,
    canonical,
    failure,
    fold,
    near,
)
from wakeful_multiplexer.calls import SEARCH
from wakeful_multiplexer.choice import UNCATEGORIZED, categories, category_of
from wakeful_multiplexer.finder import Finder, Finders
from wakeful_multiplexer.words import first_sentence

#: Actions that are shown with their parameters, unless more are asked for by their exact names.
WHOLE = 3
#: Characters of an answer: about 2,500 tokens of names, texts and schemas.
ROOM = 8_000
#: Characters kept for those that are named only.
ROOM_FOR_LINES = 1_500
#: Length of what one line says of an action.
LINE = 100
#: Most queries of one search, and most actions that it names.
QUERIES, LIMIT, DEFAULT_LIMIT = 10, 20, 10
#: Categories, or names of one, that an answer without a query lists.
LISTED = 100
#: Whose the search is, and so in whose state its finds are kept: the entry point's name.
OWNER = "multiplexer"
#: State key of an action that was found, followed by its name.
FOUND = "found/"

_SCHEMA = {
    "type": "object",
    "properties": {
        "queries": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": QUERIES,
            "description": "One per need. Empty: the categories.",
        },
        "category": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT},
    },
    "required": ["queries"],
}
_DESCRIPTION = (
    "Find actions beyond your tools by short queries (verb object app, such as"
    ' "create issue github") or exact names. Gives the best with their parameters and names others.'
)


def search_action(finders: Finders) -> Action:
    """Return the action. What it tells would stand in the prompt otherwise, so it is as trusted."""

    async def run(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        finder = finders.of(ctx.services.catalogue(ctx.run))
        category = _category(finder, args.get("category") or "")
        if isinstance(category, ActionResult):
            return category
        queries = [query for query in args.get("queries") or () if query.strip()]
        limit = args.get("limit") or DEFAULT_LIMIT
        if not queries:
            return _overview(finder, category)
        declared = frozenset(tool.name for tool in ctx.run.epoch.declared.tools if not tool.deferred)
        answer = _Answer(finder, declared, limit)
        answer.find(queries, category)
        for action in answer.whole:
            if action.tool_name not in declared:
                ctx.put(FOUND + action.tool_name, ctx.run.turn)
        return answer.result()

    return Action(
        name=SEARCH,
        description=_DESCRIPTION,
        schema=_SCHEMA,
        run=run,
        effect=Effect.READ,
        output_trust=Trust.TRUSTED,
        result_codes=(ResultCode("UNKNOWN_CATEGORY", success=False),),
        spill_chars=0,
        owner=OWNER,
    )


_OTHERS = "Others; search for a name to get its parameters:"


@define
class _Answer:
    """What one search found: actions with their parameters, and others by name."""

    finder: Finder
    declared: frozenset[str]
    limit: int
    whole: list[Action] = field(factory=list)
    texts: list[str] = field(factory=list)
    named: list[Action] = field(factory=list)

    def find(self, queries: Sequence[str], category: str) -> None:
        """Fill the answer: exact names first, then the best of each query in turn."""
        found = [self._found(query, category) for query in queries]
        exact = [action for hits in found for action, is_exact in hits if is_exact]
        ranked = [action for action, _ in _in_turn(found)]
        enough = max(WHOLE, min(len(queries), self.limit))
        free = max(0, enough - len(exact)) if len(exact) < len(queries) else 0
        wanted = list(dict.fromkeys([*exact, *[a for a in ranked if a not in exact][:free]]))[: self.limit]
        room = ROOM - ROOM_FOR_LINES
        for left, action in zip(range(len(wanted) - 1, -1, -1), wanted, strict=True):
            share = room // 2 if left else room  # one large schema must not crowd out the others
            text = _whole(action, share, declared=action.tool_name in self.declared)
            if text:
                self.whole.append(action)
                self.texts.append(text)
                room -= len(text)
        others = [action for action in dict.fromkeys((*wanted, *ranked)) if action not in self.whole]
        self.named = others[: self.limit - len(self.whole)]

    def _found(self, query: str, category: str) -> list[tuple[Action, bool]]:
        most = len(self.finder.actions) if category else self.limit
        hits = [(self.finder.actions[hit.place], hit.exact) for hit in self.finder.search(query, most)]
        return [hit for hit in hits if not category or category_of(hit[0]) == category][: self.limit]

    def result(self) -> ActionResult:
        """Return the answer as a result that no stage bounds again."""
        if not self.whole and not self.named:
            listed = _counted(categories(self.finder.actions))
            return ActionResult(
                message="no action matches; try other words", outputs={"categories": listed}, bounded=True
            )
        parts = list(self.texts)
        room = ROOM - sum(map(len, parts)) - len(_OTHERS)
        lines: list[str] = []
        for line in (f"\n- {_line(action)}" for action in self.named):
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        if lines:
            parts.append(_OTHERS + "".join(lines))
        message = f"{len(self.whole)} with parameters, {len(lines)} by name"
        return ActionResult(message=message, outputs={"actions": "\n\n".join(parts)}, bounded=True)


def _in_turn(found: Sequence[Sequence[tuple[Action, bool]]]) -> Iterator[tuple[Action, bool]]:
    for rank in zip_longest(*found):
        yield from (hit for hit in rank if hit is not None)


def _line(action: Action) -> str:
    text = shrink(" ".join(first_sentence(action.description).split()), LINE)
    return f"{action.tool_name} [{category_of(action)}]: {text}"


def _whole(action: Action, room: int, *, declared: bool) -> str:
    """Return an action with its parameters in ``room`` characters; with less of them if it must be."""
    if declared:
        return f"{action.tool_name}: one of your tools; call it directly."
    tool = declare_tool(action)
    head = f"{action.tool_name} [{category_of(action)}]: "
    short = shrink(" ".join(tool.description.split()), 2 * LINE)
    for text, schema in ((tool.description, tool.schema), (short, tool.schema), (short, _bare(tool.schema))):
        whole = f"{head}{text}\n{canonical(schema)}"
        if len(whole) <= room:
            return whole
    names = f"{head}{short}\nParameters: {_parameters(tool.schema)}"
    return names if len(names) <= room else ""


def _bare(schema: Any) -> Any:
    """Return a schema without its texts."""
    if isinstance(schema, Mapping):
        return {
            key: _bare(value)
            for key, value in schema.items()
            if not (key in {"description", "title", "examples"} and not isinstance(value, Mapping))
        }
    return [_bare(value) for value in schema] if isinstance(schema, list) else schema


def _parameters(schema: Mapping[str, Json]) -> str:
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return ", ".join(f"{name} (required)" if name in required else name for name in properties)


def _category(finder: Finder, wanted: str) -> str | ActionResult:
    known = categories(finder.actions)
    if not wanted.strip() or wanted in known:
        return wanted.strip()
    same = [name for name in known if fold(name) == fold(wanted)]
    if len(same) == 1:
        return same[0]
    close = near(wanted, known)
    recovery = ErrorRecovery(
        retryable=True,
        suggestion="Name a category that exists, or search without one.",
        suggested_values=close or tuple(known)[:5],
    )
    return failure("UNKNOWN_CATEGORY", f"there is no category {wanted[:80]!r}", recovery)


def _overview(finder: Finder, category: str) -> ActionResult:
    if not category:
        counts = categories(finder.actions)
        message = f"{len(finder.actions)} actions in {len(counts)} categories"
        return ActionResult(message=message, outputs={"categories": _counted(counts)}, bounded=True)
    inside = [action for action in finder.actions if category_of(action) == category]
    names = ", ".join(action.tool_name for action in inside[:LISTED])
    more = ", …" if len(inside) > LISTED else ""
    return ActionResult(
        message=f"{len(inside)} actions in {category}", outputs={"names": names + more}, bounded=True
    )


def _counted(counts: Mapping[str, int]) -> str:
    listed = [f"{name} ({count})" for name, count in list(counts.items())[:LISTED]]
    return ", ".join(listed) + (", …" if len(counts) > LISTED else "") if listed else UNCATEGORIZED
