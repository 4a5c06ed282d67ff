"""The plain window and layout: all rows, sections in the system prompt, state as the last user text."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from wakeful.prompt.markers import STATE_TAG, escape_item, escape_markers
from wakeful.types import AgentView, Draft, Fragment, Item, Json, Request, RowKind, Run, Text, View


@frozen
class PlainWindow:
    """Sends everything except state that was sent before."""

    def select(self, run: Run) -> View:
        """Return all rows of the conversation but those of kind ``state``."""
        return View(tuple(row for row in run.rows if row.kind is not RowKind.STATE))


def state_block(fragments: Sequence[Fragment]) -> str:
    """Return the fragments inside runtime-state tags, forged tags escaped; empty if there are none."""
    parts = [
        f"## {fragment.name}\n{escape_markers(fragment.text)}" for fragment in fragments if fragment.text
    ]
    if not parts:
        return ""
    return f"<{STATE_TAG}>\n" + "\n\n".join(parts) + f"\n</{STATE_TAG}>"


def ends_in_state(request: Request) -> bool:
    """Return whether a request ends in state that the next one does not repeat.

    A provider that marks the end of such a request by itself writes all of it each time and reads nothing.
    """
    if not request.state or request.keep is not None:
        return False
    first = request.items[-request.state]
    return isinstance(first, Text) and first.text.startswith(f"<{STATE_TAG}>")


@frozen
class PlainLayout:
    """The layout of the kernel; it knows nothing of caches."""

    def decide(self, agent: AgentView) -> Json:  # noqa: ARG002  (the protocol's argument)
        """Nothing to decide."""
        return None

    def compose(self, draft: Draft) -> Request:
        """Return sections, rows, then the state and whatever trails."""
        items: list[Item] = [escape_item(item) for row in draft.rows for item in row.items]
        block = state_block(draft.state)
        own = [Text("user", block)] if block else []
        items += [*own, *draft.trailing]
        declared = draft.epoch.declared
        return Request(
            model=declared.model,
            tools=declared.tools,
            system=tuple(section.text for section in declared.sections),
            items=tuple(items),
            cache_key=draft.conversation,
            state=len(own) + len(draft.trailing),
        )
