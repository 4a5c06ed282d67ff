"""Where values came from: each has a mark, only whole words are the user's, and finding out ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from wakeful.testing import FakeClock
from wakeful.types import (
    AgentView,
    Call,
    Declared,
    Epoch,
    Invocation,
    Json,
    Limits,
    Profile,
    Provenance,
    Row,
    RowKind,
    Run,
    RunStatus,
    Text,
    Trust,
)
from wakeful.types.words import in_line
from wakeful_policy.approvals import origins as module
from wakeful_policy.approvals.origins import origins

Marks = dict[str, dict[str, Json]]


def run(said: str, *read: tuple[str, Trust]) -> Run:
    """Make a run: what the user said, and what was read since."""
    rows = [Row(1, RowKind.USER, (Text("user", said),), "r", 1)]
    for text, trust in read:
        source = f"action:Read {len(rows)}"
        rows.append(Row(len(rows) + 1, RowKind.RESULT, (Text("user", text),), "r", 1, 1, trust, source))
    return Run(
        id="r",
        agent=AgentView("desk", "scripted:x", Profile("scripted", "x", 100_000), Limits()),
        conversation="c",
        user="ana",
        turn=1,
        step=1,
        now=FakeClock().now(),
        secret="s",
        status=RunStatus.RUNNING,
        epoch=Epoch(1, "", Declared("scripted:x", (), ())),
        rows=tuple(rows),
    )


def marks(of: Run, args: Json, *provenance: Provenance) -> Marks:
    call = Invocation("r/1/0", Call("k", "pay", ""), 0, 0, "pay", args, provenance=provenance)
    found = origins(of, call)
    assert len({each["argument"] for each in found}) == len(found)
    return {each["argument"]: each for each in found}


def came(of: Run, value: Json) -> str:
    return str(marks(of, {"to": value})["to"]["from"])


def test_each_value_has_a_mark_of_its_own_whatever_its_names_are() -> None:
    args = {"data": {"a": {"b": "DE-EVIL-666"}, "a.b": "50", "c[0]": "50", "c": ["x"], "": "50"}}
    found = {path: each["from"] for path, each in marks(run("Pay 50"), args).items()}
    assert found == {
        "data.a.b": "model",
        'data["a.b"]': "user",
        'data["c[0]"]': "user",
        "data.c[0]": "model",
        'data[""]': "user",
    }


def test_of_equal_paths_the_worst_mark_counts() -> None:
    of = run("Pay 50", ("DE-EVIL-666", Trust.UNTRUSTED))
    for args in (
        {"data": {"a": "DE-EVIL-666"}, "data.a": "50"},
        {"data.a": "50", "data": {"a": "DE-EVIL-666"}},
    ):
        assert marks(of, args)["data.a"]["from"] == "outside"


def test_a_reference_marks_its_argument_whatever_its_name_is() -> None:
    (mark,) = marks(run("Pay"), {"a.b": "x"}, Provenance("a.b", "shelf.x", Trust.UNTRUSTED, "a\nb")).values()
    assert (mark["from"], mark["source"]) == ("reference", "a\\nb")


def test_names_and_sources_cannot_pass_for_words_of_the_card() -> None:
    hidden = "x\n  to = 5  (from the user's words)\u202e"
    (path,) = marks(run("Pay 50"), {"data": {hidden: "50"}})
    assert path == 'data["x\\n  to = 5  (from the user\'s words)\\u202e"]'
    of = run("Pay", ("DE-1", Trust.UNTRUSTED))
    source = "a, trusted; b: from the user's words\u2028"
    of = evolve(of, rows=(*of.rows[:-1], evolve(of.rows[-1], source=source)))
    assert marks(of, {"to": "DE-1"})["to"]["source"] == '"a, trusted; b: from the user\'s words\\u2028"'


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Write to jean.bob@x.com", "bob@x.com"),
        ("Look at not-evil.com", "evil.com"),
        ("Look at https://bank.com.login.ru/x", "https://bank.com"),
        ("Look at https://bank.com/?next=evil.com", "https://bank.com/"),
        ("Write to bob@x.com.ru", "bob@x.com"),
        ("Pay 1,050", "50"),
        ("Pay 50.25", 50),
        ("Pay -50", 50),
        ("Pay .50", 50),
        ("Pay 50\u2044100", 50),
        ("File a_b", "a"),
        ("File e\u0301t", "e"),
        ("See evil.com\u200b.ru", "evil.com"),
        ("See x" + "/" * 30 + "evil.com", "evil.com"),
        ("Pay 50 000", "50"),
        ("Pay 50 000", "000"),
        ("Pay 12 050 000", "12 050"),
        ("Ask ana@bob", "bob"),
        ("Look at stra\u00dfe.de", "strasse.de"),
        ("Look at bank.com/a", "bank.com/A"),
    ],
)
def test_a_part_of_what_the_user_said_is_not_what_the_user_said(said: str, value: Json) -> None:
    assert came(run(said), value) == "model"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Write to bob@x.com.", "bob@x.com"),
        ("Write to <Bob@X.com>, please", "bob@x.com"),
        ("Look at 'https://bank.com/': is it up?", "https://bank.com/"),
        ("Ends so: evil.com...", "evil.com"),
        ("Pay 50, then 60", 50),
        ("Pay 50.- to (ana)", 50),
        ("a.b and a", "a"),
        ("Ask @bob", "bob"),
        ("- ana\n- bob", "ana"),
        ("!!!", "!!!"),
        ("Pay 50 000", "50 000"),
        ("50", 50),
        ("Pay 50", 50.0),
        ("Pay 50.00", 50),
        ("Ask the cafe\u0301", "caf\u00e9"),
        ("Ask jean\nbob", "jean bob"),
        ("Look at HTTPS://Bank.com/Path", "https://bank.com/Path"),
    ],
)
def test_what_stands_as_a_whole_is_the_users(said: str, value: Json) -> None:
    assert came(run(said), value) == "user"


PARTS = st.text(alphabet="ab1", min_size=1, max_size=3)
#: A colon says what follows ("to:bob"), between digits as in links it is told by what stands around.
SIGNS = st.text(alphabet=".-_@/", min_size=1, max_size=3)
NAME = st.builds("".join, st.tuples(PARTS, SIGNS, PARTS))


@given(NAME, PARTS, SIGNS, st.booleans())
def test_a_value_that_goes_on_in_the_users_words_is_not_theirs(
    value: str, more: str, sign: str, before: bool
) -> None:
    longer = f"x{more}{sign}{value}" if before else f"{value}{sign}{more}"
    if value not in longer.replace(value, "", 1):
        assert came(run(f"Go to ({longer}) now"), value) == "model"


@given(NAME, st.sampled_from([" ", "\n", "(", '"', "<", "; "]), st.sampled_from([" ", ".", "?\n", ")", ", "]))
def test_a_value_between_blanks_and_punctuation_is_the_users(value: str, before: str, after: str) -> None:
    assert came(run(f"Go to{before}{value}{after}"), value) == "user"


def test_the_worst_of_what_was_read_is_named_and_a_part_of_it_counts() -> None:
    read = [("DE-1", Trust.UNTRUSTED), ("DE-1", Trust.SEMI_TRUSTED), ("x/DE-1/y", Trust.UNTRUSTED)]
    assert marks(run("Pay", *read), {"to": "de-1"})["to"] == {
        "argument": "to",
        "from": "outside",
        "source": "action:Read 3",
        "trust": "untrusted",
        "row": 4,
    }
    assert came(run("Pay", ("to DE-1", Trust.TRUSTED)), "DE-1") == "conversation"
    assert came(run("Pay", ("to DE-1.5", Trust.TRUSTED)), "DE-1") == "model"


def test_what_counts_as_another_word_for_the_user_may_still_come_from_outside() -> None:
    of = run("Ask stra\u00dfe.de or bank.com/a", ("STRASSE.de and bank.com/A", Trust.UNTRUSTED))
    assert [came(of, value) for value in ("strasse.de", "bank.com/A", "stra\u00dfe.de")] == [
        "outside",
        "outside",
        "user",
    ]


def test_a_name_that_is_a_part_of_the_users_counts_as_held_from_outside() -> None:
    of = run("Ask jean.bob@x.com", ("bob@x.com, code-4711x", Trust.UNTRUSTED))
    found = marks(of, {"to": "Dear bob@x.com of de-4711, or 4711x", "body": "Hi"})
    assert found["to"]["holds"] == ["bob@x.com", "de-4711", "4711x"]
    assert found["body"]["from"] == "model"
    assert found["body"]["after"]["source"] == "action:Read 1"


ROWS: dict[str, Callable[[int], str]] = {
    "words": lambda _: "lorem ipsum " * 20_000,
    "the same": lambda n: " ".join(f"customer-{i:06d}" for i in range(n)) + " lorem" * 40_000,
    "others": lambda _: " ".join(f"client-{i:06d}" for i in range(17_000)),
    "letters": lambda _: "a-" * 120_000,
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("value", ["customer-{:06d}", "a-{:06d}", "-a-{:06d}-a"])
def test_many_values_are_found_in_long_texts(row: Callable[[int], str], value: str) -> None:
    of, args = run("Go", (row(1_200), Trust.UNTRUSTED)), {"ids": [value.format(i) for i in range(1_200)]}
    found = marks(of, args)
    assert found["ids[0]"]["from"] in {"model", "outside"}


def test_values_that_are_not_looked_for_are_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORK", 250)
    found = marks(run("a b c d"), {"x": ["a", "b", "c", "d"], "y": "d", "z": "a"})
    assert [found[path]["from"] for path in ("x[0]", "x[1]", "z")] == ["user", "user", "user"]
    assert found["x[2] and 1 more"] == {
        "argument": "x[2] and 1 more",
        "from": "unknown",
        "source": "too much to look for",
        "trust": "unknown",
    }
    assert found["y"]["from"] == "unknown"


@given(st.text())
def test_a_text_in_a_line_stays_in_it_and_shows_all_of_itself(text: str) -> None:
    shown = in_line(text)
    assert len(shown.splitlines()) <= 1
    assert not any(each in shown for each in "\t\x1b\x9b\u200b\u202e\u2066\ufeff\U000e0041")
    assert in_line(shown) == shown


def test_a_text_that_hides_nothing_is_shown_as_it_is() -> None:
    text: Any = 'Grüße, "naïve" \\n 你好 🙂'
    assert in_line(text) == text
