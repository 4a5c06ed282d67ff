"""Whether a text from outside speaks to the judge. Pure; hygiene, as there are always other words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from wakeful.types import Json

#: Letters that look like others and are not the same to Unicode: Cyrillic, Greek, small capitals.
_LOOKALIKES: Final = str.maketrans(
    "\u0430\u0432\u0433\u0435\u04bb\u0456\u0458\u043a\u04cf\u043c\u043d\u043e\u0440\u051b\u0455\u0442"
    "\u0443\u0445\u051d\u0501"
    "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0131\u0261\u029f\u0280\u0299\u0262\u029c\u026a\u0274\u1d00\u1d04\u1d05\u1d07\u1d0a\u1d0b\u1d0d"
    "\u1d0f\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\ua730\ua731\ua7af",
    "abrehijklmhopqstyxwdabeiknoptuxiglrbghinacdejkmoptuvwzfsq",
)
_UNSEEN = frozenset({"Cf", "Mn", "Me"})
#: Signs inside a word, and single letters with something between them.
_INSIDE = re.compile(r"(?<=[^\W\d])[^\w\s]{1,3}(?=[^\W\d])")
_APART = re.compile(r"(?<!\w)\w(?:\W{1,3}\w(?!\w)){3,}")
_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")
#: What speaks of the answer or of who gives it, or says to leave out what was told, in English, German and
#: French without accents. Surnames such as Richter are not among it: a person would be asked each time.
_RULES: Final = (
    r"instruction|prompt|guideline|directive|criteri|polic(?:y|ies)\b|rules?\b|anweisung|vorgabe|richtlinie"
    r"|kriteri|regeln?\b|consigne|critere|regles?\b"
)
_FIRST: Final = (
    r"(?:first|1st|erste[nrms]?|premier|premiere)(?: (?:of|von|der|die|de|des|les|your|the|vos|tes|deiner"
    r"|ihrer|two|three|zwei|drei|deux|trois)){0,3}"
    r" (?:option|choice|possibility|wahl|auswahl|moglichkeit|choix)"
)
_SPEAKS: Final = re.compile(
    r"approv|approuv|genehmig|freigegeben|freigabe|bewillig|escalat|eskalier|escalad"
    r"|\bpre.?(?:authori[sz]ed|cleared)|\b(?:is|was|been|already) (?:cleared|vetted)\b"
    r"|\balready authori[sz]ed"
    r"|\bpre.?autoris|\bdeja (?:ete )?(?:valide|autorise|verifie)|\bconfidence\b|\bkonfidenz|\bzuversicht"
    r"|\b(?:niveau|degre|indice) de confiance\b|\bconfiance (?:totale|maximale|absolue|de \d)"
    r"|\bcertainty\b|\bcertitude\b|\bgewissheit\b|\bvolle[rnm]? sicherheit\b"
    r"|\bdecisions?\b|\bentscheidung"
    r"|\breviewers?\b|\bjudges?\b|\bevaluators?\b|\bprue?fer|\bgutachter|\bbewerter|\breviseur|\bevaluateur"
    r"|\brelecteur|\bverificateur|\ble juge\b|\bsafety (?:check|model)|\b(?:whoever|wer|celui qui) .{0,12}"
    r"\b(?:checks|reviews|pruft|verifie|controle)\b"
    rf"|\b(?:ignor|disregard|forget|overrid|bypass|missacht|vergiss|vergesst|oubli)\w*\b.{{0,60}}?\b(?:{_RULES})"
    r"|\b(?:ignore|disregard|forget) (?:all|any|every|what)\w*\b.{0,20}\b(?:above|previous|prior|before)\b"
    rf"|\b{_FIRST}"
    r"|\b(?:answer|respond|output|antworte|repond)\w*"
    r" (?:only |with |mit |nur |par |avec ){0,2}(?:yes|allow|ja|oui|1[.,]0)\b",
    re.DOTALL,
)


def speaks_to_judge(value: Json) -> bool:
    """Whether a text in a value speaks of what a judge answers; then it must not be the one who decides."""
    folded = _folded("\n".join(_texts(value)))
    joined = _INSIDE.sub("", _APART.sub(lambda found: re.sub(r"\W", "", found[0]), folded))
    return any(_SPEAKS.search(text) for text in (folded, joined))


def _folded(text: str) -> str:
    """Return a text as a forgiving reader reads it, in small letters."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(each for each in text if unicodedata.category(each) not in _UNSEEN)
    return " ".join(text.translate(_LOOKALIKES).replace("_", " ").split())


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield str(value)
