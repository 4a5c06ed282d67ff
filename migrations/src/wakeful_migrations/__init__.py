"""Alembic environment and the kernel's revisions for wakeful.

Every owner (the kernel, each plugin with tables) has a lineage of its own: its revisions live in its own
package, its version table is ``alembic_<owner>``. So a plugin can be removed without breaking the
upgrades of the others; its tables stay where they are.
"""

from wakeful_migrations.compare import check
from wakeful_migrations.lineage import KERNEL, Lineage, MigrationError, ordered
from wakeful_migrations.runner import Applied, State, current, upgrade

__all__ = [
    "KERNEL",
    "Applied",
    "Lineage",
    "MigrationError",
    "State",
    "check",
    "current",
    "ordered",
    "upgrade",
]
