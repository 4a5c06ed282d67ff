"""The plugin: fills the slot of the layout, and tells the model where state is found."""

from __future__ import annotations

from collections.abc import Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import AgentView, Layout, Section, Services
from wakeful_cache.layout import APPEND, REPLACE, CacheLayout
from wakeful_cache.settings import CacheSettings

#: Where the pointer to the state stands: after everything that says what to do.
ORDER = 900
_POINTER = {
    APPEND: (
        "What changes between steps stands in <runtime-state> blocks after the messages; a later block"
        " replaces what earlier ones say under the same name, and what is withdrawn no longer holds."
    ),
    REPLACE: "What changes between steps stands in the <runtime-state> block after the messages.",
}


class Cache:
    """Lays requests out so that everything sent before is read from the provider's cache."""

    Settings = CacheSettings

    def __init__(self, settings: CacheSettings, services: Services) -> None:  # noqa: ARG002  (a plugin's form)
        self._layout = CacheLayout(settings)

    @hookimpl
    def prompt_sections(self, agent: AgentView) -> Sequence[Section]:
        """Give the line that says where the state is."""
        return (Section("runtime-state", ORDER, _POINTER[self._layout.decide(agent)["retention"]]),)

    @hookimpl
    def prompt_layout(self) -> Layout:
        """Fill the slot."""
        return self._layout
