"""What is in stock."""

from __future__ import annotations

from wakeful import action

STOCK = {"blue lamp": 3, "red lamp": 0}


@action(effect="read", output_trust="trusted")
def in_stock(article: str) -> int:
    """Say how many of an article are in stock."""
    return STOCK.get(article.lower(), 0)
