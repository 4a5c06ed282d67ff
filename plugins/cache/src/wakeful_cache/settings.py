"""The settings of ``[plugins.cache]``."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen


def _help(text: str) -> dict[str, str]:
    return {"help": text}


@frozen
class CacheSettings:
    """Settings of ``[plugins.cache]``."""

    retention: Literal["auto", "append", "replace"] = field(
        default="auto",
        metadata=_help(
            "`append`: state that was sent stays in the history and only what changed is sent again, the"
            " cheapest; `replace`: only the newest state is sent, the fewest tokens; `auto`: append"
        ),
    )
    strict: bool = field(
        default=False,
        metadata=_help("fail a run whose request breaks the prefix without saying so; for tests and CI"),
    )
