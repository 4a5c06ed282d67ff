"""The demonstration's own state: what an assistant at a desk has before it, different in every step."""

from __future__ import annotations

from wakeful import hookimpl
from wakeful.types import Fragment, Run


class Desk:
    """Says what time it is and what was done so far. One fragment for each thing that changes by itself."""

    @hookimpl
    def prompt_state(self, run: Run) -> list[Fragment]:
        """Give the state as it is now."""
        names = [name for name, _, _ in run.done]
        done = [Fragment(f"done {place}", 20 + place, name) for place, name in enumerate(names, 1)]
        return [Fragment("time", 10, f"{run.now:%Y-%m-%d %H:%M:%S} UTC"), *done]
