"""Actions over any SQL database for wakeful agents."""

from wakeful_records.plugin import Records
from wakeful_records.settings import RecordsSettings

__all__ = ["Records", "RecordsSettings"]
