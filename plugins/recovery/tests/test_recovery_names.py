"""Names of tools as models distort them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wakeful import Agent
from wakeful.testing import TurnResult, say
from wakeful_recovery.recovery.repair import NameRepairer

TOOLS = ("crm__list_leads", "delete", "get_record", "mail__list_leads", "mail__send_note", "send_email")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sendEmail", "send_email"),
        ("Send Email", "send_email"),
        ("SEND-EMAIL", "send_email"),
        ("functions.send_email", "send_email"),
        ("functions_send_email", "send_email"),
        ("tools/send_email", "send_email"),
        ("default_api:send_email", "send_email"),
        ("mcp__mailer__send_email", "send_email"),
        ("mailer.send_email", "send_email"),
        ("functions.get_record:3", "get_record"),
        ("get_record()", "get_record"),
        ("get_record<|channel|>commentary", "get_record"),
        ("crm.list_leads", "crm__list_leads"),
        ("mcp__crm__list_leads", "crm__list_leads"),
        ("send_note", "mail__send_note"),
        ("functions.sendNote", "mail__send_note"),
    ],
)
def test_what_is_meant_beyond_doubt_is_found(written: str, meant: str) -> None:
    assert NameRepairer().meant(written, TOOLS) == meant


@pytest.mark.parametrize(
    "written",
    [
        "list_leads",
        "erp.list_leads",
        "erp.send_note",
        "shop.delete",
        "sendmail",
        "email",
        "send",
        "",
        "functions.",
    ],
)
def test_what_could_be_something_else_is_not(written: str) -> None:
    assert NameRepairer().meant(written, TOOLS) is None


def test_prefixes_of_the_settings_are_added_and_left_out() -> None:
    repairer = NameRepairer(("shop", "erp"))
    assert repairer.meant("shop.delete", TOOLS) == "delete"
    assert repairer.meant("erp_delete", TOOLS) == "delete"
    assert repairer.meant("open_order", ("shop_open_order",)) == "shop_open_order"
    assert repairer.meant("order", ("shop_open_order",)) is None


@pytest.mark.parametrize(("settings", "code"), [({}, "SUCCESS"), ({"repair_names": False}, "UNKNOWN_TOOL")])
def test_a_distorted_call_is_carried_out_unless_the_settings_say_no(
    run_turn: Callable[..., TurnResult], shop: Any, settings: Any, code: str
) -> None:
    agent = Agent(model="", actions=shop.actions(), plugins=["recovery"], settings={"recovery": settings})
    replies = [say(calls=[("functions.lookUp", {"item": "a"})]), "Done."]
    (ended,) = run_turn(agent, "Go", replies=replies).calls
    assert ended.result.code == code
    assert shop.done == ([] if settings else ["look_up a"])
