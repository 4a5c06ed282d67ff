"""The state at the end of a request: all of it, or what changed since it was sent before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wakeful.prompt import escape_markers
from wakeful.prompt.markers import STATE_TAG
from wakeful.types import Fragment, Kept, clean_text, digest

#: Hexadecimal characters of a fragment's digest.
DIGEST = 16
#: What stands before the names of fragments that are gone.
WITHDRAWN = "withdrawn"


def texts_of(fragments: Iterable[Fragment]) -> dict[str, str]:
    """Return the fragments' texts by name, in their order, without empty ones.

    Forged tags are escaped, and what the store cannot hold is replaced: what is sent is what is read back.
    """
    texts: dict[str, str] = {}
    for fragment in fragments:
        text = escape_markers(clean_text(fragment.text))
        if text:
            name = escape_markers(clean_text(fragment.name))
            texts[name] = f"{texts[name]}\n\n{text}" if name in texts else text
    return texts


def block(texts: Mapping[str, str], gone: Sequence[str] = ()) -> str:
    """Return a runtime-state block; empty if there is nothing to say.

    Args:
        texts: fragments by name.
        gone: names of those that no longer hold.
    """
    if not texts and not gone:
        return ""
    entries = [_entry(name, text) for name, text in texts.items()]
    body = "\n".join([*entries, *([f"{WITHDRAWN}: {', '.join(sorted(gone))}"] if gone else [])])
    return f"<{STATE_TAG}>\n{body}\n</{STATE_TAG}>"


def _entry(name: str, text: str) -> str:
    """Return a fragment: one line where it is one, else a heading and what belongs to it."""
    return f"## {name}\n{text}\n" if "\n" in text else f"{name}: {text}"


def changed(texts: Mapping[str, str], sent: Sequence[Kept], after: int) -> Kept | None:
    """Return what has to be sent of the state; None if all of it was.

    Args:
        texts: the state as it is.
        sent: states that are in the history, oldest first.
        after: sequence of the last row.
    """
    known: dict[str, str] = {}
    for state in sent:
        known.update(state.hashes)
    hashes = {name: digest(text)[:DIGEST] for name, text in texts.items()}
    new = {name: texts[name] for name, mark in hashes.items() if known.get(name) != mark}
    gone = [name for name, mark in known.items() if mark and name not in texts]
    if not new and not gone:
        return None
    marks = {name: hashes[name] for name in new} | dict.fromkeys(gone, "")
    return Kept(after, marks, block(new, gone))
