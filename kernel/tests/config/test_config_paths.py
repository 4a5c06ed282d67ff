"""Addresses and paths are resolved from the folder of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from wakeful.config import resolve_path, resolve_url

FOLDER = Path("/srv/app")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///wakeful.db", "sqlite:////srv/app/wakeful.db"),
        ("sqlite:///data/wakeful.db", "sqlite:////srv/app/data/wakeful.db"),
        ("sqlite:///./a b.db", "sqlite:////srv/app/a b.db"),
        ("sqlite:///wakeful.db?timeout=5&mode=ro", "sqlite:////srv/app/wakeful.db?timeout=5&mode=ro"),
        ("sqlite+aiosqlite:///wakeful.db", "sqlite+aiosqlite:////srv/app/wakeful.db"),
        ("sqlite://", "sqlite://"),
        ("sqlite:///", "sqlite:///"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite:////var/wakeful.db", "sqlite:////var/wakeful.db"),
        ("sqlite:///C:/data/wakeful.db", "sqlite:///C:/data/wakeful.db"),
        ("sqlite:///file:wakeful.db?mode=ro&uri=true", "sqlite:///file:wakeful.db?mode=ro&uri=true"),
        ("postgresql://localhost/wakeful", "postgresql://localhost/wakeful"),
        ("postgresql+psycopg:///wakeful", "postgresql+psycopg:///wakeful"),
    ],
)
def test_only_relative_sqlite_files_change(url: str, expected: str) -> None:
    assert resolve_url(url, FOLDER) == expected
    assert resolve_url(expected, Path("/elsewhere")) == expected


def test_the_resolved_address_is_the_file_sqlalchemy_opens(tmp_path: Path) -> None:
    assert make_url(resolve_url("sqlite:///data/x.db", tmp_path)).database == str(tmp_path / "data" / "x.db")


def test_paths() -> None:
    assert resolve_path("desk.md", FOLDER) == FOLDER / "desk.md"
    assert resolve_path("/etc/desk.md", FOLDER) == Path("/etc/desk.md")


def test_a_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_path("desk.md", Path("sub")) == tmp_path / "sub" / "desk.md"
