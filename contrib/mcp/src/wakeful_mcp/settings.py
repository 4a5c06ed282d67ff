"""Settings of the plugin: which servers there are, how far each is trusted, and the limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from attrs import Attribute, field, frozen
from attrs import validators as valid

from wakeful.types import Effect

_EFFECTS = tuple(effect.value for effect in Effect)
#: What a server may be called: its name is part of the names of its tools.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


def _named(_: object, attribute: Attribute[Any], value: Mapping[str, object]) -> None:
    for name in value:
        if not _NAME.fullmatch(name):
            message = (
                f"{attribute.name}: {name!r} is no name of a server; up to 32 letters, digits, '_' and '-'"
            )
            raise ValueError(message)


def _effects(_: object, attribute: Attribute[Any], value: Mapping[str, str]) -> None:
    for pattern, effect in value.items():
        if effect not in _EFFECTS:
            message = f"{attribute.name}: {pattern!r} is {effect!r}; expected one of {', '.join(_EFFECTS)}"
            raise ValueError(message)


def _web(_: object, attribute: Attribute[Any], value: str) -> None:
    if value and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname):
        message = f"{attribute.name}: expected an address that begins with https:// or http://"
        raise ValueError(message)


@frozen
class ServerSettings:
    """Settings of ``[plugins.mcp.servers.NAME]``: a command that is started, or the address of a server."""

    command: str = field(
        default="",
        metadata={"help": "program that speaks MCP on its standard input and output; or give `url`"},
    )
    args: Sequence[str] = field(default=(), repr=False, metadata={"help": "arguments of the program"})
    env: Mapping[str, str] = field(
        factory=dict,
        repr=False,
        metadata={
            "help": "environment of the program, added to PATH, HOME and the like; nothing else is passed on"
        },
    )
    cwd: str = field(
        default="",
        metadata={"help": "folder the program runs in, from that of `wakeful.toml`, which is the default"},
    )
    url: str = field(
        default="",
        repr=False,
        validator=_web,
        metadata={"help": "address of a server that speaks MCP over HTTP (streamable HTTP)"},
    )
    headers: Mapping[str, str] = field(
        factory=dict,
        repr=False,
        metadata={"help": 'headers of every request, e.g. `Authorization = "Bearer ${env:TOKEN}"`'},
    )
    tools: Sequence[str] = field(
        default=("*",), metadata={"help": "globs of the server's names of tools that the agent gets"}
    )
    trust: Literal["untrusted", "semi_trusted", "trusted"] = field(
        default="untrusted",
        metadata={"help": "trust of what its tools return: `untrusted`, `semi_trusted` or `trusted`"},
    )
    effect: Literal["read", "fetch", "write", "external"] = field(
        default="external",
        metadata={"help": "effect of its tools: `read`, `fetch`, `write` or `external`"},
    )
    effects: Mapping[str, str] = field(
        factory=dict,
        validator=_effects,
        metadata={"help": "effect of single tools: the server's name of a tool, or a glob, to an effect"},
    )
    start_s: float = field(
        default=30.0,
        validator=valid.gt(0),
        metadata={"help": "seconds in which it must be connected and have listed its tools"},
    )
    timeout_s: float = field(
        default=60.0, validator=valid.gt(0), metadata={"help": "seconds after which a call is given up"}
    )
    max_bytes: int = field(
        default=10_000_000,
        validator=valid.ge(1_000),
        metadata={"help": "largest single message taken from it; a larger one fails the call"},
    )

    def __attrs_post_init__(self) -> None:
        """Check that there is one way to reach it.

        Raises:
            ValueError: none or two.
        """
        if bool(self.command) == bool(self.url):
            what = "give command or url, not both" if self.command else "give a command or a url"
            raise ValueError(what)


@frozen
class McpSettings:
    """Settings of ``[plugins.mcp]``."""

    servers: Mapping[str, ServerSettings] = field(
        factory=dict, validator=_named, metadata={"help": "name to the settings of a server, see below"}
    )
    lock: str = field(
        default="mcp.lock.json",
        metadata={
            "help": "file of the accepted tools, from the folder of `wakeful.toml`; for version control"
        },
    )
