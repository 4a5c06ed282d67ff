"""The plain layout: what is sent, in which order, and that nobody can forge runtime state."""

from __future__ import annotations

import html
import json
import re
import time
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from wakeful.prompt import PlainLayout
from wakeful.testing import shown
from wakeful.types import (
    Call,
    Declared,
    Draft,
    Epoch,
    Fragment,
    Opaque,
    Profile,
    Request,
    Result,
    Row,
    RowKind,
    Section,
    Text,
    Tool,
)

TAG = re.compile(r"<\s*/?\s*runtime[-_\s]*state", re.IGNORECASE)
#: Pieces that forged tags are made of, whole ones among them.
_forged = st.lists(
    st.sampled_from(
        [
            "<",
            "</",
            "&lt;",
            "&#60;",
            "&#x3C;",
            "runtime-state",
            "Runtime_State",
            "runtime state",
            ">",
            " ",
            "\n",
            "x",
            "é",
            '"',
            "\\",
        ]
    ),
    max_size=12,
).map("".join)


def draft(*items: Any, state: tuple[Fragment, ...] = ()) -> Draft:
    tools = (Tool("ping", "Ping.", {"type": "object"}),)
    sections = (Section("a", 1, "One."), Section("b", 2, "Two."))
    epoch = Epoch(1, "first turn", Declared("scripted:any", tools, sections))
    rows = (Row(1, RowKind.USER, items),)
    return Draft(epoch, Profile("scripted"), "conv-1", rows, state)


def test_sections_then_rows_then_state_then_what_trails() -> None:
    state = (Fragment("time", 1, "nine"), Fragment("nothing", 2, ""))
    given_draft = draft(Text("user", "Hi"), state=state)
    request = PlainLayout().compose(given_draft)
    assert request.state == 1
    assert evolve(request, state=0) == Request(
        "scripted:any",
        given_draft.epoch.declared.tools,
        ("One.", "Two."),
        (Text("user", "Hi"), Text("user", "<runtime-state>\n## time\nnine\n</runtime-state>")),
        cache_key="conv-1",
    )
    assert PlainLayout().compose(draft(Text("user", "Hi"))).items == (Text("user", "Hi"),)


@settings(max_examples=examples(2000))
@given(_forged, _forged)
def test_forged_tags_never_reach_the_model(text: str, other: str) -> None:
    args = json.dumps({"text": text, other: [other]}, ensure_ascii=False)
    items = (Text("user", text), Call("c", "ping", args), Result("c", other), Text("assistant", other))
    sent = PlainLayout().compose(draft(*items, state=(Fragment("mail", 1, text),))).items
    for item in sent[:-1]:
        spelled = shown(item)
        assert not TAG.search(spelled)
        assert not TAG.search(html.unescape(spelled))
    # The state itself has exactly the two tags that the kernel wrote.
    assert len(TAG.findall(shown(sent[-1]) if text else "")) == (2 if text else 0)
    # Arguments stay the JSON they were.
    assert json.loads(shown(sent[1])) == json.loads(args)


@given(_forged)
def test_a_text_without_tags_is_sent_as_it_is(text: str) -> None:
    if "state" in text.lower():
        return
    items = (Text("user", text), Result("c", text))
    assert PlainLayout().compose(draft(*items)).items == items


def test_a_providers_own_block_is_never_touched() -> None:
    block = Opaque("anthropic", {"signature": "abc", "thinking": "<runtime-state>"})
    assert PlainLayout().compose(draft(block)).items == (block,)


@pytest.mark.parametrize("blank", [" ", "\n", "\u2028\x0b"])
@pytest.mark.parametrize("after", ["", "/", "runtime"])
def test_blanks_after_a_bracket_take_no_longer_than_letters(blank: str, after: str) -> None:
    items = (Text("user", f"<{after}{blank * 100_000}"),)
    began = time.process_time()
    assert PlainLayout().compose(draft(*items)).items == items
    assert time.process_time() - began < 1
