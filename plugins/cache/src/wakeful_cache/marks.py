"""Where cache breakpoints go, by what the model's profile says."""

from __future__ import annotations

from wakeful.types import Declared, Marks, Profile

#: Characters per token below which no text gets; a prefix of fewer than this many for each token of the
#: smallest cacheable prefix is too short to be marked.
DENSE = 2


def marks(profile: Profile, declared: Declared, stable: int, before: int, characters: int) -> Marks:
    """Return the breakpoints of a request.

    Re-marking the end of the request before is what survives a step with many calls: a breakpoint finds an
    entry only a limited number of blocks behind it. Nothing is marked on or after state that is replaced.

    Args:
        profile: of the model.
        declared: tools and sections.
        stable: how many items stay for the next request.
        before: how many items stayed from the request before; 0 if it is not repeated.
        characters: about how long the stable items are.
    """
    if profile.family != "breakpoint":
        return Marks()
    least = DENSE * profile.minimum
    tools = sum(len(tool.spelling) for tool in declared.tools)
    system = tools + sum(len(section.text) for section in declared.sections)
    on_tools = bool(declared.tools) and tools >= least
    on_system = bool(declared.sections) and system >= least
    if system + characters < least or not stable:
        return Marks(on_tools, on_system)
    if not profile.breakpoints:  # no limit: every stable item
        return Marks(on_tools, on_system, frozenset(range(stable)))
    left = profile.breakpoints - on_tools - on_system
    ends = [stable - 1, before - 1] if 0 < before <= stable else [stable - 1]
    return Marks(on_tools, on_system, frozenset(ends[: max(left, 0)]))
