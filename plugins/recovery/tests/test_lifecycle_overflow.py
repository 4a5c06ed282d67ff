"""A context that is full: what is given up, in which order, and that runs end normally."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.recovery.tests.aging import (
    WIDE,
    Played,
    agent_of,
    called,
    look_up,
    paired,
    play,
    texts_of,
)
from wakeful.testing import ScriptedModel, say
from wakeful.types import Answer, Call, ModelError, PrefixBreak, Profile, RunStatus, Text

#: The window of the issue: 16,000 tokens.
NARROW = Profile("scripted", window=16_000, output=1_000)
TOO_LONG = ModelError("context_too_long", "the prompt is too long")


def full(answers: tuple[Answer, ...]) -> bool:
    return all(answer.status is RunStatus.COMPLETED and not answer.error for answer in answers)


def test_a_hundred_turns_with_60_000_tokens_of_results_end_normally_in_16_000() -> None:
    replies = [reply for number in range(100) for reply in called(number)]
    model = ScriptedModel(replies, profile=NARROW)
    played = play(agent_of(model, [look_up(2_400)]), [f"Question {n}" for n in range(100)])
    assert len(played.answers) == 100
    assert full(played.answers)
    assert all(paired(request) for request in played.requests)
    assert max(len(request.canonical()) for request in played.requests) / 4 < NARROW.window
    assert {change.kind for change in played.changes} == {"removed"}
    assert sum(change.tokens_saved for change in played.changes) > 30_000


def test_rows_stay_as_they_are_and_the_newest_results_stay_whole() -> None:
    replies = [reply for number in range(40) for reply in called(number)]
    model = ScriptedModel(replies, profile=NARROW)
    played = play(agent_of(model, [look_up(2_400)]), [f"Question {n}" for n in range(40)])
    shown = texts_of(played.requests[-1])
    assert "end of 39" in shown[-1]
    assert "end of 38" in shown[-2]
    assert "no longer shown" in shown[0]
    assert len(shown[0]) < 200
    calls = [item for item in played.requests[-1].items if isinstance(item, Call)]
    assert [call.args for call in calls] == [f'{{"n":{n}}}' for n in range(40)]


def _refused(turns: int, characters: int, question: str = "And now?") -> Played:
    """Play turns in a wide window, then one whose request the provider finds too long."""
    replies = [reply for number in range(turns) for reply in called(number)]
    model = ScriptedModel([*replies, TOO_LONG, "It fits now."], profile=WIDE)
    texts = [f"Question {n}" for n in range(turns)]
    return play(agent_of(model, [look_up(characters)]), [*texts, question])


@pytest.mark.parametrize(
    ("turns", "kinds", "reasons"),
    [
        (7, {"removed"}, {"no room, and 5 turns old or more"}),
        (4, {"compacted"}, {"no room, and 3 turns old or more"}),
    ],
)
def test_the_provider_says_it_is_too_long(turns: int, kinds: set[str], reasons: set[str]) -> None:
    profile = Profile("scripted", window=12_000, output=1_000)
    replies = [reply for number in range(turns) for reply in called(number)]
    model = ScriptedModel([*replies, TOO_LONG, "It fits now."], profile=profile)
    characters = 40_000 // turns
    played = play(agent_of(model, [look_up(characters)]), [*(f"Q {n}" for n in range(turns)), "And now?"])
    assert played.answers[-1].text == "It fits now."
    assert kinds <= {change.kind for change in played.changes}
    assert reasons <= {change.reason for change in played.changes}
    assert paired(played.requests[-1])


def test_each_strategy_is_reached_in_order_as_long_as_there_is_no_room() -> None:
    played = _refused(8, 3_000, question="z" * 20_000)
    assert played.answers[-1].text == "It fits now."
    reasons = list(dict.fromkeys(change.reason for change in played.changes))
    assert reasons[0] == "no room, and 5 turns old or more"
    narrow = Profile("scripted", window=4_000, output=200)
    replies = [reply for number in range(8) for reply in called(number)]
    model = ScriptedModel([*replies, "It fits now."], profile=narrow)
    texts = [*(f"Q {n}" for n in range(8)), "z" * 30_000]
    everything = play(agent_of(model, [look_up(1_400)]), texts)
    assert full(everything.answers)
    assert {change.reason for change in everything.changes} >= {
        "no room, and 5 turns old or more",
        "no room, and 2 turns old or more",
        "no room, and the last message is long",
    }


def test_a_long_last_message_keeps_its_beginning_and_end() -> None:
    profile = Profile("scripted", window=4_000, output=200)
    model = ScriptedModel(["Fine."], profile=profile)
    played = play(agent_of(model, [look_up()]), ["BEGIN " + "z" * 30_000 + " END"])
    (text,) = [item.text for item in played.requests[-1].items if isinstance(item, Text)]
    assert text.startswith("BEGIN z")
    assert text.endswith("z END")
    assert 1_000 <= len(text) < 1_100


def test_results_of_the_turn_at_hand_are_cut_to_200_characters_when_nothing_else_is_left() -> None:
    profile = Profile("scripted", window=4_000, output=200)
    calls = [("look_up", {"n": n}) for n in range(6)]
    model = ScriptedModel([say(calls=calls), "Done."], profile=profile)
    played = play(agent_of(model, [look_up(6_000)]), ["All of them"])
    assert played.answers[-1].text == "Done."
    shown = texts_of(played.requests[-1])
    assert any("first 200 of" in text for text in shown)
    assert all("expand_message" not in text for text in shown)


def test_without_anything_to_give_up_the_error_ends_the_run() -> None:
    model = ScriptedModel([TOO_LONG], profile=WIDE)
    played = play(agent_of(model, [look_up()]), ["Hello"])
    assert played.answers[-1].status is RunStatus.FAILED
    assert played.answers[-1].error == "context_too_long: the prompt is too long"


def test_it_is_tried_again_until_the_provider_takes_it() -> None:
    replies = [reply for number in range(8) for reply in called(number)]
    profile = Profile("scripted", window=30_000, output=1_000)
    model = ScriptedModel([*replies, TOO_LONG, TOO_LONG, "It fits now."], profile=profile)
    played = play(agent_of(model, [look_up(12_000)]), [*(f"Q {n}" for n in range(8)), "And now?"])
    assert played.answers[-1].text == "It fits now."
    lengths = [len(request.canonical()) for request in played.requests[-3:]]
    assert lengths[0] > lengths[1] > lengths[2]


def test_a_removed_result_cannot_be_expanded() -> None:
    replies = [reply for number in range(7) for reply in called(number)]
    profile = Profile("scripted", window=8_000, output=1_000)
    more: list[Any] = [say(calls=[("expand_message", {"sequence": 3})]), "I see."]
    model = ScriptedModel([*replies, *more], profile=profile)
    played = play(agent_of(model, [look_up(6_000)]), [*(f"Q {n}" for n in range(7)), "Once more"])
    assert played.answers[-1].text == "I see."
    assert "NOT_EXPANDABLE" in texts_of(played.requests[-1])[-1]


def test_breaks_are_declared_with_a_layout_that_watches_them() -> None:
    pytest.importorskip("wakeful_cache")
    replies = [reply for number in range(40) for reply in called(number)]
    model = ScriptedModel(replies, profile=NARROW)
    agent = agent_of(model, [look_up(2_400)], plugins=["lifecycle", "cache"])
    played = play(agent, [f"Question {n}" for n in range(40)])
    breaks = [event.change for event in played.events if isinstance(event, PrefixBreak)]
    assert breaks
    assert all(each.declared for each in breaks)
