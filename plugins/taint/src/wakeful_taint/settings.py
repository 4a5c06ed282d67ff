"""Settings of the plugin: how strict, which sites may be fetched, who counts as named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import Attribute, field, frozen
from attrs import validators as valid

PROFILES: Final = ("strict", "balanced", "permissive")


def _sites(_: object, attribute: Attribute[tuple[str, ...]], value: Sequence[str]) -> None:
    for site in value:
        host = site.split("/", 1)[0]
        if not host or set("*@:") & set(host):
            hint = "must be a host, perhaps with a path, e.g. 'docs.example.com/guide'"
            raise ValueError(f"{attribute.name}: {site!r} {hint}")


def _recipients(_: object, attribute: Attribute[tuple[str, ...]], value: Sequence[str]) -> None:
    for each in value:
        if not each.strip() or each.strip() in {"*", "@", "*@*"}:
            raise ValueError(f"{attribute.name}: {each!r} must be a name, an address or '*@example.com'")


@frozen
class TaintSettings:
    """Settings of ``[plugins.taint]``."""

    profile: str = field(
        default="balanced",
        validator=valid.in_(PROFILES),
        metadata={"help": "`strict`, `balanced` or `permissive`; see below"},
    )
    trusted_sites: tuple[str, ...] = field(
        default=(),
        validator=_sites,
        metadata={"help": "hosts, perhaps with a path, that may be fetched whatever the run has read"},
    )
    recipients: tuple[str, ...] = field(
        default=(),
        validator=_recipients,
        metadata={"help": "names and addresses that count as named by the user; `*@example.com` is a domain"},
    )
