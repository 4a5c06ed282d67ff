"""What a search answers, and that it answers whatever it is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from wakeful.testing import say
from wakeful.testing.catalogue import actions
from wakeful.types import Action, ActionResult, Json
from wakeful_multiplexer.index import Index
from wakeful_multiplexer.synonyms import Synonyms

CATALOGUE = actions()
INDEX = Index(CATALOGUE, Synonyms.of())


def found(query: str, limit: int = 5, index: Index = INDEX) -> list[str]:
    return [CATALOGUE[hit.place].tool_name for hit in index.search(query, limit)]


def searched(play: Any, args: Mapping[str, Json], **more: Any) -> ActionResult:
    result = play(say(calls=[("search_available_actions", args)]), **more)
    ended: ActionResult = result.calls[0].result
    return ended


def text(result: ActionResult) -> str:
    return str(result.outputs["actions"])


def whole(result: ActionResult) -> dict[str, Any]:
    """Return what the answer shows with parameters: tool name to schema."""
    blocks = [block for block in text(result).split("\n\n") if "\n{" in block]
    return {block.split(" [")[0]: json.loads(block[block.index("\n{") :]) for block in blocks}


def named(result: ActionResult) -> list[str]:
    return [line[2:].split(" [")[0] for line in text(result).splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    "spelling",
    [
        "billing_update_invoice",
        "Billing Update Invoice",
        "BILLING-UPDATE-INVOICE",
        "billingUpdateInvoice",
        "update_invoice",
        "billing_udpate_invoice",
        "biling update invoice",
    ],
)
def test_a_name_is_found_however_it_is_written(spelling: str) -> None:
    assert found(spelling)[0] == "billing_update_invoice"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("create invoice billing", "billing_create_invoice"),
        ("change deal stage", "crm_update_deal"),
        ("erase a coupon", "shop_delete_coupon"),  # a synonym of the verb
        ("appointment with attendees", "calendar_create_event"),  # of the record
        ("get rid of the vehicle", "fleet_delete_vehicle"),  # of two words together
        ("gross pay month", "people_update_payslip"),  # by parameters alone
    ],
)
def test_a_few_words_find_it(query: str, name: str) -> None:
    assert name in found(query)


def test_every_action_is_found_by_verb_object_and_app() -> None:
    queries = [(action.tool_name, action.tool_name.split("_")) for action in CATALOGUE]
    missed = [name for name, (app, verb, record) in queries if found(f"{verb} {record} {app}")[0] != name]
    assert missed == []


def test_own_synonyms_and_keywords_count() -> None:
    assert "people_create_absence" not in found("krankmeldung")
    own = Index(CATALOGUE, Synonyms.of({"Krankmeldung": ("absence",)}))
    assert "people_create_absence" in found("krankmeldung", index=own)
    marked = [
        evolve(action, keywords=("sick note",)) if action.tool_name == "people_create_absence" else action
        for action in CATALOGUE
    ]
    assert found("sick note", 1, Index(marked, Synonyms.of())) == ["people_create_absence"]


@pytest.mark.parametrize("name", ["mcp_git_hub_create_issue", "git_hub_create_issue", "create_issue"])
def test_a_name_that_repeats_its_category_is_found_without_it(name: str) -> None:
    action = evolve(CATALOGUE[0], tool_name="mcp_git_hub_create_issue", name="Make It", category="git-hub")
    (first, *_) = Index([*CATALOGUE, action], Synonyms.of()).search(name, 3)
    assert (first.place, first.exact) == (len(CATALOGUE), True)


HOSTILE = [
    "",
    " ",
    "AND",
    "NEAR(",
    "foo*",
    '"',
    "^.*(a+)+$",
    "\\",
    "\0",
    "日本語",
    "🎉",
    "x" * 5_000,
    "%",
    "--",
]


@pytest.mark.parametrize("query", [*HOSTILE, "the of", "\ud800", "a " * 9_999])
def test_hostile_queries_are_answered(query: str) -> None:
    assert len(found(query)) <= 5


@settings(max_examples=examples(2_000), deadline=None)
@given(st.text(st.characters(codec=None), max_size=60), st.integers(1, 20))
def test_any_text_is_answered_within_the_limit_and_without_repeats(query: str, limit: int) -> None:
    names = found(query, limit)
    assert len(names) <= limit
    assert len(names) == len(set(names))
    assert names == found(query, limit)


def test_words_without_blanks_are_found_by_their_characters() -> None:
    action = evolve(CATALOGUE[0], name="天気予報", tool_name="weather", description="東京の天気を調べる")
    (hit, *_) = Index([*CATALOGUE, action], Synonyms.of()).search("東京の天気", 3)
    assert hit.place == len(CATALOGUE)


def test_a_thousand_actions_are_searched_in_less_than_three_milliseconds() -> None:
    many = actions(1_000)
    index = Index(many, Synonyms.of())
    queries = [
        f"{verb} {record}" for verb in ("make", "find") for record in ("deal", "trip", "coupon", "page")
    ]
    index.search("warm up", 5)
    rounds = []
    for _ in range(8):  # the best of them: a shared machine slows some down
        began = time.process_time()
        for query in queries:
            index.search(query, 10)
        rounds.append((time.process_time() - began) / len(queries))
    assert min(rounds) < 0.003


def test_the_best_three_come_with_parameters_and_others_by_name(play: Any) -> None:
    result = searched(play, {"queries": ["create invoice billing"]})
    assert next(iter(whole(result))) == "billing_create_invoice"
    assert len(whole(result)) == 3
    assert len(named(result)) == 7
    schema = whole(result)["billing_create_invoice"]
    assert schema["required"] == ["customer"]
    assert set(schema["properties"]) == {"customer", "total", "due_date", "dry_run"}
    assert result.message == "3 with parameters, 7 by name"


def test_exact_names_come_with_parameters_however_many_they_are(play: Any) -> None:
    names = [action.tool_name for action in CATALOGUE if action.category == "fleet"][:6]
    assert list(whole(searched(play, {"queries": names}))) == names
    (only,) = whole(searched(play, {"queries": ["Wiki Delete Space"]}))
    assert only == "wiki_delete_space"


def test_several_queries_share_one_answer(play: Any) -> None:
    queries = ["create ticket helpdesk", "search payslip people", "delete trip fleet", "update label mail"]
    result = searched(play, {"queries": queries, "limit": 6})
    assert list(whole(result)) == [
        "helpdesk_create_ticket",
        "people_search_payslip",
        "fleet_delete_trip",
        "mail_update_label",
    ]
    assert len(named(result)) == 2


def test_a_category_narrows_the_search(play: Any) -> None:
    result = searched(play, {"queries": ["create"], "category": "Wiki"})
    assert {name.split("_")[0] for name in (*whole(result), *named(result))} == {"wiki"}
    wrong = searched(play, {"queries": ["create"], "category": "wikki"})
    assert (wrong.success, wrong.code) == (False, "UNKNOWN_CATEGORY")
    assert wrong.recovery is not None
    assert wrong.recovery.suggested_values == ("wiki",)


@pytest.mark.parametrize("queries", [[], [""], ["  ", "\n"]])
def test_without_a_query_the_categories_are_counted(play: Any, queries: list[str]) -> None:
    own = [
        evolve(CATALOGUE[0], tool_name="loose", category=""),
        evolve(CATALOGUE[0], tool_name="more", category="a"),
    ]
    result = searched(play, {"queries": queries}, own=own, number=25, min_hidden_tokens=0)
    assert result.outputs["categories"] == "crm (12), mail (12), Uncategorized (1), a (1), calendar (1)"
    inside = searched(
        play, {"queries": queries, "category": "calendar"}, own=own, number=25, min_hidden_tokens=0
    )
    assert inside.outputs["names"] == "calendar_create_event"


def test_what_matches_nothing_says_what_there_is(play: Any) -> None:
    result = searched(play, {"queries": ["🎉"]})
    assert result.success
    assert result.message == "no action matches; try other words"
    assert "wiki (12)" in result.outputs["categories"]


def test_one_query_or_a_list_as_text_is_understood(play: Any) -> None:
    for args in ({"query": "create ticket helpdesk"}, {"queries": "create ticket helpdesk"}):
        assert "helpdesk_create_ticket" in whole(searched(play, args))
    assert "shop_delete_order" in whole(searched(play, {"queries": '["delete order shop"]'}))


def test_a_declared_action_is_not_explained_again(play: Any) -> None:
    result = searched(play, {"queries": ["crm_create_deal"]}, pinned=["crm_create_deal"])
    assert text(result).startswith("crm_create_deal: one of your tools; call it directly.")


def test_answers_are_bounded_whatever_schemas_are_like(play: Any) -> None:
    def large(action: Action) -> Action:
        properties = {
            f"field_{n}": {"type": "string", "enum": [f"value_{n}_{m}" for m in range(40)]} for n in range(60)
        }
        properties["note"] = {"type": "string", "description": "n" * 900}
        return evolve(action, schema={"type": "object", "properties": properties, "required": ["note"]})

    own = [
        large(evolve(each, tool_name=f"big_{n}", name=f"big {n}")) for n, each in enumerate(CATALOGUE[:30])
    ]
    result = searched(play, {"queries": ["create contact crm", "big_7"], "limit": 20}, own=own, number=0)
    assert len(text(result)) <= 8_000
    assert "big_7 [crm]: Change fields of an existing company" in text(result)
    assert "Parameters: " in text(result)
    assert "note (required)" in text(result)


NAMES = ("crm_create_deal", "fleet_search_trip", "wiki_delete_space")


def test_names_that_were_found_stand_in_the_state(play: Any) -> None:
    result = play(
        say(calls=[("search_available_actions", {"queries": ["Wiki Delete Space", "crm_create_deal"]})]),
        "Found.",
        say(calls=[("fleet_search_trip", {"driver": "Ana"})]),
        texts=("Look.", "Go on."),
    )
    states = ["\n".join(item.text for item in r.items if hasattr(item, "text")) for r in result.requests]
    found = [[name for name in NAMES if f"action {name}\ncallable by name" in state] for state in states]
    assert found[0] == []
    assert found[1] == ["wiki_delete_space"]  # the other is a tool
    assert found[3] == ["fleet_search_trip", "wiki_delete_space"]


def test_two_searches_of_one_step_are_both_remembered(play: Any) -> None:
    calls = [
        ("search_available_actions", {"queries": [name]})
        for name in ("wiki_delete_page", "mail_create_filter")
    ]
    result = play(say(calls=calls))
    state = result.requests[1].items[-1].text
    assert all(f"action {name}\ncallable" in state for name in ("mail_create_filter", "wiki_delete_page"))
