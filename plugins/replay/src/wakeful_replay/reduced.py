"""A request reduced to what a person can read and a program can compare.

Of every tool, section and message a cassette keeps a name, the beginning, the length and a digest.
Two reduced requests are equal when all digests are; the first that differs is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from attrs import asdict, evolve, frozen

from wakeful.types import Call, Item, Json, Opaque, Request, Result, Text, canonical, digest, dump_item

#: Characters of a text that a cassette keeps and a difference can show.
EXCERPT = 200
#: Characters of a difference shown on each side.
SHOWN = 60
#: Hexadecimal digits of a part's digest: 64 bits tell the parts of one session apart with certainty enough.
DIGEST = 16

Scrub = Callable[[str], str]


@frozen
class Part:
    """One tool, section or message of a request.

    Args:
        what: how a person would call it, e.g. ``result of `run_query```.
        text: its first :data:`EXCERPT` characters.
        chars: how long the whole text is.
        digest: first :data:`DIGEST` digits of the sha256 over all of it.
    """

    what: str
    text: str
    chars: int
    digest: str

    def dump(self) -> Json:
        """Return the object that stands in a cassette."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the beginning of the text, quoted, on one line."""
        return quoted(self.text, more=self.chars > len(self.text))


@frozen
class Reduced:
    """A reduced request: tools, sections and messages in the order they are sent."""

    tools: tuple[Part, ...] = ()
    system: tuple[Part, ...] = ()
    messages: tuple[Part, ...] = ()

    def shared(self, other: Reduced) -> int:
        """Return how many messages at the beginning are the same in ``other``."""
        pairs = zip(self.messages, other.messages, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0].digest == pair[1].digest, pairs))


def fingerprint(request: Request) -> str:
    """Return the sha256 of the canonical prompt without the model's name, so that a file can be renamed."""
    return digest(evolve(request, model="").canonical())


def reduce_request(request: Request, scrub: Scrub) -> Reduced:
    """Return ``request`` reduced.

    Args:
        request: what would be sent.
        scrub: takes known secrets out of a text, before it is shortened.
    """
    tools = {item.id: item.tool for item in request.items if isinstance(item, Call)}
    return Reduced(
        tuple(
            _part(f"`{tool.name}`", tool.description, [tool.name, tool.description, tool.schema], scrub)
            for tool in request.tools
        ),
        tuple(_part("section", text, text, scrub) for text in request.system),
        tuple(_part(_named(item, tools), _words(item), dump_item(item), scrub) for item in request.items),
    )


def difference(recorded: Reduced, now: Reduced) -> str:
    """Return the first thing in which two requests differ, in the order they are sent; empty if none."""
    return (
        _tools(recorded.tools, now.tools)
        or _parts("section", recorded.system, now.system)
        or _parts("message", recorded.messages, now.messages)
    )


def quoted(text: str, *, more: bool = False) -> str:
    """Return ``text`` as a quoted literal on one line, shortened to :data:`SHOWN` characters."""
    return repr(text[:SHOWN] + "…" if more or len(text) > SHOWN else text)


def _part(what: str, text: str, whole: Json, scrub: Scrub) -> Part:
    return Part(scrub(what), scrub(text)[:EXCERPT], len(text), digest(canonical(whole))[:DIGEST])


def _named(item: Item, tools: Mapping[str, str]) -> str:
    if isinstance(item, Text):
        return f"text of the {item.role}"
    if isinstance(item, Call):
        return f"call of `{item.tool}`"
    if isinstance(item, Result):
        return f"result of `{tools.get(item.call_id, item.call_id)}`"
    return f"block of {item.provider}"


def _words(item: Item) -> str:
    if isinstance(item, Call):
        return item.args
    return canonical(item.data) if isinstance(item, Opaque) else item.text


def _tools(recorded: Sequence[Part], now: Sequence[Part]) -> str:
    before = {part.what: part.digest for part in recorded}
    after = {part.what: part.digest for part in now}
    for name in [*before, *after]:
        if name not in after:
            return f"tool {name} is gone"
        if name not in before:
            return f"tool {name} is new"
        if before[name] != after[name]:
            return f"tool {name} changed"
    if [part.digest for part in recorded] != [part.digest for part in now]:
        return f"the order of the tools changed: recorded {', '.join(before)}, now {', '.join(after)}"
    return ""


def _parts(kind: str, recorded: Sequence[Part], now: Sequence[Part]) -> str:
    for number, (before, after) in enumerate(zip(recorded, now, strict=False), 1):
        if before.digest != after.digest:
            return f"{kind} {number}{_of(after)} differs: {_apart(before, after)}"
    if len(recorded) == len(now):
        return ""
    more = len(now) > len(recorded)
    extra = (now if more else recorded)[min(len(now), len(recorded)) :]
    number = min(len(now), len(recorded)) + 1
    count = f"{len(extra)} {'more' if more else 'fewer'} {kind}{'s' if len(extra) > 1 else ''}"
    return f"{count} than recorded, from {kind} {number}{_of(extra[0])}: {extra[0]}"


def _of(part: Part) -> str:
    return "" if part.what == "section" else f" ({part.what})"


def _apart(before: Part, after: Part) -> str:
    if before.what != after.what:
        return f"recorded {before.what} {before}, now {after}"
    pairs = zip(before.text, after.text, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if before.text == after.text:
        where = f"after its first {same} characters" if before.chars > same else "in what is not text"
        return f"{where} (recorded {before.chars} characters, now {after.chars})"
    # Long texts often differ late in the excerpt; start shortly before the difference then.
    start = 0 if same < SHOWN // 2 else same - SHOWN // 4
    lead = "…" if start else ""
    return (
        f"recorded {quoted(lead + before.text[start:], more=before.chars > len(before.text))}, "
        f"now {quoted(lead + after.text[start:], more=after.chars > len(after.text))}"
    )
