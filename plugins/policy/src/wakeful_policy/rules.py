"""Which rule matches a call, and what it says. Pure, but for the time that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import translate
from itertools import product

from attrs import asdict, evolve, field, frozen

from wakeful.config import structure
from wakeful.tools.schemas import known_properties
from wakeful.types import Action, Effect, Json, Judgement, Verdict, canonical, clean, digest, tool_name
from wakeful_policy.conditions import item_meets, leaves
from wakeful_policy.defaults import default, effect_of, effects_of, is_given
from wakeful_policy.settings import Condition, Rule
from wakeful_policy.strictest import strictest
from wakeful_policy.windows import Window, is_open, next_open, parse

_GLOB = frozenset("*?[")
#: Actions whose rules are remembered.
ACTIONS = 10_000


@frozen
class Known:
    """A rule, ready to be matched.

    Args:
        rule: as it stands in the file.
        number: its place there, from 1; of one that was added, its number among those.
        added_by: who added it with a decision; empty for one of the file.
    """

    rule: Rule
    number: int
    added_by: str = ""
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
    def name(self) -> str:
        """What people call it: its place in the file, or ``added-1``."""
        return f"added-{self.number}" if self.added_by else str(self.number)

    @property
    def weight(self) -> tuple[int, int, int]:
        """How specific it is: exact name, glob, category, effect; then more conditions; then the stricter."""
        rule = self.rule
        kind = 4 if self.exact else 3 if self.glob else 2 if rule.category else 1 if rule.effect else 0
        return kind, len(rule.args), int(rule.strictness)

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Its weight; of equal ones the earlier counts."""
        return *self.weight, -self.number

    def names(self, action: Action) -> bool:
        """Whether the rule is about an action, whatever its arguments."""
        if self.exact and self.exact != action.tool_name:
            return False
        if self.glob and not (self.glob.match(action.tool_name) or self.glob.match(action.name.casefold())):
            return False
        category = self.rule.category
        return not category or category.casefold() == action.category.casefold()

    def may_fit(self, action: Action) -> bool:
        """Whether there can be calls of an action that the rule is about which are what it means."""
        return not self.rule.effect or Effect(self.rule.effect) in effects_of(action)

    def always_fits(self, action: Action) -> bool:
        """Whether every call of an action that the rule is about is what it means."""
        effects = effects_of(action)
        return not self.rule.args and self.may_fit(action) and (not self.rule.effect or len(effects) == 1)

    def fits(self, action: Action, args: Mapping[str, Json], *, every: bool = True) -> bool:
        """Whether a call of an action that the rule is about is what it means.

        Without ``every`` some items of lists suffice, texts that nearly are what is named, and defaults.
        """
        rule = self.rule
        if rule.effect and rule.effect != effect_of(action, args):
            return False
        given = args if every else {**_defaults(action, rule), **args}
        return all(meets(given.get(name), each, every=every) for name, each in rule.args.items())


def _defaults(action: Action, rule: Rule) -> dict[str, Json]:
    """Return the defaults of arguments that a rule has conditions on, but for whether they are given."""
    named = known_properties(action.schema or {})
    schemas = {name: named.get(name) for name, each in rule.args.items() if each.given is None}
    known = {name: each for name, each in schemas.items() if isinstance(each, Mapping)}
    return {name: each["default"] for name, each in known.items() if "default" in each}


class Ordered:
    """Rules, the most specific first."""

    def __init__(self, known: Iterable[Known]) -> None:
        self.all = tuple(sorted(known, key=lambda each: each.rank, reverse=True))
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

    def may_count(self, action: Action) -> Iterator[Known]:
        """Yield the rules that count for some call of an action, as far as that shows without arguments.

        A rule never counts where a more specific one takes all calls.
        """
        for each in self.about(action):
            if each.may_fit(action):
                yield each
            if each.always_fits(action):
                return

    def find(self, action: Action, args: Json) -> list[Known | None]:
        """Return the rules that have a say on a call.

        First the most specific that matches it, None if none does; then those more specific that match it in
        part or nearly.
        """
        given = args if isinstance(args, Mapping) else {}
        partly = list[Known | None]()
        for each in self.about(action):
            if each.fits(action, given):
                return [each, *partly]
            if each.fits(action, given, every=False):
                partly.append(each)
        return [None, *partly]


class Rules:
    """The rules of an agent: those of its file, and those that people have added with their decisions.

    Args:
        rules: as they stand in the file.
        added: as the plugin that keeps them gives them.

    Raises:
        ConfigError: an added rule is none.
    """

    def __init__(self, rules: Sequence[Rule], added: Sequence[Json] = ()) -> None:
        self._file = Ordered(Known(rule, at) for at, rule in enumerate(rules, 1))
        self._added = Ordered(
            Known(structure(Rule, each["rule"], "rule"), each["number"], each["by"]) for each in added
        )

    @property
    def all(self) -> tuple[Known, ...]:
        """Return all of them, the most specific first."""
        return tuple(sorted((*self._file.all, *self._added.all), key=lambda each: each.rank, reverse=True))

    def reviewed(self, actions: Mapping[str, Action]) -> list[tuple[Known, list[str]]]:
        """Return the rules of the file that send calls to a review, each with the names of the actions."""
        found: dict[int, tuple[Known, list[str]]] = {}
        for name in sorted(actions):
            for each in self._file.may_count(actions[name]):
                if each.rule.strictness is Verdict.AUTO_REVIEW:
                    found.setdefault(each.number, (each, []))[1].append(name)
        return [found[number] for number in sorted(found)]

    def find(self, action: Action, args: Json, now: datetime) -> Known | None:
        """Return the rule that counts for a call; None = the default does."""
        return self._judge(action, args, now)[1]

    def judgement(self, action: Action, args: Json, now: datetime) -> Judgement:
        """Return the verdict on a call at a time.

        It rests on the rule of the file that matches, whether or not an added one counts: so an approval that
        rests on the same does not end when somebody adds a rule.
        """
        return self._judge(action, args, now)[0]

    def _judge(self, action: Action, args: Json, now: datetime) -> tuple[Judgement, Known | None]:
        """Return the verdict on a call and the rule that it comes from; None = the default.

        Where rules match in part or nearly, the strictest counts of what they and the rule that matches as a
        whole say: so nobody gets a milder verdict by adding an item, or by how a text is written.
        """
        said = list[tuple[Judgement, Known | None]]()
        for of_file, added in product(self._file.find(action, args), self._added.find(action, args)):
            known = _counting(of_file, added, now)
            found = default(action, args) if known is None else judgement_of(known, now)
            said.append((evolve(found, basis=of_file.digest if of_file else ""), known))
        return strictest(said)


def _counting(of_file: Known | None, added: Known | None, now: datetime) -> Known | None:
    """Return which of two rules counts.

    An added rule counts where it is more specific, or as specific and stricter; never against a rule of the
    file that denies or defers.
    """
    if added is None or of_file is None:
        return added or of_file
    closed = judgement_of(of_file, now).verdict >= Verdict.DEFER
    return of_file if closed or added.weight <= of_file.weight else added


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


def meets(value: Json, condition: Condition, *, every: bool = True) -> bool:
    """Whether an argument is what a condition says; of a list, every item must be, or some item nearly."""
    items = list(leaves(value))
    if condition.given is not None:  # empty items count for whichever answer is the safer one
        said = any(map(is_given, items)) if condition.given is every else is_given(value)
        if said is not condition.given:
            return False
    if not condition.about_value:
        return True
    return (all if every else any)(item_meets(item, condition, nearly=not every) for item in items)
