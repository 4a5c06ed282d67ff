"""Path rules and changes, against a slow reference, and at their edges."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.agents.tests import slow
from tests.counts import examples
from wakeful.types import Trust, canonical
from wakeful_agents.payload.changes import Change, apply
from wakeful_agents.payload.held import Held, Mark
from wakeful_agents.payload.paths import (
    EVERYWHERE,
    MISSING,
    OPERATIONS,
    PathError,
    Rule,
    look,
    parse_path,
    spell,
)

NAMES = ["a", "b", "_c", "d"]
leaves = st.sampled_from([None, True, 0, 1, 1.5, "x", ""])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
places = st.lists(st.sampled_from([*NAMES, 0, 1, 2]), max_size=4).map(tuple)
patterns = st.lists(st.sampled_from([*NAMES, "*", "**", "[*]", "[0]", "[1]"]), min_size=1, max_size=4)
operations = st.sets(st.sampled_from(OPERATIONS))


def rule(pattern: list[str], allowed: set[str]) -> Rule:
    text = "".join(part if part.startswith("[") else f".{part}" for part in pattern).lstrip(".")
    return Rule.parse(text + (":" + ",".join(sorted(allowed)) if allowed else ""))


@settings(max_examples=examples(10_000))
@given(patterns, places)
def test_a_rule_covers_what_the_slow_one_covers(pattern: list[str], place: tuple[str | int, ...]) -> None:
    assert rule(pattern, set()).covers(place, "add") is slow.covers(pattern, place)


@st.composite
def batches(draw: Any) -> tuple[Any, list[tuple[str, tuple[Any, ...], Any]]]:
    document = draw(documents)
    known = list(slow.everything(document))
    anywhere = st.sampled_from(known) | st.tuples(st.sampled_from(known), places).map(
        lambda p: (*p[0], *p[1][:1])
    )
    kinds = st.sampled_from(["new", "update", "replace", "remove"])
    return document, draw(st.lists(st.tuples(kinds, anywhere, documents), min_size=1, max_size=3))


@settings(max_examples=examples(8_000))
@given(batches(), st.lists(st.tuples(patterns, operations), max_size=3), st.booleans())
def test_a_batch_does_what_the_slow_one_does(
    batch: tuple[Any, list[Any]], rules: list[tuple[list[str], set[str]]], everywhere: bool
) -> None:
    document, wanted = batch
    before = copy.deepcopy(document)
    compiled = [EVERYWHERE] if everywhere else [rule(*each) for each in rules]
    patterns = [(["**"], set())] if everywhere else rules
    expected, fine = document, True
    for kind, place, value in wanted:
        after = slow.change(expected, kind, place, value)
        if after is slow.NOTHING:
            whole = not place and kind == "remove" and expected is not slow.NOTHING
            fine = False if not whole else fine
            if whole:  # nothing is left; a later change may begin anew, which is not compared
                return
            continue
        for each, operation in slow.touched(expected, after, kind, place):
            fine = fine and any(
                operation in (allowed or OPERATIONS) and slow.covers(pattern, each)
                for pattern, allowed in patterns
            )
        expected = after
        if not fine:
            break
    applied = apply(document, [Change(*each) for each in wanted], compiled)
    assert canonical(document) == canonical(before)
    assert bool(applied.refused) is not fine
    assert canonical(applied.document) == canonical(expected if fine else before)


@settings(max_examples=examples(2000))
@given(st.lists(st.text(max_size=6) | st.integers(0, 99), max_size=5))
def test_a_path_is_read_as_it_is_spelled(parts: list[str | int]) -> None:
    assert parse_path(spell(parts)) == tuple(parts)


@pytest.mark.parametrize(
    "text", [".a", "a..b", "a[", "a[x]", "a b", "*", "a.*", "**", "a[-1]", '["x]', "a[*]"]
)
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(PathError):
        parse_path(text)


@pytest.mark.parametrize("text", ["a:write", ":add", "", "a:", "a[+]", "a..b:add"])
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(PathError):
        Rule.parse(text)


def test_a_colon_in_a_quoted_name_is_part_of_it() -> None:
    assert Rule.parse('["a:b"]:add').covers(("a:b",), "add")


def test_nothing_is_applied_in_part() -> None:
    document: Any = {"orders": [{"total": 5}], "_secret": 1}
    changes = [Change("update", ("orders", 0), {"total": 6}), Change("replace", ("_secret",), 2)]
    applied = apply(document, changes, [EVERYWHERE])
    assert applied.document is document
    assert applied.document["orders"][0]["total"] == 5
    assert applied.refused == ("replace _secret: this agent may not update that place",)


def test_a_hidden_name_is_not_brought_in_inside_a_value() -> None:
    applied = apply({}, [Change("new", ("a",), {"b": {"_c": 1}})], [EVERYWHERE])
    assert applied.refused == ("new a: this agent may not add that place (it would add a.b._c)",)


def test_what_counts_is_what_changes() -> None:
    document = {"customer": {"name": "Ada", "city": "London"}}
    rules = [Rule.parse("customer.name:update")]
    same = Change("replace", ("customer",), {"name": "Eve", "city": "London"})
    assert apply(document, [same], rules).document["customer"]["name"] == "Eve"
    assert apply(document, [Change("replace", ("customer",), {"name": "Eve"})], rules).refused


def test_trust_stays_with_what_it_was_written_for() -> None:
    document: Any = {"list": ["ours", "theirs"], "customer": {"name": "Ada", "note": "theirs"}}
    marks = (Mark(("list", 1), Trust.UNTRUSTED, "web"), Mark(("customer", "note"), Trust.UNTRUSTED, "web"))
    changes = [Change("remove", ("list", 0)), Change("update", ("customer",), {"name": "Eve"})]
    applied = apply(document, changes, [EVERYWHERE])
    after = Held(document, marks).written(applied.document, applied.touched, Trust.TRUSTED, "", applied.moved)
    assert after.document["list"] == ["theirs"]
    assert after.trust(("list", 0)) is Trust.UNTRUSTED
    assert after.trust(("customer", "note")) is Trust.UNTRUSTED
    assert after.trust(("customer", "name")) is Trust.TRUSTED
    again = apply(after.document, [Change("replace", ("customer", "note"), "ours")], [EVERYWHERE])
    assert after.written(again.document, again.touched, Trust.TRUSTED, "").trust(("customer",)) == 0


def test_appending_and_beginning_from_nothing() -> None:
    first = apply(MISSING, [Change("new", ("log",), [])], [EVERYWHERE]).document
    more = [Change.parse({"op": "new", "path": "log[+]", "value": n}) for n in (1, 2)]
    assert apply(first, more, [EVERYWHERE]).document == {"log": [1, 2]}
    assert look({"log": [1]}, ("log", 1)) is MISSING


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"op": "add", "path": "a", "value": 1}, "unknown op 'add'"),
        ({"op": "new", "path": 3, "value": 1}, "expected a path as text"),
        ({"op": "new", "path": "a"}, "the value is missing"),
    ],
)
def test_what_is_no_change(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(PathError, match=said):
        Change.parse(raw)
