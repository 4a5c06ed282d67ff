"""Settings: the rules as they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import Attribute, field, fields, frozen

from wakeful.types import Effect, Verdict, nearest
from wakeful_policy.windows import parse

VERDICTS = tuple(each.name.lower() for each in Verdict)
EFFECTS = tuple(each.value for each in Effect)
#: Confidence that a review needs unless its rule says otherwise.
CONFIDENCE = 0.85
_PERCENT = 100


def _confident(_: object, attribute: Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        hint = f"; did you mean {value / _PERCENT:g}?" if 1 < value <= _PERCENT else ""
        raise ValueError(f"{attribute.name}: {value:g} is not between 0 and 1{hint}")


def _windows(_: object, attribute: Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    for each in value:
        try:
            parse(each)
        except ValueError as error:
            raise ValueError(f"{attribute.name}: {error}") from None


def _zone(_: object, attribute: Attribute[str], value: str) -> None:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"{attribute.name}: there is no time zone {value!r}; expected e.g. 'Europe/Zurich'"
        raise ValueError(message) from None


@frozen
class Condition:
    """What an argument must be. All that is given must hold; an argument that is not given meets none.

    Of a list every item must meet it. Where a rule makes a call stricter, one suffices, and so do a text that
    only looks like another, and the default of an argument that is not given.

    Args:
        equals: the text itself, regardless of case, or the number itself: 5, 5.0 and "5" are the same.
        one_of: one of these.
        like: a glob, regardless of case.
        above, below: a number beyond this.
        given: whether the argument is given at all.
    """

    equals: str | int | float | None = None
    one_of: tuple[str, ...] = ()
    like: str = ""
    above: int | float | None = None
    below: int | float | None = None
    given: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.given is None and not self.about_value:
            names = ", ".join(each.name for each in fields(Condition))
            raise ValueError(f"a condition says nothing; expected one of {names}")

    @property
    def about_value(self) -> bool:
        """Whether it says anything about the value, and not only whether it is given."""
        bounds = (self.equals, self.above, self.below)
        return bool(self.one_of or self.like) or any(each is not None for each in bounds)


@frozen
class Rule:
    """One rule; what it leaves out matches everything."""

    verdict: str = field(metadata={"help": "what may happen to calls that match"})
    action: str = field(default="", metadata={"help": "name of an action, or a glob such as `crm_*`"})
    category: str = field(default="", metadata={"help": "category of actions"})
    effect: str = field(default="", metadata={"help": "`read`, `fetch`, `write` or `external`"})
    args: Mapping[str, Condition] = field(factory=dict, metadata={"help": "conditions, by argument"})
    criteria: str = field(default="", metadata={"help": "for `auto_review`: what a reviewer looks at"})
    confidence: float = field(
        default=CONFIDENCE,
        converter=float,
        validator=_confident,
        metadata={"help": "for `auto_review`: from which confidence, 0 to 1, a review counts"},
    )
    when: tuple[str, ...] = field(
        default=(),
        validator=_windows,
        metadata={"help": "windows such as `Mon-Fri 09:00-17:00`; outside of them the verdict is `defer`"},
    )
    time_zone: str = field(
        default="UTC", validator=_zone, metadata={"help": "of the windows, e.g. `Europe/Zurich`"}
    )
    reason: str = field(default="", metadata={"help": "one line that the model is shown"})
    assignee: str = field(
        default="", metadata={"help": "who decides what waits for a person, beside the approvers"}
    )
    asker_decides: bool = field(
        default=False, metadata={"help": "whether the user who asked may decide what waits for a person"}
    )

    def __attrs_post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: {self.verdict!r} is unknown{nearest(self.verdict, VERDICTS)}")
        if self.effect and self.effect not in EFFECTS:
            raise ValueError(f"effect: {self.effect!r} is unknown{nearest(self.effect, EFFECTS)}")
        if self.criteria and self.verdict != "auto_review":
            raise ValueError("criteria: only a rule with the verdict auto_review has some")

    @property
    def strictness(self) -> Verdict:
        """The verdict as the enum."""
        return Verdict[self.verdict.upper()]

    @property
    def about(self) -> str:
        """What the rule is about, for people."""
        matches = {"action": self.action, "category": self.category, "effect": self.effect}
        said = [f"{name} {value}" for name, value in matches.items() if value]
        said += [f"argument {name}" for name in sorted(self.args)]
        return ", ".join(said) or "every call"


@frozen
class PolicySettings:
    """Settings of ``[plugins.policy]``."""

    rules: tuple[Rule, ...] = field(
        default=(),
        metadata={"help": "rules, as `[[agents.<name>.plugins.policy.rules]]`; the most specific counts"},
    )
