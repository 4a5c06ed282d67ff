from __future__ import annotations

import os

import pytest
from sqlalchemy import create_engine, text


@pytest.fixture
def postgresql() -> str:
    """The URL of a PostgreSQL database that this test may fill, emptied first."""
    url = os.environ.get("WAKEFUL_TEST_POSTGRESQL", "")
    if not url:
        pytest.skip("WAKEFUL_TEST_POSTGRESQL names no database")
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return url
