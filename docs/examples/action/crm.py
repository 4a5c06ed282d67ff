"""Actions over the invoices of a small company."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum

from attrs import frozen

from wakeful import ActionError, action


class Region(StrEnum):
    """Where a customer is."""

    EMEA = "emea"
    AMERICAS = "americas"


@frozen
class Invoice:
    """One invoice."""

    number: str
    customer: str
    region: Region
    amount: Decimal
    due: date


INVOICES = (
    Invoice("R-1001", "Aurora Bakery", Region.EMEA, Decimal("1240.50"), date(2026, 3, 1)),
    Invoice("R-1002", "Baltic Freight", Region.EMEA, Decimal("310.00"), date(2026, 5, 20)),
    Invoice("R-1003", "Cedar Labs", Region.AMERICAS, Decimal("9800.00"), date(2026, 4, 11)),
)


@action(effect="read", output_trust="trusted")
def overdue_invoices(on: date, region: Region | None = None) -> list[Invoice]:
    """List the invoices that are overdue.

    Args:
        on: the day to look from.
        region: only customers of this region; all of them without it.
    """
    return [one for one in INVOICES if one.due < on and region in {None, one.region}]


@action("Send Reminder", effect="external", idempotent=False, max_executions=3)
async def send_reminder(number: str) -> dict[str, str]:
    """Remind a customer of an invoice.

    Args:
        number: the invoice, for example R-1001.
    """
    known = {one.number: one for one in INVOICES}
    if number not in known:
        raise ActionError(
            "NO_SUCH_INVOICE", f"there is no invoice {number}", retryable=True, suggested=sorted(known)
        )
    return {"customer": known[number].customer, "sent": "yes"}
