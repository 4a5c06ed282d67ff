"""Rules over lists: nobody gets past a rule by adding an item, nor has an added item allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakeful import Agent, action
from wakeful.testing import ScriptedModel, run_turn, say
from wakeful.types import Action, Json, Judgement, Verdict
from wakeful_policy import Condition, Rule
from wakeful_policy.rules import Rules

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
VERDICTS = [each.name.lower() for each in Verdict]


@action(effect="external", output_trust="trusted")
async def mail(to: list[str], copies: list[str] | None = None) -> str:
    """Mail."""
    return "sent"


@action(effect="read", output_trust="trusted")
async def look(to: list[str], copies: list[str] | None = None) -> str:
    """Look."""
    return "seen"


EVIL, OK = Condition(like="*@evil.com"), Condition(like="*@ok.com")
BOTH, OTHER = ["b@evil.com", "a@ok.com"], ["c@other.org", "a@ok.com"]


def judged(*rules: Rule, added: Any = (), action: Action = mail, **args: Json) -> Judgement:
    return Rules(rules, added).judgement(action, args, NOW)


def about(verdict: str, condition: Condition | None = None, **values: Any) -> Rule:
    return Rule(verdict, action="mail", args={"to": condition} if condition else {}, **values)


@pytest.mark.parametrize("verdict", VERDICTS[1:])
def test_one_item_suffices_for_a_stricter_verdict(verdict: str) -> None:
    rules = (about("allow"), about(verdict, EVIL))
    for to in (BOTH, BOTH[::-1], BOTH[:1], [BOTH], [[], BOTH]):
        assert judged(*rules, to=to).verdict is Verdict[verdict.upper()]
    assert judged(*rules, to=BOTH[1:]).verdict is Verdict.ALLOW


@pytest.mark.parametrize("verdict", VERDICTS[:-1])
def test_every_item_must_meet_a_rule_that_makes_it_milder(verdict: str) -> None:
    rules = (about("deny"), about(verdict, OK))
    for to in (OTHER, OTHER[::-1], [OTHER], [[], "a@ok.com"], []):
        assert judged(*rules, to=to).verdict is Verdict.DENY
    assert judged(*rules, to=["a@ok.com", "b@ok.com"]).verdict is Verdict[verdict.upper()]


def test_an_item_that_nobody_may_have_decided_alone_is_decided_by_approvers() -> None:
    asked = about("require_approval", asker_decides=True, assignee="eve")
    found = judged(asked, about("require_approval", EVIL), to=BOTH)
    assert (found.asker_decides, found.assignee) == (False, "")


def test_an_item_of_any_length_suffices_and_is_looked_through_in_time() -> None:
    rules = [about("deny", Condition(like=f"*evil{at}.com")) for at in range(20)]
    assert judged(about("allow"), *rules, to=["x" * 500_000 + "@evil7.com", "a"]).verdict is Verdict.DENY
    assert judged(about("allow"), *rules, to=["\ufdfa" * 8_000] * 40).verdict is Verdict.ALLOW


def test_what_a_rule_says_of_an_item_does_not_yield_to_another_plugin() -> None:
    found = judged(about("auto_review", EVIL), to=BOTH)
    assert (found.verdict, found.fallback) == (Verdict.REQUIRE_APPROVAL, False)
    assert judged(about("allow", OK), to=BOTH).fallback


def test_an_added_rule_cannot_relax_what_a_rule_of_the_file_denies_for_an_item() -> None:
    wide: dict[str, Json] = {"action": "mail", "verdict": "allow"}
    narrow = wide | {"args": {"to": {"like": "*"}}}
    for rule in (wide, narrow):
        more = [{"number": 1, "by": "ana", "rule": rule}]
        assert judged(about("deny", EVIL), added=more, to=BOTH).verdict is Verdict.DENY
        assert judged(about("deny", EVIL), added=more, to=OTHER).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("verdict", "is_given", "value", "counts"),
    [
        ("deny", True, [""], True),
        ("deny", False, [""], True),
        ("deny", False, [], True),
        ("deny", False, ["", "a"], False),
        ("allow", True, [""], False),
        ("allow", False, [""], False),
        ("allow", True, ["", "a"], True),
        ("allow", False, [], True),
    ],
)
def test_empty_items_never_help(verdict: str, value: Json, *, is_given: bool, counts: bool) -> None:
    other = {"deny": "allow", "allow": "deny"}[verdict]
    rules = (about(other), about(verdict, Condition(given=is_given)))
    assert judged(*rules, to=value).verdict is Verdict[(verdict if counts else other).upper()]


ADDRESSES = st.sampled_from(("b@evil.com", "a@ok.com", "5"))
TO = st.lists(ADDRESSES, min_size=1, max_size=3)
TERMS = st.sampled_from((EVIL, OK, Condition(one_of=("a@ok.com", "5")), Condition(above=3)))
RULES = st.builds(
    Rule,
    st.sampled_from(VERDICTS),
    args=st.fixed_dictionaries({"to": TERMS}, optional={"copies": TERMS}) | st.just({}),
    when=st.sampled_from(((), ("Sat 00:00-24:00",))),
)
WRITTEN = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(VERDICTS),
        "args": st.sampled_from(({"to": {"like": "*@evil.com"}}, {"to": {"like": "*@ok.com"}}, {})),
    }
)


@given(
    st.lists(RULES, min_size=1, max_size=4),
    st.lists(WRITTEN, max_size=1),
    TO,
    TO,
    TO,
    st.sampled_from((mail, look)),
)
def test_adding_items_never_makes_a_verdict_milder(
    rules: list[Rule],
    written: list[Json],
    to: list[str],
    copies: list[str],
    more: list[str],
    action: Action,
) -> None:
    added = [{"number": at, "rule": each, "by": "ana"} for at, each in enumerate(written, 1)]
    before = judged(*rules, added=added, action=action, to=to, copies=copies)
    for args in ({"to": [*to, *more], "copies": copies}, {"to": [*more, *to], "copies": [*copies, *more]}):
        after = judged(*rules, added=added, action=action, **args)
        assert after.verdict >= before.verdict
        assert after.fallback <= before.fallback or before.verdict is Verdict.ALLOW


NUMBERS = (
    st.sampled_from(
        (0, 0.0, -0.0, 5, 5.0, 0.1, 2**53, 2.0**53, 2**53 + 1, 10**20, 1e20, 10**23, 1e23, 10**400)
    )
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(value=NUMBERS, named=NUMBERS, spelled=st.booleans())
def test_numbers_that_are_equal_are_equal_however_they_are_written(
    value: float, named: float, *, spelled: bool
) -> None:
    for one, other in ((value, named), (named, value), (value, value), (named, named)):
        condition = Condition(one_of=(str(other),)) if spelled else Condition(equals=other)
        found = judged(Rule("deny", args={"amount": condition}), action=look, amount=one)
        assert (found.verdict is Verdict.DENY) is (Decimal(str(one)) == Decimal(str(other)))


@pytest.fixture
def funded() -> list[Any]:
    """What was done."""
    return []


@pytest.fixture
def fund(funded: list[Any]) -> Callable[[str], list[str]]:
    """Let an agent make a call with arguments as its model writes them, and return how it ends."""

    @action(effect="external", output_trust="trusted")
    async def fund(amount: float = 0, to: list[str] | None = None) -> str:
        """Fund."""
        funded.append((amount, to))
        return "ok"

    rules = [
        {"action": "fund", "verdict": "allow"},
        {"action": "fund", "args": {"amount": {"equals": 5}}, "verdict": "deny"},
        {"action": "fund", "args": {"to": {"like": "*@evil.com"}}, "verdict": "deny"},
    ]

    def call(args: str) -> list[str]:
        model = ScriptedModel([say(calls=[("fund", json.loads(args))]), "Done."])
        agent = Agent(
            name="desk",
            model=model,
            actions=[fund],
            plugins=["policy"],
            settings={"policy": {"rules": rules}},
        )
        return [each.result.code for each in run_turn(agent, "Go").calls]

    return call


@pytest.mark.parametrize(
    "args",
    ['{"amount": 5}', '{"amount": 5.0}', '{"to": ["b@evil.com"]}', '{"to": ["b@evil.com", "a@ok.com"]}'],
)
def test_a_model_gets_past_a_rule_neither_by_spelling_nor_by_items(
    fund: Callable[[str], list[str]], funded: list[Any], args: str
) -> None:
    assert fund(args) == ["POLICY_DENIED"]
    assert funded == []
    assert fund('{"amount": 6}') == ["SUCCESS"]
