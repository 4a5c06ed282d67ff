"""Names of tools as models distort them: prefixes added or left out, other case, other separators."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import field, frozen

from wakeful.types import fold

#: Prefixes that models and their chat templates put before names of tools.
PREFIXES = ("functions", "function", "tools", "tool", "default_api", "mcp")
#: What separates a server from its tool.
_PARTS = re.compile(r"__|[./:]+")
#: What chat templates leave at the end of a name: a marker, the number of the call, empty parentheses.
_REST = re.compile(r"<\|.*|:\d+$|\(\)$", re.DOTALL)
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
#: Longest name that is looked at, in characters; tools have at most 64.
_LENGTH = 200


@frozen
class NameRepairer:
    """Finds the one tool that is meant; says nothing where two could be.

    Args:
        prefixes: of the agent's servers, beside the usual ones.
    """

    prefixes: tuple[str, ...] = ()
    _known: frozenset[str] = field(init=False)

    @_known.default
    def _fold_prefixes(self) -> frozenset[str]:
        return frozenset(fold(name) for name in (*PREFIXES, *self.prefixes))

    def meant(self, written: str, names: Sequence[str]) -> str | None:
        """Return the name that is meant, or None.

        In this order, each only if it leaves exactly one name: the same letters and digits; the same after
        parts in front are taken away; a name whose own parts in front are left out.

        Args:
            written: what the model wrote.
            names: what it may call.
        """
        tails = self._tails(_REST.sub("", written[:_LENGTH].strip()))
        spelled: dict[str, list[str]] = {}
        shortened: dict[str, list[str]] = {}
        for name in names:
            spelled.setdefault(_fold(name), []).append(name)
            for tail, _ in self._tails(name)[1:]:
                shortened.setdefault(tail, []).append(name)
        found = [spelled[tail] for tail, _ in tails if tail in spelled]
        # Between two servers' tools of one name, only the server decides: a strange one is not exchanged.
        found += [shortened[tail] for tail, usual in tails if usual and tail in shortened]
        return found[0][0] if found and len(found[0]) == 1 else None

    def _tails(self, name: str) -> list[tuple[str, bool]]:
        """Return a name folded, then what remains as the parts in front are taken away one by one.

        Each with whether only usual prefixes are gone. A strange one is taken away if several words remain:
        ``shop.delete`` is no ``delete``.
        """
        parts = _PARTS.split(name)
        tails = [(_fold(name), True)]
        for start in range(1, len(parts)):
            rest = "_".join(parts[start:])
            usual = all(fold(part) in self._known for part in parts[:start])
            if usual or len(_WORDS.findall(rest)) > 1:
                tails.append((_fold(rest), usual))
        # A usual prefix may also be joined by a single underscore or dash.
        usual = all(fold(part) in self._known for part in parts[:-1])
        words = re.split(r"[_-]", parts[-1])
        tails += [
            (_fold("_".join(words[end:])), True)
            for end in range(1, len(words))
            if usual and fold("".join(words[:end])) in self._known
        ]
        return [tail for tail in tails if tail[0]]


def _fold(name: str) -> str:
    return fold(_PARTS.sub("_", name))
