"""What holds larger sums for a person: the toy, or the plugins that are shipped.

``WAKEFUL_TEST_APPROVALS=plugins`` in the environment chooses those.
"""

from __future__ import annotations

import os
from typing import Any

from tests.toys import Desk
from wakeful.types import Lineage
from wakeful_policy.approvals.tables import LINEAGE

#: The variable that chooses.
VARIABLE = "WAKEFUL_TEST_APPROVALS"
SHIPPED = os.environ.get(VARIABLE) == "plugins"
#: Everybody who decides in some contest.
PEOPLE = ("ana", *(f"person{number}" for number in range(100)))


def desk() -> dict[str, Any]:
    """Return what an agent is given so that payments over 50 wait for a person."""
    if not SHIPPED:
        return {"plugins": [Desk]}
    rule = {"action": "pay", "args": {"euros": {"above": 50}}, "verdict": "require_approval"}
    return {
        "plugins": ["policy", "approvals"],
        "settings": {"policy": {"rules": [rule]}},
        "approvers": PEOPLE,
    }


def lineages() -> tuple[Lineage, ...]:
    """Return the tables that go with it."""
    return (LINEAGE,) if SHIPPED else ()
