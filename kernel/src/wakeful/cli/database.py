"""The database of a file as the ``db`` commands and ``doctor`` see it: as it is, without opening a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import field, frozen

from wakeful.app.plugins import Ambient, Platform, placed_at
from wakeful.config import AppConfig
from wakeful.store.connect import check_path, reader_engine, writer_engine
from wakeful.store.errors import translate
from wakeful.store.lineages import states
from wakeful.store.urls import Target, parse
from wakeful.system import SystemClock, SystemIds
from wakeful.types import Lineage, Problem, StoreError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from wakeful_migrations import State

#: A database that is not there, or holds nothing yet.
ABSENT = "absent"


@frozen
class Brought:
    """The tables that plugins bring, and the plugins whose tables are not known because they do not load."""

    lineages: tuple[Lineage, ...]
    problems: tuple[Problem, ...]


@frozen
class Status:
    """Where a database stands.

    Args:
        label: how messages name it.
        status: ``current``, ``absent``, ``missing``, ``older``, ``newer`` or ``unusable``.
        states: of each owner of tables.
        error: why it cannot be used.
    """

    label: str
    status: str
    states: tuple[State, ...] = field(factory=tuple)
    error: str = ""


def brought(config: AppConfig) -> Brought:
    """Return the tables that the plugins of all agents bring."""
    where = f"{config.path.name}: " if config.path else ""
    ambient = Ambient(SystemClock(), SystemIds(), config.folder, config.secrets)
    platform = Platform(ambient, config.plugins, where)
    problems: list[Problem] = []
    for agent in config.agents.values():
        platform.take(agent.plugins)
        found = [each for name in agent.plugins for each in platform.problems.get(name, ())]
        problems += placed_at(found, f"{where}agents.{agent.name}", where)
    return Brought(tuple(platform.hooks.lineages()), tuple(dict.fromkeys(problems)))


def absent(target: Target) -> bool:
    """Whether there is no file yet; other databases are always there or cannot be reached."""
    return target.memory or (target.path is not None and not target.path.exists())


@contextmanager
def reading(target: Target) -> Iterator[Engine]:
    """Give an engine that reads; raises its errors as a user can act on them.

    Raises:
        StoreError: the database cannot be used.
    """
    check_path(target, create=False)
    with _clearly(target, reader_engine(target, 1)) as engine:
        yield engine


@contextmanager
def writing(target: Target) -> Iterator[Engine]:
    """Give an engine that writes and makes a missing file.

    Raises:
        StoreError: the database cannot be used.
    """
    check_path(target, create=True)
    with _clearly(target, writer_engine(target, 1)) as engine:
        yield engine


def status(url: str, lineages: tuple[Lineage, ...]) -> Status:
    """Return where a database stands, without changing it."""
    try:
        target = parse(url)
    except StoreError as error:
        return Status(url.partition(":")[0], "unusable", error=str(error))
    if absent(target):
        return Status(target.label, ABSENT)
    try:
        with reading(target) as engine:
            found = states(engine, target, lineages)
    except StoreError as error:
        return Status(target.label, "unusable", error=str(error))
    ranked = [state.status for state in found]
    worst = next((each for each in ("newer", "older", "missing") if each in ranked), "current")
    return Status(target.label, worst, found)


@contextmanager
def _clearly(target: Target, engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    except StoreError:
        raise
    except Exception as error:
        clear = translate(error, target)
        if clear is None:
            raise
        raise clear from error
    finally:
        engine.dispose()
