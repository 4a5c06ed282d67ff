"""Arguments that are taken out of artifacts: ``{"$from": "artifact[A].rows[0].id"}``."""

from __future__ import annotations

import re
from typing import Any

from attrs import field, frozen

from wakeful.types import ActionError, Referred, Run, Services
from wakeful_spillover.documents import Asked
from wakeful_spillover.jobs import Job, Runner
from wakeful_spillover.shape import PARSE_CHARS
from wakeful_spillover.shelf import find
from wakeful_spillover.sources import Sources
from wakeful_spillover.tables import Stored

_PATH = re.compile(r"\[\s*([A-Za-z]{1,8})\s*\](.*)", re.DOTALL)


@frozen
class ArtifactReference:
    """Gives what stands in an artifact, with its trust and source; see :class:`wakeful.types.Reference`."""

    services: Services = field(repr=False, eq=False)
    runner: Runner = field(repr=False, eq=False)
    sources: Sources = field(repr=False, eq=False)
    name: str = field(default="artifact", init=False)

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return the value at ``[A]`` and the JSON path that follows; without one, the whole artifact.

        Raises:
            ActionError: there is no such artifact, nothing is at the path, or it is too large.
        """
        written = _PATH.fullmatch(path.strip())
        if written is None:
            raise ActionError(
                "INVALID_REFERENCE", f"artifact{path} names no artifact", suggestion="Write artifact[A].path."
            )
        found = await find(self.services, run.conversation, written[1])
        rest = written[2].strip()
        try:
            value = await self.runner.run(lambda job: self._value(job, found, rest))
        except ActionError as error:
            raise error.quoting(found.trust, found.source) from None  # it names what is there instead
        return Referred(value, found.trust, found.source)

    def _value(self, job: Job, found: Stored, rest: str) -> Any:
        files = self.services.files
        if found.kind == "text" and not rest:
            if found.size > PARSE_CHARS:
                raise ActionError("QUERY_TOO_LARGE", f"[{found.handle}] is too large for an argument")
            return self.sources.text(files, found).decode()
        _, items = self.sources.looked(job, files, found, Asked(f"${rest}"))
        if not items:
            raise ActionError("NOTHING_THERE", f"nothing is at {rest} of [{found.handle}]")
        return items[0] if len(items) == 1 else items
