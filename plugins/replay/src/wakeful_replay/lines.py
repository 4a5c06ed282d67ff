"""One line of a file: what it may hold, and how it is checked, read and written.

A script line is a reply as a person writes it. A cassette line is the same with the fingerprint and
the reduced request in front, the time it took behind, and ``items`` where a reply holds more than a
script can say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from attrs import asdict, fields_dict, frozen

from wakeful.types import Call, Item, Json, Profile, Stop, Text, Trust, Usage, dump_item, load_item, nearest
from wakeful_replay.checks import shown, strict_json, wrong
from wakeful_replay.reduced import Part, Reduced

#: Version of the cassette format, the value of ``cassette`` in its first line.
VERSION = 1

_REPLY = {
    "text": "a string",
    "thinking": "a string",
    "calls": "a list",
    "stop": "a string",
    "usage": "an object",
}
_RECORDED = {
    "fingerprint": "a string",
    "request": "an object",
    **_REPLY,
    "items": "a list",
    "trust": "a string",
    "source": "a string",
    "seconds": "a number from 0",
}
_CALL = {"tool": "a string", "args": "an object or a string"}
_USAGE = {
    **dict.fromkeys(("read", "write", "uncached", "output"), "a whole number from 0"),
    "cost": "a number from 0 or null",
}
_REQUEST = {
    "continues": "a string",
    "kept": "a whole number from 0",
    **dict.fromkeys(("tools", "system", "messages"), "a list"),
}
_PART = {"what": "a string", "text": "a string", "chars": "a whole number from 0", "digest": "a string"}
_HEADER = {"cassette": "a whole number from 0", "model": "a string", "profile": "an object"}
_BY_TYPE = {
    "str": "a string",
    "int": "a whole number from 0",
    "float": "a number from 0",
    "bool": "true or false",
}
_PROFILE = {name: _BY_TYPE.get(str(field.type), "any value") for name, field in fields_dict(Profile).items()}
_STOPS = [stop.value for stop in Stop]
_TRUST = {each.label: each for each in Trust}
#: Tags of the items a model can answer with, and how many strings follow the tag.
_ITEMS = {"text": ("role", "text"), "call": ("id", "tool", "args"), "opaque": ("provider",)}


@frozen
class Written:
    """A call as a line has it; an empty ``id`` is filled in when the line is played."""

    tool: str
    args: str
    id: str = ""


@frozen
class Header:
    """The first line of a cassette: what was recorded, so that a replay lays out the same bytes."""

    model: str
    profile: Profile

    def dump(self) -> Json:
        """Return the object that stands in the file."""
        return {"cassette": VERSION, "model": self.model, "profile": asdict(self.profile)}


@frozen
class Line:
    """One reply of a script or a cassette.

    Args:
        number: number of the line in its file, from 1.
        text, thinking, calls, stop, usage: as the script format has them; None = not given.
        items: the reply's exact items, where the script format cannot say them.
        trust, source: how far what its provider looked up may be believed, and what that was.
        fingerprint, request, seconds: of the recorded request; empty in a script.
    """

    number: int
    text: str = ""
    thinking: str = ""
    calls: tuple[Written, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    items: tuple[Item, ...] | None = None
    trust: Trust = Trust.TRUSTED
    source: str = ""
    fingerprint: str = ""
    request: Reduced = Reduced()
    seconds: float = 0.0


def check_line(value: Json, *, recorded: bool) -> list[str]:
    """Return what is wrong with a line of a script or, if ``recorded``, of a cassette."""
    required = ("fingerprint", "request") if recorded else ()
    found = wrong(value, _RECORDED if recorded else _REPLY, required=required)
    if not isinstance(value, dict):
        return found
    allowed = _CALL | ({"id": "a string"} if recorded else {})
    found += _each(value, "calls", lambda call, path: wrong(call, allowed, path, ("tool",)))
    if isinstance(value.get("usage"), dict):
        known = _USAGE | ({"reported": "true or false"} if recorded else {})
        found += wrong(value["usage"], known, "usage")
    stop = value.get("stop")
    if isinstance(stop, str) and stop not in _STOPS:
        found.append(f"stop {stop!r} is not known{nearest(stop, _STOPS)}")
    if recorded:
        trust = value.get("trust")
        if isinstance(trust, str) and trust not in _TRUST:
            found.append(f"trust {trust!r} is not known{nearest(trust, _TRUST)}")
        found += _each(value, "items", _item_problems)
        request = value.get("request")
        if isinstance(request, dict):
            found += wrong(request, _REQUEST, "request")
            for name in ("tools", "system", "messages"):
                found += _each(request, name, lambda part, path: wrong(part, _PART, path, _PART), "request.")
    return found


def check_header(value: Json) -> list[str]:
    """Return what is wrong with the first line of a cassette."""
    found = wrong(value, _HEADER, required=_HEADER)
    if found:
        return found
    if value["cassette"] != VERSION:
        return [f"cassette format {value['cassette']} is not known; this wakeful-replay reads {VERSION}"]
    return wrong(value["profile"], _PROFILE, "profile", ("provider",))


def load_header(value: Json) -> Header:
    """Return the header of a checked first line."""
    return Header(value["model"], Profile(**value["profile"]))


def load_line(value: Mapping[str, Json], number: int, earlier: Mapping[str, Line]) -> Line:
    """Return the line of a checked object.

    Args:
        value: the object.
        number: its line number.
        earlier: fingerprint to line of what stands above it, which ``request.continues`` may name.

    Raises:
        KeyError: ``request.continues`` names a request that does not stand above.
    """
    calls = tuple(
        Written(call["tool"], _spelled(call.get("args", {})), call.get("id", ""))
        for call in value.get("calls", ())
    )
    return Line(
        number,
        value.get("text", ""),
        value.get("thinking", ""),
        calls,
        Stop(value["stop"]) if "stop" in value else None,
        Usage(**value["usage"]) if "usage" in value else None,
        tuple(load_item(item) for item in value["items"]) if "items" in value else None,
        _TRUST[value.get("trust", Trust.TRUSTED.label)],
        value.get("source", ""),
        value.get("fingerprint", ""),
        _load_request(value.get("request", {}), earlier),
        value.get("seconds", 0.0),
    )


def dump_line(line: Line, base: Line | None) -> Json:
    """Return the object of a cassette line.

    Args:
        line: what to write.
        base: an earlier line of the same conversation; what the request shares with it is not repeated.
    """
    value: dict[str, Json] = {
        "fingerprint": line.fingerprint,
        "request": _dump_request(line.request, base),
    }
    if line.items is not None:
        value["items"] = [dump_item(item) for item in line.items]
    if line.text:
        value["text"] = line.text
    if line.calls:
        value["calls"] = [
            {"tool": call.tool, "args": _readable(call.args), "id": call.id} for call in line.calls
        ]
    if line.stop is not None:
        value["stop"] = line.stop.value
    if line.usage is not None:
        usage = asdict(line.usage)
        # Only what says something: a zero, an unknown cost and the usual "reported" go without saying.
        silent = {"cost": None, "reported": True}
        value["usage"] = {key: item for key, item in usage.items() if item != silent.get(key, 0)}
    if line.trust is not Trust.TRUSTED:
        value |= {"trust": line.trust.label, "source": line.source}
    value["seconds"] = line.seconds
    return value


def as_written(items: Sequence[Item]) -> tuple[str, tuple[Written, ...]] | None:
    """Return text and calls of a reply, or None where only ``items`` can say it exactly."""
    texts = [item for item in items if isinstance(item, Text)]
    calls = [item for item in items if isinstance(item, Call)]
    plain = len(texts) <= 1 and all(item.role == "assistant" and item.text for item in texts)
    if not plain or not all(call.id and call.tool for call in calls) or [*texts, *calls] != [*items]:
        return None
    return (
        texts[0].text if texts else "",
        tuple(Written(call.tool, call.args, call.id) for call in calls),
    )


def _each(
    value: Mapping[str, Json], key: str, check: Callable[[Json, str], list[str]], prefix: str = ""
) -> list[str]:
    entries = value.get(key)
    if not isinstance(entries, list):
        return []
    return [
        problem for index, entry in enumerate(entries) for problem in check(entry, f"{prefix}{key}[{index}]")
    ]


def _item_problems(item: Json, path: str) -> list[str]:
    if not isinstance(item, list) or not item or item[0] not in _ITEMS:
        return [f"{path} must be a list that begins with text, call or opaque, not {shown(item)}"]
    names = _ITEMS[item[0]]
    length = 1 + len(names) + (item[0] == "opaque")
    if len(item) != length or not all(isinstance(part, str) for part in item[1 : 1 + len(names)]):
        return [f"{path} must be [{item[0]!r}, {', '.join(names)}, …] of {length} values, not {shown(item)}"]
    return []


def _load_request(value: Mapping[str, Json], earlier: Mapping[str, Line]) -> Reduced:
    base = earlier[value["continues"]].request if value.get("continues") else Reduced()
    parts = {
        name: tuple(Part(**part) for part in value[name])
        for name in ("tools", "system", "messages")
        if name in value
    }
    kept = base.messages[: value.get("kept", 0)]
    return Reduced(
        parts.get("tools", base.tools),
        parts.get("system", base.system),
        kept + parts.get("messages", ()),
    )


def _dump_request(request: Reduced, base: Line | None) -> Json:
    value: dict[str, Json] = {}
    kept = 0
    if base is not None:
        kept = request.shared(base.request)
        value = {"continues": base.fingerprint, "kept": kept}
    if base is None or request.tools != base.request.tools:
        value["tools"] = [part.dump() for part in request.tools]
    if base is None or request.system != base.request.system:
        value["system"] = [part.dump() for part in request.system]
    value["messages"] = [part.dump() for part in request.messages[kept:]]
    return value


def _spelled(args: Json) -> str:
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


def _readable(args: str) -> Json:
    """Return arguments as an object where that reads back as the same bytes, else as they are."""
    try:
        value = strict_json(args)
    except ValueError:
        return args
    return value if isinstance(value, dict) and _spelled(value) == args else args
