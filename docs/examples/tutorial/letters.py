"""Letters that the clerk drafts for a person to send."""

from __future__ import annotations

import re

from wakeful import ActionContext, ActionError, action


@action(effect="write", output_trust="trusted", max_executions=5)
def draft_letter(customer: str, text: str, ctx: ActionContext) -> dict[str, str]:
    """Put a letter into the folder of drafts, where a person reads and sends it.

    Args:
        customer: who it is for.
        text: the whole letter.
    """
    name = re.sub(r"\W+", "-", customer.lower()).strip("-")
    if not name:
        raise ActionError("NO_CUSTOMER", "the letter needs the name of a customer", retryable=True)
    path = ctx.services.folder / "drafts" / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return {"draft": f"drafts/{path.name}"}
