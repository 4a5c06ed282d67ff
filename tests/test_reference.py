"""The reference pages: nothing that is exported is left out."""

from __future__ import annotations

import pytest

from tests.layout import ROOT
from wakeful import types

PAGES = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md"))


@pytest.mark.parametrize("name", types.__all__)
def test_everything_exported_is_on_a_page(name: str) -> None:
    assert f"### `{name}`\n" in PAGES or f"| `{name}` | " in PAGES
