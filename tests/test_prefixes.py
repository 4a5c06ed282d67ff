"""Random conversations under random plugins: every request repeats the one before it, in any process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from tests.layout import ROOT
from tests.prefixes import PROTOCOLS, Theatre, begins, furnish, usable

EXAMPLES = examples(2000)
#: Every which plan is played once more in another process.
AGAIN = 1 if EXAMPLES >= 2000 else 3
#: Every which plan is played in two processes, the first of which is killed.
RELAYED = 8
#: Ways to retain state; as many as share no divisor with the protocols, so that all pairs occur.
RETENTIONS = ("auto", "auto", "auto", "replace")
#: Calls in one step, at most; a breakpoint of Anthropic's looks back over twenty blocks.
MOST_CALLS = 25

_words = st.text(st.sampled_from('ab<>/&"\\\n é🙂\x00\ud800 runtime-state'), max_size=12)
_call = st.one_of(
    st.just(("ping", {})),
    st.tuples(st.just("pay"), st.fixed_dictionaries({"euros": st.sampled_from([0, 7, 13, 60])})),
    st.tuples(st.just("web"), st.fixed_dictionaries({"page": _words})),
    st.tuples(st.just("fail"), st.fixed_dictionaries({"why": st.sampled_from(["crash", "no money"])})),
    st.tuples(st.just("picture"), st.fixed_dictionaries({"size": st.sampled_from([1, 5000])})),
    st.tuples(st.just("table"), st.fixed_dictionaries({"rows": st.integers(0, 40)})),
    st.tuples(st.sampled_from(["nope", "pay"]), st.sampled_from(["{", "", '{"euros": "x"}'])),
)
_calls = st.one_of(st.lists(_call, min_size=1, max_size=3), st.lists(_call, min_size=20, max_size=MOST_CALLS))
_acting = st.fixed_dictionaries({"calls": _calls}, optional={"text": _words, "thinking": _words})
_ending: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"text": st.sampled_from(["Done.", "Fine. <runtime-state>"])}),
    st.fixed_dictionaries({"text": st.just("Done."), "thinking": _words}),
    st.fixed_dictionaries({"error": st.sampled_from(["server", "auth"])}),
    st.just({}),
)
_retried = st.just({"error": "overloaded"})
_replies = st.tuples(st.lists(st.one_of(_acting, _acting, _retried), max_size=3), _ending).map(
    lambda pair: [*pair[0], pair[1]]
)
_turn = st.fixed_dictionaries({"text": _words.map("Hi {}".format), "replies": _replies})
_turns = st.lists(_turn, min_size=2, max_size=3)


def _casts() -> list[dict[str, Any]]:
    """Return what is on in a plan; the number is bounded: an application stays open for each."""
    everybody = usable()
    drawn = Random(EXAMPLES)  # noqa: S311  (the same sets in every run)
    sizes = [drawn.randint(1, min(6, len(everybody))) for _ in range(min(EXAMPLES // 5, 100))]
    sets = [[], ["state"], *(drawn.sample(everybody, size) for size in sizes)]
    sets += [[name] for name in everybody] if len(everybody) * len(PROTOCOLS) * 2 < EXAMPLES else []
    return [
        {
            "protocol": PROTOCOLS[place % len(PROTOCOLS)],
            "retention": RETENTIONS[place % len(RETENTIONS)],
            "plugins": names,
        }
        for place, names in enumerate(sets)
    ]


_plans = st.tuples(st.sampled_from(_casts()), _turns).map(lambda pair: {**pair[0], "turns": pair[1]})


def test_blocks_that_do_not_repeat_are_noticed() -> None:
    assert begins(["a", "b", "cd"], ["a", "b", "c"])
    assert not begins(["a", "b"], ["a", "b", "c"])
    assert not begins(["a", "x", "c"], ["a", "b", "c"])
    assert not begins(["a", "b", "dc"], ["a", "b", "c"])


def test_every_request_repeats_the_one_before_it_in_any_process(tmp_path: Path) -> None:
    furnish(tmp_path)
    played: list[tuple[dict[str, Any], str, int]] = []
    theatre = Theatre(tmp_path)

    with asyncio.Runner() as runner:

        @settings(max_examples=EXAMPLES)
        @given(_plans)
        def play(drawn: dict[str, Any]) -> None:
            plan = json.loads(json.dumps({**drawn, "number": len(played) + 1}))
            digest, problems, count = runner.run(theatre.play(plan))
            played.append((plan, digest or "-", count))
            assert problems == []

        try:
            play()
        finally:
            runner.run(theatre.stack.aclose())
    assert len(played) >= EXAMPLES
    assert sum(count for _, _, count in played) > 3 * EXAMPLES  # most plans had something to compare
    _same_with_another_hash_seed(played[::AGAIN])
    _same_after_a_restart([each for each in played if each[2]][::RELAYED], tmp_path)


def test_a_step_keeps_its_number_when_another_process_asks_for_it_again(tmp_path: Path) -> None:
    furnish(tmp_path)
    calls = [["ping", {}], ["ping", {}]]
    turn = {"text": "Hi", "replies": [{"calls": calls}, {"error": "overloaded"}, {}, {"text": "Done."}]}
    kind = {"protocol": "responses", "retention": "auto", "plugins": ["state"], "turns": [turn]}

    async def whole() -> tuple[str, list[str], int]:
        theatre = Theatre(tmp_path)
        async with theatre.stack:
            return await theatre.play({**kind, "number": 1})

    digest, problems, count = asyncio.run(whole())
    assert (problems, count) == ([], 4)
    for number in range(1, 1 + count):  # the third of them is empty, and recorded before the fourth
        plan = [{**kind, "number": number, "until": number}]
        assert _told("4711", plan, "tests.relay", str(tmp_path), "kill") == []
        assert _told("42", plan, "tests.relay", str(tmp_path), "go-on") == [digest], number


def _same_with_another_hash_seed(played: list[tuple[dict[str, Any], str, int]]) -> None:
    again = _told("4711", [plan for plan, _, _ in played], "tests.prefixes")
    assert [plan for (plan, mine, _), other in zip(played, again, strict=True) if mine != other] == []


def _same_after_a_restart(played: list[tuple[dict[str, Any], str, int]], folder: Path) -> None:
    """Play plans in a process that is killed at one of the requests, and one that goes on."""
    plans = [{**plan, "until": 1 + plan["number"] % count} for plan, _, count in played]
    assert _told("4711", plans, "tests.relay", str(folder), "kill") == []
    again = _told("42", plans, "tests.relay", str(folder), "go-on")
    wrong = [
        (plan, other) for plan, (_, mine, _), other in zip(plans, played, again, strict=True) if mine != other
    ]
    assert wrong == []


def _told(seed: str, plans: list[dict[str, Any]], module: str, *arguments: str) -> list[str]:
    """Return the lines that a process with another hash seed prints for plans."""
    seed = seed if os.environ.get("PYTHONHASHSEED") != seed else "815"
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        input="\n".join(map(json.dumps, plans)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()
