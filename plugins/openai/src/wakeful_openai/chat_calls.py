"""Tool calls put together from deltas, however a server cuts them."""

from __future__ import annotations

import json

from attrs import define, field

from wakeful.types import Call, Json, ModelError, clean_text, read_json
from wakeful_openai.errors import ApiFaults
from wakeful_openai.ids import CallIds
from wakeful_openai.pieces import spelled_args


@define(eq=False)
class _Slot:
    """One call that is being put together; ``whole`` when its arguments came as an object."""

    id: str = ""
    name: str = ""
    args: list[str] = field(factory=list)
    whole: bool = False

    @property
    def text(self) -> str:
        return "".join(self.args)

    @property
    def complete(self) -> bool:
        """Whether its arguments are a JSON object; only looked at where a server leaves it open."""
        if self.whole:
            return True
        try:
            return isinstance(read_json(self.text), dict)
        except ValueError:
            return False


@define(eq=False)
class Calls:
    """Collects the calls of one reply.

    OpenAI numbers its calls and repeats nothing. Others send no numbers, the number 0 for all, the name in
    every delta, a new id in every delta, or arguments as objects.
    """

    faults: ApiFaults
    _slots: list[_Slot] = field(factory=list)
    _by_index: dict[int, _Slot] = field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, entries: Json) -> None:
        """Take the ``tool_calls`` of a delta or a message.

        Raises:
            ModelError: they are no calls.
        """
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, dict):
                raise self.faults.odd(f"a tool call that is no object: {entry!r}")
            function = entry.get("function")
            function = function if isinstance(function, dict) else entry
            given = entry.get("id")
            self._take(_number(entry.get("index")), given if isinstance(given, str) else "", function)

    def add_legacy(self, function: Json) -> None:
        """Take a ``function_call``, the form that ``tool_calls`` replaced."""
        if not isinstance(function, dict):
            raise self.faults.odd(f"a function_call that is no object: {function!r}")
        self._take(0, "", function)

    def _take(self, index: int | None, given: str, function: dict[str, Json]) -> None:
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        slot = self._slot(index, given, name)
        slot.id = slot.id or given
        if name and name != slot.name:
            slot.name += name
        self._add_args(slot, function.get("arguments"))

    def _slot(self, index: int | None, given: str, name: str) -> _Slot:
        """Return the call that a delta belongs to, a new one where it begins one."""
        if index is not None:
            known = self._by_index.get(index)
        else:
            known = next((slot for slot in self._slots if given and slot.id == given), None)
            if known is None and self._slots:
                known = self._slots[-1]
        if known is not None and not _begins(known, index, given, name):
            return known
        slot = _Slot()
        self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _add_args(self, slot: _Slot, args: Json) -> None:
        if args is None:
            return
        if isinstance(args, str):
            slot.args.append(args)
        elif isinstance(args, dict):
            slot.args, slot.whole = [json.dumps(args, ensure_ascii=False)], True
        else:
            raise self.faults.odd(f"arguments of {slot.name or 'a call'} that are no object: {args!r}")

    def taken(self, ids: CallIds, *, cut: bool) -> list[Call] | ModelError:
        """Return the calls, or what is wrong with one; empty leftovers are no calls."""
        calls = []
        for slot in self._slots:
            name, text = clean_text(slot.name).strip(), slot.text
            if not name and not text.strip(" {}"):
                continue
            if not name and not cut:
                return self.faults.odd(f"a call without a name, with the arguments {text!r}")
            args = spelled_args(text, cut=cut)
            if name and args is not None:
                calls.append(Call(ids.take(slot.id), name, args))
        return calls


def _begins(known: _Slot, index: int | None, given: str, name: str) -> bool:
    """Whether a delta begins another call although it looks like more of ``known``."""
    if not name:
        # Without a name only an id can tell; servers that make one for each delta end no call that way.
        return False
    if given and known.id == given:
        return False
    if given and known.id:  # another id and a name: another call, unless this one is still being written
        return name != known.name or known.complete
    if name == known.name:
        return known.complete
    if index is None:
        return True
    return bool(known.text.strip())  # a name in two pieces has no arguments between them


def _number(value: Json) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None
