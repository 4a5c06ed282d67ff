"""Which rule matches a call, and what it says. Pure, but for the time that it is given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import translate

from attrs import asdict, field, frozen

from wakeful.types import Action, Json, Judgement, Verdict, canonical, clean, digest, tool_name
from wakeful_policy.defaults import default, effect_of, is_given
from wakeful_policy.settings import Condition, Rule
from wakeful_policy.windows import Window, is_open, next_open, parse

_GLOB = frozenset("*?[")
#: Actions whose rules are remembered.
ACTIONS = 10_000


@frozen
class Known:
    """A rule, ready to be matched.

    Args:
        rule: as it stands in the file.
        number: its place there, from 1.
    """

    rule: Rule
    number: int
    exact: str = field(init=False)
    glob: re.Pattern[str] | None = field(init=False)
    windows: tuple[Window, ...] = field(init=False)
    digest: str = field(init=False)

    @exact.default
    def _exact(self) -> str:
        name = self.rule.action
        return "" if _GLOB & set(name) else tool_name(name)

    @glob.default
    def _compile(self) -> re.Pattern[str] | None:
        name = self.rule.action
        return re.compile(translate(name.casefold())) if _GLOB & set(name) else None

    @windows.default
    def _parse(self) -> tuple[Window, ...]:
        return tuple(map(parse, self.rule.when))

    @digest.default
    def _hash(self) -> str:
        return digest(canonical(clean(asdict(self.rule))))

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """How specific it is: exact name, glob, category, effect; then more conditions; then the stricter."""
        rule = self.rule
        kind = 4 if self.exact else 3 if self.glob else 2 if rule.category else 1 if rule.effect else 0
        return kind, len(rule.args), int(rule.strictness), -self.number

    def names(self, action: Action) -> bool:
        """Whether the rule is about an action, whatever its arguments."""
        if self.exact and self.exact != action.tool_name:
            return False
        if self.glob and not (self.glob.match(action.tool_name) or self.glob.match(action.name.casefold())):
            return False
        category = self.rule.category
        return not category or category.casefold() == action.category.casefold()

    def fits(self, action: Action, args: Mapping[str, Json]) -> bool:
        """Whether a call of an action that the rule is about is what the rule means."""
        rule = self.rule
        if rule.effect and rule.effect != effect_of(action, args):
            return False
        return all(meets(args.get(name), condition) for name, condition in rule.args.items())


class Rules:
    """The rules of an agent, the most specific first."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        known = sorted((Known(rule, at) for at, rule in enumerate(rules, 1)), key=lambda each: each.rank)
        known.reverse()
        self.all = tuple(known)
        self._about: dict[tuple[str, str, str], tuple[Known, ...]] = {}

    def about(self, action: Action) -> tuple[Known, ...]:
        """Return the rules about an action, the most specific first; found once for each."""
        key = (action.tool_name, action.name, action.category)
        found = self._about.get(key)
        if found is None:
            found = tuple(each for each in self.all if each.names(action))
            if len(self._about) < ACTIONS:
                self._about[key] = found
        return found

    def find(self, action: Action, args: Json) -> Known | None:
        """Return the rule that counts for a call; None = the default does."""
        given = args if isinstance(args, Mapping) else {}
        return next((each for each in self.about(action) if each.fits(action, given)), None)

    def judgement(self, action: Action, args: Json, now: datetime) -> Judgement:
        """Return the verdict on a call at a time."""
        found = self.find(action, args)
        return default(action, args) if found is None else judgement_of(found, now)


def judgement_of(known: Known, now: datetime) -> Judgement:
    """Return what a rule that matches says at a time."""
    rule = known.rule
    if known.windows and not is_open(known.windows, now, rule.time_zone):
        opens = next_open(known.windows, now, rule.time_zone)
        when = f"from {opens:%Y-%m-%d %H:%M} ({rule.time_zone})"
        return Judgement(Verdict.DEFER, f"possible again {when}", code="POLICY_DEFERRED", basis=known.digest)
    return Judgement(
        rule.strictness,
        rule.reason,
        criteria=rule.criteria,
        confidence=rule.confidence,
        basis=known.digest,
        assignee=rule.assignee,
        asker_decides=rule.asker_decides,
    )


def meets(value: Json, condition: Condition) -> bool:
    """Whether an argument is what a condition says; of a list, every item must be."""
    if condition.given is not None and condition.given is not is_given(value):
        return False
    if not condition.about_value:
        return True
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(_meets(item, condition) for item in items)


def _meets(value: Json, condition: Condition) -> bool:
    if not is_given(value):
        return False
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    text = text.casefold()
    if condition.equals is not None and text != str(condition.equals).casefold():
        return False
    if condition.one_of and text not in {each.casefold() for each in condition.one_of}:
        return False
    if condition.like and not re.compile(translate(condition.like.casefold())).match(text):
        return False
    return _within(value, condition)


def _within(value: Json, condition: Condition) -> bool:
    if condition.above is None and condition.below is None:
        return True
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    above = condition.above is None or number > condition.above
    return above and (condition.below is None or number < condition.below)
