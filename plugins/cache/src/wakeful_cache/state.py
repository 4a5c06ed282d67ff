"""The state at the end of a request: all of it, or what changed since it was sent before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wakeful.prompt import escape_markers
from wakeful.prompt.markers import STATE_TAG
from wakeful.types import Fragment, Kept, clean_text, digest

#: Hexadecimal characters of a fragment's digest.
DIGEST = 16
#: What stands under the heading of a fragment that is gone.
WITHDRAWN = "(withdrawn)"


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


def block(texts: Mapping[str, str]) -> str:
    """Return a runtime-state block; empty without texts."""
    if not texts:
        return ""
    body = "\n\n".join(f"## {name}\n{text}" for name, text in texts.items())
    return f"<{STATE_TAG}>\n{body}\n</{STATE_TAG}>"


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
    return Kept(after, marks, block(new | dict.fromkeys(sorted(gone), WITHDRAWN)))
