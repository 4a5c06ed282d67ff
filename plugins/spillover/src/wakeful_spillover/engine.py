"""DuckDB as the engine for tables: no way out, bounded memory, interruptible."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakeful.types import ActionError, Files
from wakeful_spillover.jobs import Job, stopped

if TYPE_CHECKING:
    import duckdb

#: Threads of one database; a query is one of several, so two are a fair share of a small machine.
THREADS = 2
#: Bytes on disk that sorting and grouping may take beside the memory.
DISK = "2GB"
#: Length of an error's text that is passed on, in characters.
_SAID = 300


class Engine:
    """One DuckDB database in memory, which may read and write below one folder of files and nowhere else."""

    def __init__(self, memory_mb: int) -> None:
        self._memory = memory_mb
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._spill: tempfile.TemporaryDirectory[str] | None = None

    @contextlib.contextmanager
    def cursor(self, job: Job, files: Files) -> Iterator[Any]:
        """Give a connection of its own, which ends with the block and when the job is stopped.

        Args:
            job: whose query it is.
            files: where contents are.

        Raises:
            ActionError: QUERY_STOPPED, QUERY_TOO_LARGE or QUERY_FAILED.
        """
        import duckdb

        cursor = self._open(files.path("0" * 64).parents[2]).cursor()
        job.interruptible(cursor.interrupt)
        try:
            yield cursor
        except duckdb.InterruptException:
            raise stopped(job.seconds) from None
        except duckdb.OutOfMemoryException:
            raise ActionError(
                "QUERY_TOO_LARGE",
                f"the query needs more than the {self._memory} MB that queries may use",
                suggestion="Filter first, or ask for fewer columns or groups.",
            ) from None
        except duckdb.Error as error:
            said = " ".join(str(error).split())[:_SAID]
            raise ActionError("QUERY_FAILED", f"the table cannot be queried like this: {said}") from None
        finally:
            job.interruptible(None)
            cursor.close()

    def close(self) -> None:
        """End the database."""
        with self._lock:
            database, self._database = self._database, None
            spill, self._spill = self._spill, None
        if database is not None:
            database.close()
        if spill is not None:
            spill.cleanup()

    def _open(self, folder: Path) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._database is None:
                self._spill = tempfile.TemporaryDirectory(prefix="wakeful-duckdb-")
                self._database = _connect(folder, Path(self._spill.name), self._memory)
            return self._database


def _connect(folder: Path, spill: Path, memory_mb: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect(":memory:", config={"threads": str(THREADS), "memory_limit": f"{memory_mb}MB"})
    for setting in (
        f"temp_directory = {quoted(str(spill))}",
        f"max_temp_directory_size = '{DISK}'",
        f"allowed_directories = [{quoted(f'{folder.absolute()}/')}]",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "python_enable_replacements = false",
        "parquet_metadata_cache = true",  # contents never change
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        database.execute(f"SET {setting}")
    return database


def quoted(text: str) -> str:
    """Return a text as SQL spells it."""
    return "'" + text.replace("'", "''") + "'"
