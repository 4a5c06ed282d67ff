"""The rules R2 to R8: what a tainted run may do by itself. Pure; R0, the strictest wins, is the kernel's.

A clean run is judged by others alone. In a tainted run, whatever the model proposes may be what an outside
text asked for; so an effect passes only as far as its arguments are the user's own words.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from wakeful.types import Action, Effect, Json, Verdict
from wakeful_taint.calls import CONTENT, DESTINATION, OBJECT, VALUE, Argument, arguments, effect_of, of_role
from wakeful_taint.lists import in_recipients, in_sites
from wakeful_taint.seen import Seen
from wakeful_taint.settings import TaintSettings
from wakeful_taint.texts import folded, is_given, links
from wakeful_taint.words import Words

#: Fetches of links from seen data that ``permissive`` allows in a run.
FOLLOWED = 5


@frozen
class Case:
    """A call to decide about.

    Args:
        action: what it would execute.
        args: its arguments.
        words: the user's words.
        seen: what the conversation has shown.
        tainted: whether anything in view is not trusted.
        repeat: whether the call was made before in the conversation, however it is spelled.
        followed: links that the run has followed.
        page: address of the page that the action would act on; empty if it acts on none.
        elsewhere: whether a code stood in something else that was shown.
    """

    action: Action
    args: Json
    words: Words
    seen: Seen
    tainted: bool
    repeat: bool = False
    followed: int = 0
    page: str = ""
    elsewhere: Callable[[str], bool] = field(default=lambda _: False)
    effect: Effect = field(init=False)
    given: tuple[Argument, ...] = field(init=False)

    @effect.default
    def _effect(self) -> Effect:
        return effect_of(self.action, self.args)

    @given.default
    def _given(self) -> tuple[Argument, ...]:
        return arguments(self.action, self.args, self.words)


@frozen
class Decision:
    """What a rule says: ``suspects`` are the values that are not the user's."""

    rule: str
    verdict: Verdict
    reason: str = ""
    suspects: tuple[str, ...] = ()


def decide(case: Case, settings: TaintSettings) -> Decision:
    """Return the decision of the first rule that applies."""
    if not case.tainted:
        return Decision("R3", Verdict.ALLOW)
    if case.effect is Effect.READ:
        return Decision("R4", Verdict.ALLOW)
    if all_own(case):
        return Decision("R5", Verdict.ALLOW)
    listed = _on_site(case, settings)
    if listed is not None:
        return listed
    if case.effect is Effect.FETCH and settings.profile == "permissive" and _follows(case):
        return Decision("permissive", Verdict.ALLOW)
    foreign = tuple(foreign_tokens(case, settings))
    if case.effect is Effect.WRITE:
        return _write(case, foreign)
    if _only_content_open(case, settings) and not foreign and not case.repeat:
        strict = settings.profile == "strict"
        verdict = Verdict.REQUIRE_APPROVAL if strict else Verdict.AUTO_REVIEW
        return Decision("R7", verdict, "its text is not the user's own words")
    return _ask("R8", case, foreign)


def all_own(case: Case) -> bool:
    """R5: whether every argument is the user's word, and the call neither wipes nor repeats another."""
    given = case.given
    if not given or case.repeat or not all(each.own for each in given) or _wipes(case):
        return False
    anchors = of_role(given, DESTINATION)
    if not anchors and not any(role == DESTINATION for role in case.action.roles.values()):
        anchors = of_role(given, VALUE)
    return bool(anchors) and _firm(case)


def _firm(case: Case) -> bool:
    """Whether identifiers, and values where nothing else is decisive, are the user's words by no accident."""
    roles = [OBJECT, DESTINATION, ""]
    if DESTINATION not in case.action.roles.values():
        roles.append(VALUE)
    return all(each.firm for each in of_role(case.given, *roles))


def _wipes(case: Case) -> bool:
    """Whether the verb is the danger: external, with an object and nowhere to send it."""
    if case.effect is not Effect.EXTERNAL or of_role(case.given, DESTINATION):
        return False
    return bool(of_role(case.given, OBJECT, ""))


def _on_site(case: Case, settings: TaintSettings) -> Decision | None:
    """Return what the list of trusted sites says about a fetch, or about an action on a page."""
    if case.effect not in {Effect.FETCH, Effect.EXTERNAL} or not settings.trusted_sites:
        return None
    places = [leaf for each in of_role(case.given, DESTINATION) for leaf in each.leaves]
    inside = bool(places) and all(in_sites(place, settings.trusted_sites) for place in places)
    if case.effect is Effect.FETCH:
        return Decision("sites", Verdict.ALLOW) if inside and not of_role(case.given, "") else None
    if not places and case.page and in_sites(case.page, settings.trusted_sites):
        return Decision("sites", Verdict.AUTO_REVIEW, "it acts on a trusted site")
    return None


def _follows(case: Case) -> bool:
    """Whether a fetch takes a link exactly as it stood in something seen, and few were taken so far."""
    if case.followed >= FOLLOWED or case.repeat or not case.given:
        return False
    return all(each.role == DESTINATION and all(map(case.seen.shows, each.leaves)) for each in case.given)


def foreign_tokens(case: Case, settings: TaintSettings) -> list[str]:
    """Return what in the arguments leads somewhere that the user did not name.

    Addresses and links count wherever they come from, so that one put together from pieces counts too; codes
    count if they stand in earlier output.
    """
    found: dict[str, None] = {}
    for each in case.given:
        if each.own or _listed(each, settings):
            continue
        for leaf in each.leaves:
            found.update(dict.fromkeys(case.words.foreign(leaf)))
            strange = case.words.foreign_codes(folded(leaf))
            found.update(
                dict.fromkeys(
                    sorted(code for code in strange if code in case.seen.codes or case.elsewhere(code))
                )
            )
    return list(found)


def _write(case: Case, foreign: tuple[str, ...]) -> Decision:
    """R6: a draft where that is possible; else a person if something foreign is in it; else the judge."""
    if case.action.can_stage:
        return Decision("R6", Verdict.STAGE, "outside text was read before", foreign)
    if foreign:
        return _ask("R6", case, foreign)
    return Decision("R6", Verdict.AUTO_REVIEW, "outside text was read before")


def _only_content_open(case: Case, settings: TaintSettings) -> bool:
    """R7: whether whom, which and how much are the user's, so that only free text is open."""
    anchors = of_role(case.given, DESTINATION)
    decisive = of_role(case.given, DESTINATION, OBJECT, VALUE, "")
    named = all(each.own or _listed(each, settings) for each in decisive)
    return bool(anchors) and named and _firm(case)


def _listed(argument: Argument, settings: TaintSettings) -> bool:
    if argument.role != DESTINATION or not argument.leaves:
        return False
    return all(in_recipients(leaf, settings.recipients) for leaf in argument.leaves)


def _ask(rule: str, case: Case, foreign: tuple[str, ...]) -> Decision:
    strange = [leaf for each in case.given if not each.own and each.role != CONTENT for leaf in each.leaves]
    mine = {each for leaf in strange for each in (folded(leaf), *links(folded(leaf)))}
    found = (*(each for each in foreign if each not in mine), *strange)
    suspects = tuple(dict.fromkeys(leaf for leaf in found if not case.words.have(leaf)))
    why = "outside text was read before"
    if case.repeat and not suspects:
        why = "the same call was made before"
    elif not any(is_given(each.leaves) for each in case.given) or _wipes(case):
        why = f"it cannot be undone, and {why}"
    return Decision(rule, Verdict.REQUIRE_APPROVAL, why, suspects)
