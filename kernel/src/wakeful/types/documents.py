"""The document that travels through a run, and from an agent to its sub-agents: data beside words.

The kernel hands it down, records it with each step and gives it back with a sub-agent's answer. A plugin that
lets the model read and change it keeps it in its own state, under the key :data:`DOCUMENT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from wakeful.types.json import Json
from wakeful.types.run import Run

#: Key of plugin state, and of the kernel's own options of a run, under which the document stands: an object
#: with ``document``, with ``marks`` ((path, trust, source) of what is not trusted in it), and in plugin state
#: with ``run``, the id of the run that it belongs to.
DOCUMENT: Final = "run-document"


def handed_document(run: Run) -> Mapping[str, Any] | None:
    """Return the document that the agent above handed down to a run; None if there was none."""
    found = run.options.get("", {}).get(DOCUMENT)
    return found if isinstance(found, Mapping) else None


def kept_document(run: Run, plugin: str = "") -> Mapping[str, Any] | None:
    """Return the document as it was last kept in a run, by a plugin or by any; None if it never was."""
    for name, state in run.state.items():
        found = state.get(DOCUMENT)
        if plugin in {"", name} and isinstance(found, Mapping) and found.get("run") == run.id:
            return found
    return None


def document_marks(run: Run) -> Iterator[Json]:
    """Yield (path, trust, source) of what is not trusted in a run's document: as given, and as kept.

    The options that a caller gives to a plugin may say ``marks`` of what they hold.
    """
    for holder in (kept_document(run), handed_document(run), *run.options.values()):
        marks = holder.get("marks") if isinstance(holder, Mapping) else None
        if isinstance(marks, list | tuple):
            yield from marks
