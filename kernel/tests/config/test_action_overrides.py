"""Which override an action gets, and what it changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from wakeful.config import ActionOverride, ParamOverride, overrides_for, unused_patterns
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    DeclarationError,
    Effect,
    Expiration,
    Json,
    Param,
    Trust,
)


async def _nothing(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    return ActionResult()


SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}
ACTION = Action("Send Email", "Send it.", SCHEMA, _nothing, params=(Param("Address", name="to"),))


def chosen(*patterns: str) -> str:
    overrides = {pattern: ActionOverride(description=pattern) for pattern in patterns}
    return overrides_for("send_email", "Send Email", overrides).description or ""


@pytest.mark.parametrize(
    ("patterns", "winner"),
    [
        (("*", "send_*", "send_email"), "send_email"),
        (("Send Email", "send_email"), "send_email"),
        (("send_emai?", "Send Email"), "Send Email"),
        (("*", "send_*", "se*"), "send_*"),
        (("s*", "*_email"), "s*"),
        (("*", "*_email"), "*_email"),
        (("*email", "*mail"), "*email"),
        (("Send *", "*"), "Send *"),
        (("other", "SEND_EMAIL"), ""),
        ((), ""),
    ],
)
def test_the_most_specific_pattern_wins_in_any_order(patterns: tuple[str, ...], winner: str) -> None:
    assert chosen(*patterns) == winner
    assert chosen(*reversed(patterns)) == winner


def test_patterns_are_not_combined() -> None:
    overrides = {"*": ActionOverride(pinned=True), "send_email": ActionOverride(max_executions=3)}
    assert overrides_for("send_email", "Send Email", overrides) == ActionOverride(max_executions=3)


def test_patterns_that_match_nothing_are_found() -> None:
    overrides = {each: ActionOverride() for each in ("send_emial", "Send Email", "read_*", "*")}
    assert unused_patterns(overrides, [("send_email", "Send Email")]) == ("send_emial", "read_*")


def test_an_override_changes_only_what_it_says() -> None:
    changed = ActionOverride(
        effect=Effect.WRITE,
        output_trust=Trust.TRUSTED,
        pinned=False,
        max_executions=0,
        spill_chars=0,
        expiration=Expiration(2),
    ).apply(ACTION)
    assert (changed.effect, changed.output_trust) == (Effect.WRITE, Trust.TRUSTED)
    assert (changed.max_executions, changed.spill_chars) == (0, 0)
    assert changed.expiration == Expiration(2)
    assert (changed.name, changed.tool_name, changed.schema) == (ACTION.name, "send_email", ACTION.schema)
    assert ActionOverride().apply(ACTION) is ACTION


def test_parameters_get_roles_and_descriptions() -> None:
    changed = ActionOverride(
        params={"to": ParamOverride(role="destination"), "body": ParamOverride("What to say", "content")}
    ).apply(ACTION)
    assert changed.roles == {"to": "destination", "body": "content"}
    assert changed.params[0].description == "Address"
    assert changed.schema["properties"]["body"] == {"type": "string", "description": "What to say"}
    assert "description" not in ACTION.schema["properties"]["body"]


def test_an_unknown_parameter_names_the_action_and_the_nearest() -> None:
    override = ActionOverride(params={"boddy": ParamOverride(role="content")})
    with pytest.raises(DeclarationError, match="'send_email' has no parameter 'boddy'; did you mean 'body'"):
        override.apply(ACTION)
