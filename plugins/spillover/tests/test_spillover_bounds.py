"""What spills, what stands in its place, and what an artifact remembers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from wakeful import ActionResult, Agent, action
from wakeful.testing import Database, ScriptedModel, TurnResult, say
from wakeful.types import Directive, Trust
from wakeful_spillover.handles import handle, number_of
from wakeful_spillover.tables import artifact, metadata

RECORDS = [
    {"id": number, "name": f"Customer number {number}", "paid": number % 2 == 0, "sum": number / 4}
    for number in range(300)
]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def artifacts(store: Database) -> list[dict[str, Any]]:
    return store.rows("select * from spillover_artifact order by conversation_id, number")


def test_a_table_is_replaced_by_about_400_characters(ask: Any, store: Database) -> None:
    turn = ask([RECORDS]).turn
    (call,) = turn.calls
    text = call.result.outputs["result"]
    assert text.startswith("[A] table, 300 rows, 18.9 KB: id integer, name text, paid boolean, sum number\n")
    assert "\n1: 0 | Customer number 0 | true | 0.0\n2: 1 | Customer number 1 | false | 0.25\n" in text
    assert text.endswith("Ask with artifact_rows, artifact_text, run_pipeline.")
    assert len(call.text) < 500
    (made,) = call.result.artifacts
    assert (made.handle, made.kind, made.rows, made.trust) == ("A", "table", 300, Trust.TRUSTED)
    (row,) = artifacts(store)
    assert (row["version"], row["action"], row["output"]) == (1, "give", "result")
    assert [json.loads(line) for line in row["content"].splitlines()] == RECORDS


@pytest.mark.parametrize(
    ("value", "spills"),
    [
        ("x" * 7_900, False),
        ("x" * 8_001, True),
        ([{"a": number, "b": "y" * 120} for number in range(25)], False),
        ([{"a": number, "b": "y" * 160} for number in range(26)], True),
        ([{"a": number, "b": "y"} for number in range(100)], False),
        ({"deep": {"er": ["z" * 3_000] * 3}}, True),
        (7, False),
        (None, False),
        (["|" * 100] * 45, True),
        ("ü" * 7_900, False),
        ("`" * 7_990, True),
    ],
)
def test_what_is_too_long_as_it_is_shown_spills(ask: Any, value: Any, spills: bool) -> None:
    (call,) = ask([value]).turn.calls
    assert bool(call.result.artifacts) is spills
    assert len(call.text) < 9_000


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ("one\ntwo\n" * 2_000, "[A] text, 4,000 lines, 16.0 KB\n1: one\n2: two\n3: one\n"),
        (
            {"code": "OK", "rows": RECORDS, "count": 300},
            '[A] table, 300 rows, 19.0 KB at $["rows"]: id integer, name text',
        ),
        (json.dumps(RECORDS), "[A] table, 300 rows, 18.9 KB: id integer"),
        (
            {"unit": {"name": "n" * 9_000, "parts": [{"id": 1}, {"id": 2}]}},
            "[A] json, 9.0 KB: {unit: {name: text, parts: [2 x {id: integer}]}}",
        ),
        (list(range(3_000)), "[A] json, 13.9 KB: [3000 x integer]"),
        (base64.b64encode(PNG).decode(), "[A] media, 10.2 KB, image/png. It is kept;"),
        ({"media_type": "audio/ogg", "data": "T2dnUw=="}, "[A] media, 4 bytes, audio/ogg."),
        ("data:application/pdf;base64,JVBERi0=", "[A] media, 5 bytes, application/pdf."),
        ("{ not json " * 1_000, "[A] text, 1 line, 11.0 KB"),
    ],
)
def test_the_kind_is_seen_from_the_value(ask: Any, value: Any, first: str) -> None:
    (call,) = ask([value]).turn.calls
    assert call.result.outputs["result"].startswith(first)


def test_media_are_kept_as_bytes_and_reach_nobody_as_text(ask: Any, store: Database) -> None:
    asked = ask([base64.b64encode(PNG).decode()], "artifact_text")
    (row,) = artifacts(store)
    path = store.path.with_name("wakeful.db.files") / row["ref"][:2] / row["ref"][2:4] / row["ref"]
    assert path.read_bytes() == PNG
    assert asked.code == "WRONG_KIND"
    assert all("iVBOR" not in request.canonical() for request in asked.turn.requests)


def test_an_action_says_its_own_bound_and_kind(run_turn: Callable[..., TurnResult]) -> None:
    @action(effect="read", spill_chars=100)
    async def short() -> str:
        """Give."""
        return "z" * 200

    @action(effect="read", spill_chars=0)
    async def never() -> str:
        """Give."""
        return "z" * 20_000

    @action(effect="read", spill_kind="text")
    async def plain() -> list[dict[str, Any]]:
        """Give."""
        return RECORDS

    @action(effect="read", spill_kind="json")
    async def nested() -> list[dict[str, Any]]:
        """Give."""
        return RECORDS

    agent = Agent(model="", actions=[short, never, plain, nested], plugins=["spillover"])
    calls = run_turn(agent, "Go", replies=[say(calls=["short", "never", "plain", "nested"]), "Done."]).calls
    kinds = [[made.kind for made in call.result.artifacts] for call in calls]
    assert kinds == [["text"], [], ["text"], ["json"]]
    assert "z" * 20_000 in calls[1].text


def test_switched_off_everything_is_inline(ask: Any, store: Database) -> None:
    (call,) = ask([RECORDS], settings={"threshold_chars": 0}).turn.calls
    assert "| 299 | Customer number 299 |" in call.text
    assert artifacts(store) == []


def test_a_long_message_and_many_outputs_are_bounded_too(ask: Any) -> None:
    several = ActionResult(
        message="much to say " * 1_000,
        outputs={f"part{number}": "p" * 7_000 for number in range(5)} | {"whole": "w" * 9_000},
        directives=(Directive("be brief"),),
    )
    (call,) = ask([several]).turn.calls
    assert {made.handle for made in call.result.artifacts} == {"A", "B", "C"}
    assert set(call.result.outputs) == {"whole", "message", "outputs"}
    assert call.result.message.endswith("(12,000 characters, whole as `message`)")
    assert "be brief" in call.text
    assert len(call.text) < 2_500


def test_one_content_has_one_handle_and_the_worst_trust(
    run_turn: Callable[..., TurnResult], store: Database
) -> None:
    @action(effect="read", output_trust="trusted")
    async def own() -> list[dict[str, Any]]:
        """Give."""
        return RECORDS

    @action(effect="read", output_trust="untrusted")
    async def strange() -> list[dict[str, Any]]:
        """Give."""
        return RECORDS

    agent = Agent(model="", actions=[own, strange], plugins=["spillover"])
    look = ("artifact_rows", {"handle": "A", "limit": 1})
    wrong = ("artifact_rows", {"handle": "A", "columns": ["nope"]})
    replies = [
        say(calls=["own", look]),
        say(calls=["own", "strange", "own"]),
        say(calls=[look, wrong]),
        "Done.",
    ]
    calls = run_turn(agent, "Go", replies=replies).calls
    assert [call.result.trust for call in calls] == [
        Trust.TRUSTED,
        Trust.TRUSTED,  # nothing is spilled yet when the same step asks
        Trust.TRUSTED,
        Trust.UNTRUSTED,
        Trust.UNTRUSTED,
        Trust.UNTRUSTED,
        Trust.UNTRUSTED,
    ]
    assert calls[5].result.source == "action:Strange"
    assert calls[6].result.code == "UNKNOWN_COLUMN"
    assert len(artifacts(store)) == 1


def test_handles_count_on_by_conversation() -> None:
    names = [handle(number) for number in (1, 2, 26, 27, 52, 53, 702, 703)]
    assert names == ["A", "B", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
    assert [number_of(name) for name in names] == [1, 2, 26, 27, 52, 53, 702, 703]
    assert (number_of("[ab]"), number_of(" b "), number_of("A1"), number_of("")) == (28, 2, None, None)


async def test_handles_and_answers_survive_in_another_process(wakeful_app: Any, store: Database) -> None:
    @action(effect="read", output_trust="trusted")
    async def give(number: int) -> str:
        """Give."""
        return f"{number}\n" * 30_000

    def agent(*replies: Any) -> Agent:
        return Agent(model=ScriptedModel(list(replies)), actions=[give], plugins=["spillover"])

    calls = say(calls=[("give", {"number": number}) for number in range(30)])
    async with wakeful_app(agent(calls, "See [B] and [AD], not [AE].")) as app:
        first = await app.send("agent", "Go", conversation="one")
        assert first.artifacts == ("B", "AD")
    model_asks = say(calls=[("artifact_text", {"handle": "[AD]", "pattern": "29", "limit": 1})])
    async with wakeful_app(agent(model_asks, "[AD] it is.")) as app:
        events = [event async for event in app.stream("agent", "Go on", conversation="one")]
        assert events[-1].answer.artifacts == ("AD",)
        ended = next(event for event in events if hasattr(event, "result"))
        assert (ended.result.outputs["total"], ended.result.outputs["lines"]) == (30_000, "1: 29")
        state = app.agents["agent"].model.requests[-1].items[-1].text
    assert "- [A] … [J]: 10 earlier ones\n- [K] text from give, " in state
    assert state.count("\n- [") == 21


async def test_forgetting_a_conversation_forgets_its_artifacts(wakeful_app: Any, store: Database) -> None:
    @action(effect="read", output_trust="trusted")
    async def give() -> str:
        """Give."""
        return "line\n" * 30_000

    agent = Agent(model=ScriptedModel([say(calls=["give"]), "Done."]), actions=[give], plugins=["spillover"])
    folder = store.path.with_name("wakeful.db.files")
    async with wakeful_app(agent) as app:
        for conversation in ("one", "two"):
            await app.send("agent", "Go", conversation=conversation)
        await app.forget("one")
        assert [row["conversation_id"] for row in artifacts(store)] == ["two"]
        assert len([path for path in folder.rglob("*") if path.is_file()]) == 1
        await app.forget("two")
    assert artifacts(store) == []
    assert [path for path in folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quota_count": 2}, "has 2 artifacts, which is the limit"),
        ({"quota_mb": 1}, "over the limit of 1 MB"),
    ],
)
def test_a_quota_is_a_clear_failure_and_what_was_there_stays(
    ask: Any, store: Database, settings: Any, said: str
) -> None:
    values = ["a" * 400_000, "b" * 400_000, "c" * 400_000, "a" * 400_000, "short"]
    calls = ask(values, settings=settings).turn.calls
    assert [call.result.code for call in calls] == [
        "SUCCESS",
        "SUCCESS",
        "ARTIFACT_QUOTA",
        "SUCCESS",
        "SUCCESS",
    ]
    assert said in calls[2].text
    assert "the call ran" in calls[2].text
    assert len(artifacts(store)) == 2


def test_a_result_is_spilled_once(ask: Any) -> None:
    asked = ask([RECORDS], "artifact_rows", limit=300)
    assert len(asked.ended.text) <= 8_000
    assert asked.ended.result.artifacts == ()
    assert asked.out["next"] == len(asked.rows) + 1


def test_the_migration_makes_the_table_of_the_code(store: Database) -> None:
    engine = create_engine(store.url)
    with engine.connect() as connection:

        def mine(name: str | None, kind: str, _: object) -> bool:
            return kind != "table" or name == artifact.name

        context = MigrationContext.configure(connection, opts={"include_name": mine})
        assert compare_metadata(context, metadata) == []
    engine.dispose()
