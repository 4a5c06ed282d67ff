"""What the database holds, as far as the agent may see it.

A hidden table or column is left out when the database is read, so nothing later can name it: not a
list, not a suggestion, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from attrs import field, frozen

from wakeful.types import ActionError, meant, near


@frozen
class Field:
    """A visible column.

    Args:
        name: as the database spells it.
        type: as the database names it, e.g. ``VARCHAR(40)``.
        kind: the key of ``values.EXPECTED`` that says which values it takes.
        nullable: whether it may be null.
        default: the database's default as text, ``auto`` for generated keys, or None.
        key: whether it belongs to the primary key.
        generated: whether the database computes it, so that it is never written.
        comment: the owner's comment.
        references: ``table.column`` it refers to, when that is visible.
        length: most characters, or None.
        scale: digits after the point of a decimal, or None.
        choices: the values of an enumeration.
        native: whether the driver takes Python values of the type; SQLite has only numbers and texts.
    """

    name: str
    type: str
    kind: str
    nullable: bool = True
    default: str | None = None
    key: bool = False
    generated: bool = False
    comment: str = ""
    references: str = ""
    length: int | None = None
    scale: int | None = None
    choices: tuple[str, ...] = ()
    native: bool = True


@frozen(eq=False)
class Entity:
    """A visible table or view.

    Args:
        name: as the database spells it.
        table: the visible columns for building statements.
        fields: by name, in the database's order.
        keys: the primary key; empty when there is none or a part of it is hidden.
        view: whether it is a view, which is never written.
        writable: whether the settings let it be written.
        partial: whether columns are hidden.
        comment: the owner's comment.
    """

    name: str
    table: sa.Table = field(repr=False)
    fields: Mapping[str, Field]
    keys: tuple[str, ...]
    view: bool
    writable: bool
    partial: bool
    comment: str = ""

    def find(self, written: str) -> Field | None:
        """Return the field that is meant, or None."""
        name = meant(written, self.fields)
        return None if name is None else self.fields[name]

    def field(self, written: str) -> Field:
        """Return the field that is meant.

        Raises:
            ActionError: UNKNOWN_ENTITY_FIELDS with near names.
        """
        found = self.find(written)
        if found is None:
            raise unknown_fields(self, [written])
        return found


@frozen(eq=False)
class Catalogue:
    """What the agent may see of a database.

    Args:
        schema: the one that the entities are in.
        entities: all that are visible, by name.
        within: the names, in lower case, by which SQLite says that a view reads: views, and the common
            tables of their definitions.
    """

    schema: str
    entities: Mapping[str, Entity]
    within: frozenset[str] = frozenset()

    def find(self, written: str) -> Entity | None:
        """Return the entity that is meant, with or without its schema, or None."""
        name = meant(written, self.entities)
        prefix, _, rest = written.partition(".")
        if name is None and rest and prefix.casefold() == self.schema.casefold():
            name = meant(rest, self.entities)
        return None if name is None else self.entities[name]

    def entity(self, written: str) -> Entity:
        """Return the entity that is meant.

        Raises:
            ActionError: UNKNOWN_ENTITY with near names.
        """
        found = self.find(written)
        if found is None:
            raise unknown_entity(self, written)
        return found


def unknown_entity(catalogue: Catalogue, written: str) -> Exception:
    """Return the refusal of an entity that does not exist for the agent."""
    close = near(written, catalogue.entities)
    return ActionError(
        "UNKNOWN_ENTITY",
        f"there is no entity {written!r}",
        suggestion="Use a name that list_entities gives." if not close else "Use one of the near names.",
        suggested=close,
        next_actions=("list_entities",),
    )


def unknown_fields(entity: Entity, written: Iterable[str], offered: Iterable[str] | None = None) -> Exception:
    """Return the refusal of fields that do not exist for the agent; ``offered`` are the right ones."""
    wrong = list(written)
    names = list(entity.fields if offered is None else offered)
    close = {name: near(name, names) for name in wrong}
    parts = [f"{name!r} (near: {', '.join(close[name])})" if close[name] else repr(name) for name in wrong]
    kind = "fields" if offered is None else "writable fields"
    return ActionError(
        "UNKNOWN_ENTITY_FIELDS",
        f"{entity.name} has no field {', '.join(parts)}; nothing was done",
        suggestion=f"The {kind} of {entity.name} are: {', '.join(names)}.",
        suggested=list(dict.fromkeys(item for name in wrong for item in close[name]))[:5],
        next_actions=("describe_entity",),
    )
