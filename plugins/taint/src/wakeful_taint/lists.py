"""The owner's lists: sites that may be fetched and recipients that count as named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from wakeful.types.words import exact

#: Characters that browsers and parsers read differently; an address with one is in no list.
_AMBIGUOUS = frozenset("\\\t\r\n \x00")
# What stands before the @ of an address and means nothing else to any mail server or parser, unlike % or =?.
_MAILBOX = re.compile(r"[\w.+-]+")
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


def in_sites(address: str, sites: Sequence[str]) -> bool:
    """Whether an address lies inside one of the listed sites, subdomains included.

    Args:
        address: as the call has it; without a scheme it is read as https.
        sites: hosts, or hosts with a path below which everything is inside.
    """
    if not sites or not address.isascii() or _AMBIGUOUS & set(address):
        return False
    try:
        split = urlsplit(address if "://" in address else f"https://{address}")
        host, port = (split.hostname or "").rstrip("."), split.port
    except ValueError:
        return False
    if split.scheme not in {"http", "https"} or split.username is not None or port not in {None, 80, 443}:
        return False
    return _HOST.fullmatch(host) is not None and any(_inside(host, split, site) for site in sites)


def _inside(host: str, split: SplitResult, site: str) -> bool:
    name, _, path = site.casefold().partition("/")
    if host != name and not host.endswith(f".{name}"):
        return False
    path = path.rstrip("/")
    if not path:
        return True
    own = unquote(split.path).casefold().lstrip("/")
    if "%" in own or any(part.startswith("..") for part in own.split("/")):
        return False  # servers read such paths in different ways
    return own == path or own.startswith(f"{path}/")


def in_recipients(value: str, recipients: Sequence[str]) -> bool:
    """Whether a recipient is listed by its name or address, or by the domain of its address."""
    own = exact(value)
    for each in map(exact, recipients):
        if own == each:
            return True
        domain = each.removeprefix("*")
        if domain.startswith("@") and own.endswith(domain) and _MAILBOX.fullmatch(own.removesuffix(domain)):
            return True
    return False
