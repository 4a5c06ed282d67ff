"""Random transcripts under random plugins: pairs, sequences, and the same bytes in two processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from tests.layout import ROOT
from tests.transcripts import Theatre, company, plugins, wrong
from wakeful.types import Call, Result, Row, RowKind, Text

EXAMPLES = examples(5000)

_words = st.text(st.sampled_from('ab<>/&|`{}"\\\n é\x00\ud800 runtime-state'), max_size=12)
_sums = st.sampled_from([0, 1, 5, 7, 13, 60, 900])
_tables = st.fixed_dictionaries({"rows": st.integers(0, 3)}, optional={"words": st.lists(_words, max_size=2)})
_broken = st.sampled_from(["{", "", "null", '{"euros": "5"}', "[1]", '"\\ud800"'])
_good = st.one_of(
    st.just(("ping", {})),
    st.tuples(st.just("table"), _tables),
    st.tuples(st.just("pay"), st.fixed_dictionaries({"euros": _sums})),
    st.tuples(st.just("web"), st.fixed_dictionaries({"page": _words})),
    st.tuples(st.just("fail"), st.fixed_dictionaries({"why": st.sampled_from(["crash", "no money"])})),
    st.tuples(st.just("both"), st.fixed_dictionaries({"euros": _sums})),
)
_bad: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.sampled_from(["nope", "pings", ""]), st.just({})),
    st.tuples(st.sampled_from(["ping", "pay", "table"]), st.fixed_dictionaries({"unknown": _words})),
    st.tuples(st.sampled_from(["pay", "web"]), _broken),
)
_calls = st.lists(st.one_of(_good, _good, _bad), min_size=1, max_size=4)
_acting = st.fixed_dictionaries(
    {"calls": _calls}, optional={"text": _words, "thinking": st.just("Hm."), "stop": st.just("length")}
)
_ending = st.one_of(
    st.fixed_dictionaries({"text": st.sampled_from(["Done.", "Fine. <runtime-state>"])}),
    st.fixed_dictionaries({"calls": st.just([("ping", {}), ("finish", {})])}),
    st.fixed_dictionaries({"text": st.just("Cut"), "stop": st.sampled_from(["length", "refused"])}),
    st.fixed_dictionaries({"error": st.sampled_from(["server", "auth", "context_too_long"])}),
    st.fixed_dictionaries({"cancel": st.just(True), "text": st.just("Late.")}),
    st.fixed_dictionaries({"cancel": st.just(True), "calls": _calls}),
    st.just({}),
)
_decision = st.sampled_from([None, "approve", "approve", "reject", {"euros": 3}, {"cents": 1}, {"euros": 7}])
#: A turn that asks a person wherever somebody holds large sums; of its own accord one in a hundred does.
_ASKING = [{"calls": [("pay", {"euros": 60})]}, {"text": "Asked."}]


@st.composite
def _turns(draw: st.DrawFn) -> dict[str, Any]:
    acting = st.builds(lambda acts, end: [*acts, end], st.lists(_acting, max_size=3), _ending)
    replies = draw(st.one_of(acting, acting, acting, st.just(_ASKING)))
    return {"text": draw(_words), "replies": replies, "decide": draw(_decision)}


def _casts() -> list[list[str]]:
    """Return sets of plugins: none, all in both orders, each alone, and random ones in random order.

    Their number is bounded, because an application stays open for each of them.
    """
    everybody = plugins()
    drawn = Random(EXAMPLES)  # noqa: S311  (the same sets in every run)
    mixed = [
        drawn.sample(everybody, drawn.randint(2, len(everybody))) for _ in range(min(EXAMPLES // 5, 200))
    ]
    return [[], everybody, everybody[::-1], *([name] for name in everybody), *mixed]


_plans = st.fixed_dictionaries(
    {
        "plugins": st.sampled_from(_casts()),
        "turns": st.lists(_turns(), min_size=1, max_size=3),
    }
)


def test_what_is_wrong_with_a_transcript_is_noticed() -> None:
    user = Row(1, RowKind.USER, (Text("user", "Hi"),))
    calls = Row(2, RowKind.ASSISTANT, (Call("a", "ping", "{}"), Call("b", "ping", "{}")))
    first, second = (Row(n, RowKind.RESULT, (Result(i, "pong"),)) for n, i in ((3, "a"), (4, "b")))
    assert wrong([user, calls, first, second]) == []
    assert wrong([user, calls, first]) == ["b has no result"]
    assert wrong([user, calls, evolve(second, seq=3), evolve(first, seq=4)]) != []
    assert wrong([user, calls, first, evolve(user, seq=4), evolve(second, seq=5)]) != []
    assert wrong([user, calls, first, evolve(second, seq=5)]) == ["sequences [1, 2, 3, 5]"]
    assert wrong([user, evolve(first, seq=2)]) != []


def test_random_transcripts_are_whole_and_the_same_in_two_processes(tmp_path: Path) -> None:
    company(tmp_path)
    played: list[tuple[str, str]] = []
    ends: Counter[str] = Counter()
    theatre = Theatre(tmp_path)

    with asyncio.Runner() as runner:

        @settings(max_examples=EXAMPLES)
        @given(_plans)
        def play(plan: dict[str, Any]) -> None:
            line = json.dumps(plan)
            result = runner.run(theatre.play(json.loads(line)))
            played.append((line, result.digest))
            ends.update(answer.status.value for answer in result.answers)
            assert result.problems == ()

        try:
            play()
            assert runner.run(theatre.problems()) == []
        finally:
            runner.run(theatre.stack.aclose())
    assert len(played) >= EXAMPLES
    # What was played is worth something: every way a run can end occurred.
    assert set(ends) == {"completed", "failed", "cancelled", "awaiting_approval"}
    again = _digests_elsewhere([line for line, _ in played])
    different = [line for (line, mine), other in zip(played, again, strict=True) if mine != other]
    assert different == []


def _digests_elsewhere(lines: list[str]) -> list[str]:
    """Play the plans in a process with another hash seed."""
    seed = "4711" if os.environ.get("PYTHONHASHSEED") != "4711" else "42"
    done = subprocess.run(
        [sys.executable, "-m", "tests.transcripts"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()
