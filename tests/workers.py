"""Databases of their own for the processes that run tests beside each other (``pytest -n 2``)."""

from __future__ import annotations

import os

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

#: Set by pytest-xdist in each of its processes.
WORKER = "PYTEST_XDIST_WORKER"
#: Addresses of databases that tests fill and empty, and how one is taken away there, whoever uses it.
DROPS = {
    "WAKEFUL_TEST_POSTGRESQL": "DROP DATABASE IF EXISTS {} WITH (FORCE)",
    "WAKEFUL_TEST_MARIADB": "DROP DATABASE IF EXISTS {}",
}


def separate() -> None:
    """Make this process's own database on each server, and let the environment name it."""
    worker = os.environ.get(WORKER)
    for variable, drop in DROPS.items():
        if worker and os.environ.get(variable):
            os.environ[variable] = _own(os.environ[variable], worker, drop)


def _own(address: str, worker: str, drop: str) -> str:
    url = make_url(address.replace("postgresql://", "postgresql+psycopg://", 1))
    own = url.set(database=f"{url.database}_{worker}")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(drop.format(own.database)))
        connection.execute(text(f"CREATE DATABASE {own.database}"))
    engine.dispose()
    return own.render_as_string(hide_password=False)
