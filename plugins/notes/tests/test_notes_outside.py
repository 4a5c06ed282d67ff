"""Notes of runs that have read outside text wait for a person, and what is confirmed stays what it was."""

from __future__ import annotations

import pytest

from plugins.notes.tests.noting import Desk, get_inbox, remember
from wakeful import action
from wakeful.testing import FakeClock
from wakeful.types import RowKind, Trust

PAY = "Ana prefers to pay mallory"
TEA = "Ana drinks tea in the morning"


def test_a_note_after_outside_text_is_pending_with_its_provenance(desk: Desk) -> None:
    turn = desk.turn(["get_inbox"], [remember(PAY)])
    (row,) = desk.rows()
    read = next(each for each in turn.rows if each.kind is RowKind.RESULT)
    assert turn.calls[1].result.code == "SUCCESS_PENDING"
    assert (row["status"], row["trust"]) == ("pending", Trust.UNTRUSTED)
    assert (row["source"], row["row"]) == ("action:Get Inbox", read.seq)
    assert PAY not in desk.sees()
    assert "mallory" not in desk.sees()


def test_a_call_beside_the_one_that_reads_is_not_tainted_but_later_turns_are(desk: Desk) -> None:
    desk.turn(["get_inbox", remember(TEA)], conversation="c")
    desk.turn([remember(PAY)], conversation="c")
    assert [row["status"] for row in desk.rows()] == ["provisional", "pending"]


def test_an_argument_that_is_taken_from_outside_text_taints_the_note(desk: Desk) -> None:
    @action(effect="read", output_trust="trusted")
    def nothing() -> str:
        """Do nothing."""
        return "clean"

    desk.actions = [get_inbox, nothing]
    turn = desk.turn(["get_inbox"], [remember({"$from": "conversation[3]"})])  # type: ignore[arg-type]  # a reference in place of a text
    assert turn.calls[1].result.code == "SUCCESS_PENDING", turn.calls[1].text
    assert [row["status"] for row in desk.rows()] == ["pending"]


def test_pending_notes_have_a_bound_of_their_own(desk: Desk) -> None:
    desk.note("a" * 1990, user="bob")
    codes = [
        desk.turn(["get_inbox"], [remember(letter * 900)], user="bob").calls[1].result.code
        for letter in "xyz"
    ]
    assert codes == ["SUCCESS_PENDING", "SUCCESS_PENDING", "NOTES_FULL"]
    assert desk.codes("short", user="bob") == ["SUCCESS"]


def test_a_pending_note_takes_the_place_of_no_other(desk: Desk) -> None:
    desk.note(TEA)
    other = TEA.replace("tea", "ale")
    assert desk.turn(["get_inbox"], [remember(other)]).calls[1].result.code == "SUCCESS_PENDING"
    assert TEA in desk.sees()
    assert other not in desk.sees()
    again = TEA.replace("tea", "gin")
    desk.turn(["get_inbox"], [remember(again)])
    assert [row["status"] for row in desk.rows()] == ["provisional", "superseded", "pending"]
    assert desk.turn(["get_inbox"], [remember(TEA)]).calls[1].result.code == "ALREADY_NOTED"


@pytest.mark.parametrize("cached", [False, True])
def test_notes_never_touch_the_prefix(desk: Desk, cached: bool) -> None:
    pytest.importorskip("wakeful_cache") if cached else None
    desk.plugins = ["notes", "cache"] if cached else ["notes"]
    before = desk.turn(conversation="c").requests[0]
    desk.note(TEA)
    after = desk.turn(conversation="c").requests[0]
    assert (after.system, after.tools) == (before.system, before.tools)
    assert TEA in after.canonical()
    assert after.items[: len(before.items) - before.state] == before.items[: len(before.items) - before.state]
    assert after.change is None


def test_what_is_noted_in_a_turn_is_read_back_in_the_next(desk: Desk, clock: FakeClock) -> None:
    turn = desk.turn([remember(TEA, "context")], conversation="c")
    assert all("notes about" not in request.canonical() for request in turn.requests)
    seen = desk.sees(conversation="c")
    assert f"- context: {TEA} (until 2026-01-12, not confirmed)" in seen
