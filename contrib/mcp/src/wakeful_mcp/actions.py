"""Accepted tools as actions: their names, their effects, and what a call of one comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from attrs import evolve, frozen

from wakeful.tools.describe import DESCRIPTION_LIMIT, shrink
from wakeful.tools.loaders import action_from_data
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
    digest,
    failure,
    tool_name,
)
from wakeful.types.actions import TOOL_NAME_LIMIT
from wakeful_mcp.connection import LostError, RefusedError, TooLargeError
from wakeful_mcp.definitions import Definition, readable, readable_schema
from wakeful_mcp.results import action_result
from wakeful_mcp.server import ChangedError, DownError, Server
from wakeful_mcp.settings import ServerSettings

#: Characters of a hash that tell apart two tools whose names would be the same.
TAIL = 6
_CODES = tuple(
    ResultCode(code, success=code == "SUCCESS")
    for code in ("SUCCESS", "TOOL_FAILED", "TOOL_CHANGED", "SERVER_DOWN", "CONNECTION_LOST", "CALL_REFUSED")
)


@frozen
class Pinned:
    """A tool of one agent: what was accepted, and the agent's settings of the server.

    Args:
        server: name of the server.
        definition: as it was accepted.
        settings: of the server.
    """

    server: str
    definition: Definition
    settings: ServerSettings

    @property
    def effect(self) -> Effect:
        """What the owner says, or stricter where the server itself says so.

        Hints of a server never make an effect milder. A tool that the owner names in full is as he says.
        """
        name, said = self.definition.name, self.settings.effects
        if name in said:
            return Effect(said[name])
        globs = sorted(
            (glob for glob in said if fnmatchcase(name, glob)), key=lambda glob: (-len(glob), glob)
        )
        return stricter(Effect(said[globs[0]] if globs else self.settings.effect), self.definition.hints)


def stricter(effect: Effect, hints: Mapping[str, bool]) -> Effect:
    """Return an effect, stricter where explicit hints contradict it.

    ``readOnlyHint = false`` is no reading, and unless ``destructiveHint = false`` cannot be undone;
    ``openWorldHint = true`` reaches outside. What a hint says in the server's favour counts nothing.
    """
    changes = hints.get("readOnlyHint") is False
    destroys = hints.get("destructiveHint") is True or (changes and hints.get("destructiveHint") is not False)
    outside = hints.get("openWorldHint") is True
    if destroys or (outside and (changes or effect is Effect.WRITE)):
        return Effect.EXTERNAL
    if changes and effect is Effect.READ:
        return Effect.WRITE
    if changes and effect is Effect.FETCH:
        return Effect.EXTERNAL
    if outside and effect is Effect.READ:
        return Effect.FETCH
    return effect


def names(tools: Sequence[Pinned]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (name, tool name) of each tool by (server, the server's name).

    The name is ``mcp_<server>_<tool>``. A tool name that would be cut, empty or the same as another's ends
    with a piece of a hash over both, so it does not depend on the order of anything.
    """
    full = {
        (each.server, each.definition.name): f"mcp_{each.server}_{each.definition.name}" for each in tools
    }
    short = {key: tool_name(name) for key, name in full.items()}
    times = Counter(short.values())
    found = {}
    for key, name in full.items():
        plain = times[short[key]] == 1 and len(name) <= TOOL_NAME_LIMIT and tool_name(key[1])
        if plain:
            found[key] = (name, short[key])
            continue
        tail = digest(canonical(key))[:TAIL]
        cut = short[key][: TOOL_NAME_LIMIT - TAIL - 1].rstrip("_")
        found[key] = (f"{name} {tail}", f"{cut}_{tail}")
    return found


def action_of(tool: Pinned, name: str, short: str, server: Server) -> Action:
    """Return the action of an accepted tool.

    Args:
        tool: what was accepted.
        name: of the action.
        short: tool name of the action.
        server: where it is called.

    Raises:
        DeclarationError: its schema is none that can be declared.
    """
    definition, settings = tool.definition, tool.settings

    async def run(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        return await _call(tool, server, args, ctx)

    text = readable(definition.description).strip()
    data = {
        "name": name,
        "description": shrink(text, DESCRIPTION_LIMIT)
        or f"{definition.name} of the MCP server {tool.server}.",
        "inputSchema": readable_schema(definition.schema),
        "category": tool.server,
    }
    action = action_from_data(
        data,
        run,
        effect=tool.effect,
        output_trust=Trust[settings.trust.upper()],
        tool_name=short,
    )
    return evolve(action, timeout_s=settings.timeout_s)


async def _call(tool: Pinned, server: Server, args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    """Call a tool; whatever becomes of it is a result."""
    who, source = f"the MCP server {tool.server!r}", f"mcp:{tool.server}"
    try:
        answer = await server.call(tool.definition, args, ctx.key)
    except DownError as error:
        later = ErrorRecovery(retryable=True, suggestion="Try again later, or go on without it.")
        return _said("SERVER_DOWN", f"{who} cannot be reached: {error}", later)
    except ChangedError as error:
        what = f"{error}; it stays refused until a person runs `wakeful mcp accept {tool.server}`"
        return failure("TOOL_CHANGED", what, ErrorRecovery(retryable=False, suggestion="Go on without it."))
    except LostError as error:
        again = tool.effect in {Effect.READ, Effect.FETCH}
        advice = "Try again." if again else "Find out whether it took effect before you try again."
        what = f"the connection to {who} ended before the answer came: {error}"
        return _said("CONNECTION_LOST", what, ErrorRecovery(retryable=again, suggestion=advice))
    except TooLargeError as error:
        less = ErrorRecovery(retryable=True, suggestion="Ask for less at once.")
        return _said("TOO_LARGE", f"{who}: {error}", less)
    except RefusedError as error:
        return _said(
            "CALL_REFUSED", f"{who} refused the call: {error}", ErrorRecovery(suggestion="Go on without it.")
        )
    failed, files = bool(answer.is_error), ctx.services.files
    return await action_result(answer.content, answer.structured_content, files, failed=failed, source=source)


def _said(code: str, message: str, recovery: ErrorRecovery) -> ActionResult:
    """Return a failed result that may quote the server, and so is trusted no further than its results."""
    return ActionResult(success=False, code=code, message=readable(message), recovery=recovery)
