"""Artifacts that an action replaces, and lengths as an envelope shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wakeful import ActionResult, Agent, action, hookimpl
from wakeful.testing import TurnResult, say
from wakeful.types import AgentView, Envelope, Trust


@action(effect="read", output_trust="trusted")
async def draft(text: str, replaces: str = "") -> ActionResult:
    """Write a draft, or a new version of one."""
    return ActionResult(outputs={"text": text}, replaces={"text": replaces} if replaces else {})


def drafts(run_turn: Callable[..., TurnResult], *drafted: tuple[str, str], **agent: Any) -> TurnResult:
    calls = [say(calls=[("draft", {"text": text, "replaces": handle})]) for text, handle in drafted]
    about = say(calls=[("artifact_info", {"handle": "C"})])
    made = Agent(model="", actions=[draft], plugins=["spillover"], **agent)
    return run_turn(made, "Go", replies=[*calls, about, "Done."])


def test_an_action_replaces_an_artifact_under_its_name(run_turn: Callable[..., TurnResult]) -> None:
    turn = drafts(run_turn, ("one " * 3_000, ""), ("two " * 3_000, "A"), ("short", "[b]"))
    first, second, third, about = turn.calls
    assert first.result.outputs["text"].startswith("[A] text, 1 line, ")
    assert second.result.outputs["text"].startswith("[B] text, version 2, 1 line, ")
    assert third.result.outputs["text"].startswith("[C] text, version 3, 1 line, 5 bytes")
    made_by = about.result.outputs["artifact"]["made_by"]
    assert made_by == "draft 2026-01-05 09:00:00Z, output text, version 3"
    state = turn.requests[-1].canonical()
    assert "[A] text from draft, 12.0 KB" in state
    assert "[C] text from draft, version 3, 5 bytes" in state


def test_replacing_what_is_not_there_is_a_failed_result(run_turn: Callable[..., TurnResult]) -> None:
    (failed, about) = drafts(run_turn, ("one " * 3_000, "Q")).calls
    assert (failed.result.success, failed.result.code) == (False, "NO_SUCH_ARTIFACT")
    assert "the call ran" in failed.text
    assert "there is no artifact 'Q' to replace" in failed.text
    assert about.result.code == "NO_SUCH_ARTIFACT"


class Escaping:
    """Writes brackets as entities."""

    def wrap(self, text: str, trust: Trust, source: str, nonce: str) -> str:  # the protocol
        return "<data>" + text.replace("<", "&lt;").replace(">", "&gt;") + "</data>"


class Marking:
    """Puts what comes from outside in an envelope that escapes."""

    name = "marking"

    @hookimpl
    def result_envelope(self, agent: AgentView) -> Envelope:  # the hook's argument
        return Escaping()


@pytest.mark.parametrize(
    ("value", "trust", "spills"),
    [
        ("<p>" * 1_200, "untrusted", True),
        ("<p>" * 1_200, "trusted", False),
        ("ppp" * 1_200, "untrusted", False),
        ("<p>" * 400, "untrusted", False),
    ],
)
def test_length_is_that_after_escaping(
    run_turn: Callable[..., TurnResult], value: str, trust: Any, spills: bool
) -> None:
    @action(effect="read", output_trust=trust)
    async def page() -> str:
        """Give a page."""
        return value

    made = Agent(model="", actions=[page], plugins=["spillover", Marking])
    (call,) = run_turn(made, "Go", replies=[say(calls=["page"]), "Done."]).calls
    assert bool(call.result.artifacts) is spills
    assert len(call.text) < 8_100
