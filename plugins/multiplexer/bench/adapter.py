"""The plugin's index for a measuring command: ``factory(tools) -> search(query, k) -> [id]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wakeful.types import Action, ActionContext, ActionResult, Json
from wakeful_multiplexer.index import Index
from wakeful_multiplexer.synonyms import Synonyms

Search = Callable[[str, int], list[str]]


async def _run(_: Mapping[str, Json], __: ActionContext) -> ActionResult:
    return ActionResult()


def action_of(tool: Mapping[str, Json]) -> Action:
    """Return the action that a tool of a catalogue is: its server is the category."""
    return Action(
        name=tool["name"],
        description=tool["description"],
        schema=tool["parameters"],
        run=_run,
        category=tool["server"],
    )


def factory(tools: Sequence[Mapping[str, Json]]) -> Search:
    """Return a search over ``tools``, each with ``id, server, name, description, parameters``."""
    ids = [tool["id"] for tool in tools]
    index = Index([action_of(tool) for tool in tools], Synonyms.of())
    return lambda query, k: [ids[hit.place] for hit in index.search(query, k)]
