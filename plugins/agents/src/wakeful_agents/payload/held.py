"""The document of a run: where it is kept, and how far each part of it may be believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve, field, frozen

from wakeful.types import Json, Run, Trust, handed_document, kept_document
from wakeful_agents.payload.paths import MISSING, Path, parse_path, spell

#: The plugin whose options a caller gives the document in, and whose state keeps it.
NAMESPACE = "payload"


@frozen
class Mark:
    """A place that was written from something that is not trusted."""

    path: Path
    trust: Trust
    source: str = ""

    def touches(self, path: Path) -> bool:
        """Whether one place is the other, or inside it."""
        shorter = min(len(self.path), len(path))
        return self.path[:shorter] == path[:shorter]


@frozen
class Held:
    """A document with the marks of what is in it; :data:`MISSING` is no document, which is not ``null``."""

    document: Json = field(default=MISSING)
    marks: tuple[Mark, ...] = ()

    def trust(self, path: Path = ()) -> Trust:
        """Return how far a part of the document may be believed."""
        return max((mark.trust for mark in self.marks if mark.touches(path)), default=Trust.TRUSTED)

    def source(self, path: Path = ()) -> str:
        """Return where what is not trusted in a part came from."""
        found = (mark.source for mark in self.marks if mark.touches(path) and mark.source)
        return ", ".join(dict.fromkeys(found))

    def written(
        self,
        document: Json,
        touched: Iterable[Path],
        trust: Trust,
        source: str,
        moved: Sequence[Path] = (),
    ) -> Held:
        """Return the document after places were written from something of that trust.

        A mark stays until the place itself, or one above it, is written anew; where items of a list have
        moved, it holds for the whole list.
        """
        marks = list(self.marks)
        for path in moved:
            marks = [evolve(mark, path=path) if mark.path[: len(path)] == path else mark for mark in marks]
        for path in touched:
            marks = [mark for mark in marks if mark.path[: len(path)] != path]
            if trust is not Trust.TRUSTED:
                marks.append(Mark(path, trust, source))
        return evolve(self, document=document, marks=tuple(marks))

    def dump(self, run_id: str) -> Json:
        """Return what the store keeps; the document belongs to one run."""
        value: dict[str, Json] = {"run": run_id, "marks": _dumped(self.marks)}
        if self.document is not MISSING:
            value["document"] = self.document
        return value

    @classmethod
    def load(cls, value: Json) -> Held:
        """Return what :meth:`dump` wrote, or what the options of a run say."""
        marks = tuple(Mark(parse_path(path), Trust(trust), source) for path, trust, source in _marks(value))
        return cls(value.get("document", MISSING), marks)


def _dumped(marks: Sequence[Mark]) -> list[Json]:
    return [[spell(mark.path), int(mark.trust), mark.source] for mark in marks]


def _marks(value: Json) -> list[Json]:
    found: list[Json] = value.get("marks", [])
    return found


def held(run: Run) -> Held:
    """Return the document of a run: what was last written in it, else what it was given, else none."""
    return Held.load(kept_document(run, NAMESPACE) or handed_document(run) or run.options.get(NAMESPACE, {}))
