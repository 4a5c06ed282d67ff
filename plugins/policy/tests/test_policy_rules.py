"""Which rule counts, what windows do, and what holds without a rule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from wakeful import action
from wakeful.config import structure
from wakeful.types import Action, ConfigError, Json, Judgement, Verdict
from wakeful_policy import Condition, PolicySettings, Rule
from wakeful_policy.rules import Rules
from wakeful_policy.windows import is_open, next_open, parse

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)  # a Wednesday


@action(effect="external", output_trust="trusted", category="mail")
async def send_email(to: str, euros: int = 0) -> str:
    """Send."""
    return to


@action(effect="read", output_trust="trusted")
async def look(name: str) -> str:
    """Look."""
    return name


def judged(*rules: Rule, action: Action = send_email, now: datetime = NOW, **args: Json) -> Judgement:
    return Rules(rules).judgement(action, args or {"to": "ana"}, now)


ALLOW, DENY, ASK = (Rule(each) for each in ("allow", "deny", "require_approval"))


def rule(verdict: str, **values: Any) -> Rule:
    return Rule(verdict, **values)


@pytest.mark.parametrize(
    ("looser", "closer"),
    [
        ({}, {"effect": "external"}),
        ({"effect": "external"}, {"category": "mail"}),
        ({"category": "mail"}, {"action": "send_*"}),
        ({"action": "send_*"}, {"action": "send_email"}),
        ({"action": "send_email"}, {"action": "Send Email", "args": {"to": Condition(equals="ANA")}}),
    ],
)
def test_the_more_specific_rule_counts(looser: dict[str, Any], closer: dict[str, Any]) -> None:
    for first, second in (("deny", "allow"), ("allow", "deny")):
        rules = (rule(first, **looser), rule(second, **closer))
        for order in (rules, rules[::-1]):
            assert judged(*order).verdict is Verdict[second.upper()]


def test_of_rules_alike_the_stricter_counts() -> None:
    assert (
        judged(rule("allow", action="send_email"), rule("deny", action="send email")).verdict is Verdict.DENY
    )


@pytest.mark.parametrize(
    ("condition", "value", "meets"),
    [
        (Condition(like="*@example.com"), "Ana@Example.com", True),
        (Condition(like="*@example.com"), "ana@example.com.evil.org", False),
        (Condition(above=100), 101, True),
        (Condition(above=100), "100", False),
        (Condition(above=100), "much", False),
        (Condition(above=100), "100.00000000000000000000001", True),
        (Condition(above=0.1), "0.1", False),
        (Condition(below=0.1), "0.0999999999999999999999", True),
        (Condition(above=2**53), str(2**53 + 1), True),
        (Condition(above=2**53 + 1), 2**53 + 1, False),
        (Condition(above=100), "1e9999999999999999999", True),
        (Condition(above=0), True, False),
        (Condition(equals="ana@x.com"), " ana@x.com\n", True),
        (Condition(equals="ana@x.com"), "ana@x\u200b.com", True),
        (Condition(one_of=("jos\u00e9",)), "jose\u0301", True),
        (Condition(like="*@x.com"), "\uff41na@X.com ", True),
        (Condition(equals="ana@x.com"), "ana@x.co", False),
        (Condition(below=5, above=1), 3, True),
        (Condition(one_of=("r", "w")), "W", True),
        (Condition(equals=7), "7", True),
        (Condition(equals=5), 5.0, True),
        (Condition(equals=5.0), 5, True),
        (Condition(equals="5"), 5.0, True),
        (Condition(equals="5"), "5.0", False),
        (Condition(equals=1), True, False),
        (Condition(equals="true"), True, True),
        (Condition(equals="five"), 5, False),
        (Condition(equals=5), "snan", False),
        (Condition(equals="nan"), float("nan"), False),
        (Condition(one_of=("4", "5")), 5.0, True),
        (Condition(one_of=("1",)), True, False),
        (Condition(equals=1e20), 10**20, True),
        (Condition(equals=1e23), 10**23, True),
        (Condition(equals=2**53 + 1), 2.0**53, False),
        (Condition(equals="0.10"), 0.1, True),
        (Condition(like="5"), 5.0, True),
        (Condition(like="5.0"), 5, True),
        (Condition(given=False), None, True),
        (Condition(given=True), "", False),
        (Condition(like="*"), None, False),
    ],
)
def test_conditions_on_arguments(condition: Condition, value: Json, *, meets: bool) -> None:
    found = judged(rule("deny", args={"x": condition}), action=look, x=value)
    assert (found.verdict is Verdict.DENY) is meets


def test_numbers_beyond_what_a_float_holds_are_compared_too() -> None:
    deny = rule("deny", args={"x": Condition(above=100)})
    assert [judged(deny, action=look, x=x).verdict for x in (10**400, str(10**400))] == [Verdict.DENY] * 2
    assert judged(deny, action=look, x=-(10**400)).verdict is Verdict.ALLOW


@pytest.mark.parametrize("to", [" ana", "ana ", "an\u200ba", "\uff41na"])
def test_what_only_looks_like_a_named_text_is_allowed_nothing(to: str) -> None:
    rules = (ASK, rule("allow", args={"to": Condition(equals="ana")}))
    assert judged(*rules, to="ana").verdict is Verdict.ALLOW
    assert judged(*rules, to=to).verdict is Verdict.REQUIRE_APPROVAL


def test_an_argument_that_is_left_out_gets_its_default_past_no_rule() -> None:
    @action(effect="read")
    async def fund(euros: int = 5_000, to: str = "ana") -> str:
        """Fund."""
        return to

    much, ana = {"euros": Condition(above=1_000)}, {"to": Condition(equals="ana")}
    assert judged(rule("deny", args=much), action=fund, to="bob").verdict is Verdict.DENY
    assert judged(rule("deny", args=much), action=fund, euros=5).verdict is Verdict.ALLOW
    assert judged(ASK, rule("allow", args=ana), action=fund, euros=5).verdict is Verdict.REQUIRE_APPROVAL
    given = {"euros": Condition(given=True)}
    assert judged(rule("deny", args=given), action=fund, to="bob").verdict is Verdict.ALLOW


def test_without_a_rule_only_what_reaches_outside_needs_a_person() -> None:
    assert judged(action=look).verdict is Verdict.ALLOW
    found = judged()
    assert (found.verdict, found.fallback) == (Verdict.REQUIRE_APPROVAL, True)


def test_outside_of_its_window_a_rule_defers_and_says_until_when() -> None:
    hours = rule("allow", action="send_email", when=("Mon-Fri 09:00-17:00",), time_zone="Europe/Zurich")
    assert judged(hours).verdict is Verdict.ALLOW
    late = judged(hours, now=datetime(2026, 3, 6, 16, 30, tzinfo=UTC))  # Friday 17:30 in Zurich
    assert (late.verdict, late.code) == (Verdict.DEFER, "POLICY_DEFERRED")
    assert "2026-03-09 09:00 (Europe/Zurich)" in late.reason


def test_a_window_may_pass_midnight_and_the_change_of_clocks() -> None:
    night = [parse("Sat 22:00-06:00")]
    assert is_open(night, datetime(2026, 3, 28, 23, 0, tzinfo=UTC), "UTC")
    assert is_open(night, datetime(2026, 3, 29, 5, 59, tzinfo=UTC), "UTC")
    assert not is_open(night, datetime(2026, 3, 29, 6, 0, tzinfo=UTC), "UTC")
    day = [parse("08:00-18:00")]
    before, after = datetime(2026, 3, 28, 7, 30, tzinfo=UTC), datetime(2026, 3, 29, 6, 30, tzinfo=UTC)
    assert is_open(day, before, "Europe/Zurich")
    assert is_open(day, after, "Europe/Zurich")
    assert not is_open(day, before.replace(hour=6), "Europe/Zurich")
    following = next_open(day, datetime(2026, 3, 28, 20, 0, tzinfo=UTC), "Europe/Zurich")
    assert following.isoformat() == "2026-03-29T08:00:00+02:00"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"verdict": "alow"}, "did you mean 'allow'"),
        ({"verdict": "auto_review", "confidence": 85}, "did you mean 0.85?"),
        ({"verdict": "allow", "when": ["Mon-Fri 9-5"]}, "expected e.g. 'Mon-Fri 09:00-17:00'"),
        ({"verdict": "allow", "when": ["Mo-Xy 09:00-17:00"]}, "names a day"),
        ({"verdict": "allow", "time_zone": "Zurich"}, "expected e.g. 'Europe/Zurich'"),
        ({"verdict": "allow", "effect": "externl"}, "did you mean 'external'"),
        ({"verdict": "allow", "criteria": "Nice."}, "only a rule with the verdict auto_review"),
        ({"verdict": "allow", "args": {"to": {}}}, "a condition says nothing"),
        ({"verdict": "allow", "acton": "x"}, "action"),
    ],
)
def test_a_wrong_rule_is_named_with_what_was_expected(wrong: dict[str, Json], says: str) -> None:
    with pytest.raises(ConfigError, match=r"rules") as error:
        structure(PolicySettings, {"rules": [wrong]}, "wakeful.toml")
    assert says in str(error.value)
