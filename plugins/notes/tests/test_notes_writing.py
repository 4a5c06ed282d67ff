"""What is noted, in which order it is checked, and when a note takes the place of another."""

from __future__ import annotations

import pytest

from plugins.notes.tests.noting import DAY, Desk, remember
from wakeful import action
from wakeful.types import ActionContext, ActionResult, ConfigError
from wakeful_notes import NotesSettings

TEA = "Ana drinks tea in the morning"
SHORT = "Answers in German, please, and short ones"


def small(**settings: int) -> list[object]:
    """Return the plugin with other settings."""
    from wakeful_notes import Notes

    class Small(Notes):
        name = "notes"

        def __init__(self, _: object, services: object) -> None:
            super().__init__(NotesSettings(**settings), services)  # type: ignore[arg-type]  # settings by name

    return [Small]


def test_a_note_is_stored_with_its_scope_and_its_call(desk: Desk) -> None:
    (ended,) = desk.note("  Ana drinks\n tea in the\tmorning ")
    (row,) = desk.rows()
    assert (ended.result.code, ended.result.outputs) == ("SUCCESS", {"note": row["id"]})
    assert (row["text"], row["kind"], row["status"]) == (TEA, "preference", "provisional")
    assert (row["user"], row["agent"], row["conversation"]) == ("ana", "desk", "c-1")
    assert row["key"].startswith(row["run"])
    assert "2026-01-12" in ended.text


def test_another_kind_is_refused_before_anything_else(desk: Desk) -> None:
    desk.note(TEA)
    (ended,) = desk.turn([remember(TEA, "instruction")]).calls
    assert ended.result.code == "INVALID_ARGUMENT"
    assert "preference" in ended.text
    assert len(desk.rows()) == 1
    assert desk.codes(" \n ") == ["INVALID_NOTE"]


def test_the_same_text_is_noted_once_even_when_there_is_no_room(desk: Desk) -> None:
    desk.plugins = small(max_chars=30)
    assert desk.codes(TEA, f" {TEA}  ") == ["SUCCESS", "ALREADY_NOTED"]
    assert len(desk.rows()) == 1


def test_no_room_is_said_before_nearly_the_same_is_looked_for(desk: Desk) -> None:
    desk.plugins = small(max_chars=40)
    assert desk.codes(TEA) == ["SUCCESS"]
    (ended,) = desk.note(TEA + ".")
    assert ended.result.code == "NOTES_FULL"
    assert "40 characters; there are 29" in ended.text
    assert [row["status"] for row in desk.rows()] == ["provisional"]


def test_all_notes_on_a_user_have_2000_characters(desk: Desk) -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india"]
    texts = [(word + " ") * (400 // (len(word) + 1)) for word in words]
    lengths = [len(" ".join(text.split())) for text in texts]
    codes = [desk.codes(text)[0] for text in texts]
    fit = [sum(lengths[: at + 1]) <= 2000 for at in range(len(texts))]
    assert [code == "SUCCESS" for code in codes] == fit
    assert 0 < sum(fit) < len(fit)
    assert desk.codes("x" * 2001, user="bob") == ["NOTES_FULL"]
    assert desk.codes("x" * 2000, user="bob") == ["SUCCESS"]


def test_a_run_writes_five_notes_and_the_next_one_more(desk: Desk) -> None:
    texts = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    ended = desk.turn([remember(text) for text in [*texts, "alpha"]]).calls
    codes = [call.result.code for call in ended]
    assert codes == ["SUCCESS"] * 5 + ["NOTES_LIMIT", "ALREADY_NOTED"]
    assert [row["text"] for row in desk.rows()] == texts[:5]
    assert desk.codes("foxtrot") == ["SUCCESS"]


@pytest.mark.parametrize(
    ("older", "newer", "replaced"),
    [
        ("x" * 17 + "abc", "x" * 17 + "def", True),  # 0.85 alike
        ("x" * 16 + "abcd", "x" * 16 + "efgh", False),  # 0.80
        (SHORT, SHORT.upper(), True),
        (SHORT, TEA, False),
    ],
)
def test_a_note_takes_the_place_of_one_that_says_nearly_the_same(
    desk: Desk, older: str, newer: str, replaced: bool
) -> None:
    desk.note(older)
    desk.note(newer)
    first, second = sorted(desk.rows(), key=lambda row: row["text"] != older)
    assert (first["status"] == "superseded") is replaced
    assert first["superseded_by"] == (second["id"] if replaced else "")
    assert (older in desk.sees()) is not replaced
    assert newer in desk.sees()


def test_notes_of_one_step_are_written_in_call_order(desk: Desk) -> None:
    later = TEA.replace("morning", "evening")
    ended = desk.turn([remember(TEA), remember(later)]).calls
    assert [call.result.code for call in ended] == ["SUCCESS", "SUCCESS"]
    assert later in desk.sees()
    assert TEA not in desk.sees()


def test_users_and_agents_never_share_notes(desk: Desk) -> None:
    desk.note(TEA)
    assert desk.codes(TEA, user="bob") == ["SUCCESS"]
    assert desk.codes(SHORT, name="other") == ["SUCCESS"]
    assert TEA in desk.sees()
    assert SHORT not in desk.sees()
    assert TEA not in desk.sees(name="other")
    assert TEA not in desk.sees(user="eve")


def test_a_run_without_a_user_has_no_notes(desk: Desk) -> None:
    assert desk.codes(TEA, user="") == ["NO_USER"]
    assert desk.rows() == []
    assert desk.sees(user="") == ""


def test_an_unconfirmed_note_lapses_after_seven_days(desk: Desk) -> None:
    desk.note(TEA)
    desk.clock.advance(7 * DAY - 1)
    assert TEA in desk.sees()
    desk.clock.advance(1)
    assert desk.sees() == ""
    assert desk.codes(TEA) == ["SUCCESS"]
    assert TEA in desk.sees()


def test_a_call_inside_another_call_is_refused(desk: Desk) -> None:
    @action(effect="read", output_trust="trusted", idempotent=True)
    async def twice(ctx: ActionContext) -> ActionResult:
        """Note something from inside."""
        inner = await ctx.call("remember", {"kind": "context", "text": TEA}, inner=0)
        return ActionResult(outputs={"code": inner.code})

    desk.actions = [twice]
    (ended,) = desk.turn(["twice"]).calls
    assert ended.result.outputs == {"code": "NOTE_NOT_HERE"}
    assert desk.rows() == []


def test_settings_that_mean_nothing_are_named() -> None:
    with pytest.raises(ConfigError) as caught:
        NotesSettings(max_chars=0, days=-1)
    assert "max_chars" in str(caught.value)
    assert "days" in str(caught.value)


def test_an_agent_without_the_plugin_has_no_trace_of_it(desk: Desk) -> None:
    desk.note(TEA)
    turn = desk.turn(plugins=[], name="desk")
    request = turn.requests[0].canonical()
    assert TEA not in request
    assert "remember" not in request
