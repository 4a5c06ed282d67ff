"""Artifacts of conversations: putting them there, with their quotas, and finding them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve, frozen
from sqlalchemy import Select, case, func, insert, select, update

from wakeful.store.contents import keep
from wakeful.store.tables import action_call
from wakeful.types import ActionError, Files, Trust, Tx, canonical
from wakeful_spillover.handles import handle, number_of
from wakeful_spillover.settings import SpilloverSettings
from wakeful_spillover.shape import Shape
from wakeful_spillover.tables import PLAIN, Stored, artifact, load

if TYPE_CHECKING:
    from sqlalchemy import Executable

#: Bytes from which a content goes to the file store; below, it is in the table. From the specification.
FILE_BYTES = 50_000
_LISTED = 12


@frozen
class Origin:
    """Where an output came from.

    Args:
        conversation: id.
        key: idempotency key of the call.
        action, output: names.
        trust, source: of the result.
        now: when.
        replaces: handle of the artifact that it is a new version of; empty if of none.
    """

    conversation: str
    key: str
    action: str
    output: str
    trust: Trust
    source: str
    now: datetime
    replaces: str = ""


class Reads(Protocol):
    """What questions need of an agent's services; see :class:`wakeful.types.Services`."""

    @property
    def files(self) -> Files:
        """Return where large contents are."""
        ...

    async def read(self, statement: Executable) -> Sequence[Any]:
        """Run a SELECT on the store and return its rows."""
        ...


class QuotaError(Exception):
    """A conversation has no room for another artifact; the text says which limit."""


async def add(tx: Tx, found: Shape, origin: Origin, settings: SpilloverSettings) -> Stored:
    """Store an output as an artifact, or return the one that has this content already.

    Its trust and source become the worse ones of all that gave the content.

    Args:
        tx: the step's closing transaction.
        found: the output; its content is in the file store already unless it has a ``text``.
        origin: where it came from.
        settings: of the agent; quotas.

    Raises:
        QuotaError: the conversation has no room for it.
        ActionError: NO_SUCH_ARTIFACT: what it replaces is not there.
    """
    t = artifact.c
    mine = t.conversation_id == origin.conversation
    same = case((t.hash == found.hash, t.number))
    sums = select(func.count(), func.coalesce(func.sum(t.size), 0), func.max(t.number), func.max(same))
    count, total, last, number = (await tx.all(sums.where(mine)))[0]
    if number is not None:
        return await _again(tx, origin, number)
    if count >= settings.quota_count:
        raise QuotaError(f"this conversation has {count:,} artifacts, which is the limit (quota_count)")
    if total + found.size > settings.quota_mb * 1_000_000:
        raise QuotaError(
            f"{found.size:,} bytes more than the {total:,} this conversation has are over the limit of "
            f"{settings.quota_mb:,} MB (quota_mb)"
        )
    name, version = await _version(tx, origin)
    made = _stored((last or 0) + 1, found, origin, name, version)
    values = {column: getattr(made, column) for column in PLAIN}
    values |= {"conversation_id": origin.conversation, "hash": found.hash, "trust": int(made.trust)}
    values["columns"] = canonical([list(column) for column in made.columns])
    await tx.exec(insert(artifact).values(**values))
    if made.ref is not None:
        await tx.exec(keep(origin.conversation, made.ref))
    return made


async def _version(tx: Tx, origin: Origin) -> tuple[str, int]:
    """Return the name of a new artifact and which version under it this is."""
    if not origin.replaces:
        return f"{origin.action} {origin.now:%Y-%m-%d %H:%M:%S}Z", 1
    mine = artifact.c.conversation_id == origin.conversation
    replaced = artifact.c.number == (number_of(origin.replaces) or 0)
    found = await tx.all(select(artifact.c.name).where(mine, replaced))
    if not found:
        raise ActionError("NO_SUCH_ARTIFACT", f"there is no artifact {origin.replaces!r} to replace")
    name = found[0][0]
    last = await tx.all(select(func.max(artifact.c.version)).where(mine, artifact.c.name == name))
    return name, last[0][0] + 1


def _stored(number: int, found: Shape, origin: Origin, name: str, version: int) -> Stored:
    return Stored(
        number=number,
        kind=found.kind,
        form=found.form,
        action=origin.action,
        output=origin.output,
        name=name,
        version=version,
        key=origin.key,
        trust=origin.trust,
        source=origin.source,
        size=found.size,
        rows=found.rows,
        columns=found.columns,
        path=found.path,
        media=found.media,
        content=None if found.ref else found.text,
        ref=found.ref or None,
        created_at=origin.now,
    )


async def _again(tx: Tx, origin: Origin, number: int) -> Stored:
    mine = (artifact.c.conversation_id == origin.conversation) & (artifact.c.number == number)
    known = load((await tx.all(select(artifact).where(mine)))[0])
    if origin.trust <= known.trust:
        return known
    worse = {"trust": int(origin.trust), "source": origin.source}
    await tx.exec(update(artifact).where(mine).values(**worse))
    return evolve(known, trust=origin.trust, source=origin.source)


def query(conversation: str) -> Select[tuple[object, ...]]:
    """Return the query for the artifacts of a conversation, oldest first, with the rows that show them."""
    joined = artifact.outerjoin(action_call, artifact.c.key == action_call.c.key)
    columns = (*artifact.c, action_call.c.result_seq.label("seq"))
    mine = artifact.c.conversation_id == conversation
    return select(*columns).select_from(joined).where(mine).order_by(artifact.c.number)


async def find(services: Reads, conversation: str, written: str) -> Stored:
    """Return the artifact of a handle as a model wrote it.

    Raises:
        ActionError: NO_SUCH_ARTIFACT; names those there are.
    """
    number = number_of(written)
    if number is not None:
        rows = await services.read(query(conversation).where(artifact.c.number == number))
        if rows:
            return load(rows[0])
    count = select(func.max(artifact.c.number)).where(artifact.c.conversation_id == conversation)
    last = (await services.read(count))[0][0] or 0
    known = [f"[{handle(each)}]" for each in range(1, last + 1)]
    raise ActionError(
        "NO_SUCH_ARTIFACT",
        f"there is no artifact {written!r} in this conversation",
        suggestion=f"There are: {_some(known)}." if known else "There is none in this conversation yet.",
    )


def _some(known: Sequence[str]) -> str:
    if len(known) <= _LISTED:
        return ", ".join(known)
    return f"{', '.join(known[: _LISTED // 2])}, … {', '.join(known[-_LISTED // 2 :])}"
