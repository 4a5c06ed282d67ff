"""A proposed call as the rules see it: what it really does, and where its arguments come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from wakeful.types import Action, Effect, Json
from wakeful_taint.texts import is_firm, is_given, leaves
from wakeful_taint.words import Words

DESTINATION, OBJECT, VALUE, CONTENT = "destination", "object", "value", "content"

#: Words in an action's name that say it cannot be undone, gives access or handles credentials, whatever its
#: declared effect: declarations of tools from elsewhere are often too mild.
_BEYOND = re.compile(
    "(?:delete|remove|erase|purge|wipe|drop|destroy|cancel|trash|unlink|truncate|clear"
    "|password|passphrase|credential|secret|otp|mfa|token|apikey"
    "|share|sharing|unshare|grant|revoke|invite|access|permission|acl|collaborator)s?"
)
_HUMP, _NO_LETTER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])"), re.compile(r"[\W_]+")
#: A number with something around it, as a currency; no time, which has a colon, and no date.
_AMOUNT = re.compile(r"[^\d:]*\d[\d.,'\s]*[^\d:]*")
#: Destinations of a write that only links one of them to the other, such as a person to a group.
_LINKED = 2


@frozen
class Argument:
    """One given argument.

    Args:
        name: its name.
        role: its declared role; empty = unlabelled, which gets the strictest reading.
        leaves: its texts.
        own: whether all of them are the user's words.
    """

    name: str
    role: str
    leaves: tuple[str, ...]
    own: bool

    @property
    def firm(self) -> bool:
        """Whether finding it in the user's words is no accident."""
        return all(map(is_firm, self.leaves))


def arguments(action: Action, args: Json, words: Words) -> tuple[Argument, ...]:
    """Return the given arguments of a call in the order of their names."""
    roles = action.roles
    given = sorted(args.items()) if isinstance(args, Mapping) else [("", args)]
    found = []
    for name, value in given:
        if is_given(value):
            texts = tuple(leaves(value))
            own = bool(texts) and all(map(words.have, texts))
            found.append(Argument(name, roles.get(name, ""), texts, own))
    return tuple(found)


def effect_of(action: Action, args: Json) -> Effect:
    """Return what a call does, the arguments considered; ``EXTERNAL`` for what reaches or cannot be undone.

    Granting access, handling credentials and deleting are external however mild a write is declared. So is a
    fetch, which stays ``FETCH`` for the owner's list of sites.
    """
    if isinstance(args, Mapping) and any(is_given(args.get(name)) for name in action.external_if_present):
        return Effect.EXTERNAL
    if action.effect is Effect.WRITE and (any(map(_BEYOND.fullmatch, _words(action))) or _links(action)):
        return Effect.EXTERNAL
    return action.effect


def _words(action: Action) -> set[str]:
    """Return the words of an action's names, those of ``deleteFile`` too."""
    humps = _HUMP.sub(" ", action.name).casefold()
    words = {*action.tool_name.split("_"), *_NO_LETTER.split(humps)}
    return words | {"apikey"} if {"api", "key"} <= words else words


def _links(action: Action) -> bool:
    """Whether a write puts one destination into another and says nothing else: it gives access."""
    roles = list(action.roles.values())
    return roles.count(DESTINATION) >= _LINKED and CONTENT not in roles


def open_texts(action: Action, args: Json) -> frozenset[str]:
    """Return in which arguments a call that says how much may differ from one that it repeats: its notes."""
    named = args if isinstance(args, Mapping) else {}
    much = any(role == VALUE and _is_amount(named.get(name)) for name, role in action.roles.items())
    return frozenset(name for name, role in action.roles.items() if much and role == CONTENT)


def _is_amount(value: Json) -> bool:
    """Whether a value says how much; a time, a name and an answer to yes or no do not."""
    return not isinstance(value, bool) and _AMOUNT.fullmatch(str(value)) is not None


def of_role(given: Iterable[Argument], *roles: str) -> Sequence[Argument]:
    """Return the arguments that have one of the roles; the role ``""`` is unlabelled."""
    return [each for each in given if each.role in roles]
