"""Media inside of outputs: each becomes an output of its own, so that no base64 is ever shown as text."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from wakeful.results.media import MEDIA_CHARS, media_of
from wakeful.types import ActionResult, Json

#: Values of an output that are looked at, and media that are taken out of one.
LOOKED, MOST = 20_000, 200


def lifted(result: ActionResult) -> ActionResult:
    """Return a result with the media inside of its outputs as outputs of their own.

    Of ``{"title": "Sketch", "image": "<base64>"}`` as ``result`` a note stays at ``image``, and the medium is
    the output ``result.image``. Of very long outputs the beginning is looked at, and 200 media
    at most are kept.
    """
    outputs: dict[str, Json] = {}
    for name, value in result.outputs.items():
        if not isinstance(value, dict | list) or media_of(value) is not None:
            outputs[name] = value
            continue
        search = _Search(result.outputs)
        left = search.without(value, name)
        outputs |= {name: left if search.found else value, **search.found}
    return evolve(result, outputs=outputs) if len(outputs) > len(result.outputs) else result


@define
class _Search:
    """The media found inside of one output, by place, and how many more values are looked at."""

    taken: Mapping[str, Json]
    found: dict[str, Json] = field(factory=dict)
    left: int = LOOKED

    def without(self, value: Json, place: str) -> Json:
        """Return a value with a note for each medium in it."""
        self.left -= 1
        if self.left < 0:
            return value
        if _may_be(value) and media_of(value) is not None:
            if len(self.found) >= MOST:
                return f"(media, left out: more than {MOST} in one output)"
            while place in self.taken:
                place += "_"
            self.found[place] = value
            return f"(medium, given as {place})"
        if isinstance(value, dict):
            return {key: self.without(item, f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            seen = [self.without(item, f"{place}[{at}]") for at, item in enumerate(value[: self.left])]
            return seen + value[len(seen) :]
        return value


def _may_be(value: Json) -> bool:
    """Return whether a value is worth the look whether it is a medium."""
    if isinstance(value, str):
        return len(value) >= MEDIA_CHARS or value.startswith("data:")
    return isinstance(value, Mapping) and isinstance(value.get("data"), str)
