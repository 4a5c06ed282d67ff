"""The list of artifacts in the runtime state, so that a model knows what it can ask about."""

from __future__ import annotations

from wakeful.results.artifacts import known
from wakeful.types import Artifact, Fragment, Run
from wakeful_spillover.describe import size

#: Artifacts that are listed with what they are; of earlier ones only how many there are.
LISTED = 20
#: Place of the list among the fragments of the state.
ORDER = 300


def manifest(run: Run) -> Fragment | None:
    """Return the list of the conversation's artifacts, newest last; None if there is none.

    It says nothing that came from outside: handle, kind, tool name and sizes only. So it is trusted.
    """
    there = list(known(run.rows).values())
    if not there:
        return None
    lines = [f"Artifacts (ask with {_tools(there)}):"]
    earlier = len(there) - LISTED
    if earlier > 0:
        lines.append(f"- [{there[0].handle}] … [{there[earlier - 1].handle}]: {earlier} earlier ones")
    lines += [_line(each) for each in there[-LISTED:]]
    return Fragment("artifacts", ORDER, "\n".join(lines))


def _line(each: Artifact) -> str:
    rows = "" if each.rows is None else f", {each.rows:,} rows"
    again = f", version {each.version}" if each.version > 1 else ""
    return f"- [{each.handle}] {each.kind} from {each.name}{again}{rows}, {size(each.size)}"


def _tools(there: list[Artifact]) -> str:
    kinds = {each.kind for each in there}
    names = [
        f"artifact_{'rows' if kind == 'table' else kind}"
        for kind in ("table", "json", "text")
        if kind in kinds
    ]
    return ", ".join([*names, "artifact_info"])
