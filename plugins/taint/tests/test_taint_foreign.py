"""Free text that leads elsewhere or gives a code away goes to a person however it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wakeful.types import Verdict

Make = Callable[..., Any]
MAIL = "Code AB-12345-X, pin 987654321, key K7F2-Q9ZZ, card 4111-1111-1111-1111, on 2026-11-29"


@pytest.fixture
def body(world: Make) -> Callable[[str], Verdict]:
    def judge(text: str) -> Verdict:
        made = world("Mail bob@x.org the total, see https://docs.example.com")
        made.read(MAIL)
        verdict: Verdict = made.ask("mail", to="bob@x.org", body=text).verdict
        return verdict

    return judge


@pytest.mark.parametrize(
    "text",
    [
        "https://docs.example.com'.evil.example/?d=s",
        "https://docs.example.com).evil.example/?d=s",
        "https://docs.example.com'x.evil.example/",
        "<img src='//abc.evil.example'>",
        "see //evil.example now",
        "see:evil.example/x",
        "evil.example./x",
        "mallory\u034f@evil.example",
        "mallory@\ufe0fevil.example",
    ],
)
def test_a_link_to_elsewhere(body: Callable[[str], Verdict], text: str) -> None:
    assert body(text) is Verdict.REQUIRE_APPROVAL


@pytest.mark.parametrize(
    "text",
    [
        "987,654,321",
        "987.654.321",
        "987-654-321",
        "9/8/7/6/5/4/3/2/1",
        "987_654_321",
        "9 8 7 6 5 4 3 2 1",
        "\u0669\u0668\u0667\u0666\u0665\u0664\u0663\u0662\u0661",
        "ref-12345-ok",
        "x12345",
        "12345y",
        "AB12345X",
        "A-B-1-2-3-4-5-X",
        "AB_12345_X",
        "K7F2Q9ZZ",
        "K7-F2-Q9-ZZ",
        "4111.1111.1111.1111",
    ],
)
def test_a_code_in_another_grouping(body: Callable[[str], Verdict], text: str) -> None:
    assert body(text) is Verdict.REQUIRE_APPROVAL


@pytest.mark.parametrize(
    "text",
    [
        "(see https://docs.example.com), it is 12,345.00 in all, 10:30 on 2026-11-30",
        "'https://docs.example.com' and https://docs.example.com's pages, and/or // src/main.py",
        '{"see": "https://docs.example.com", "at": "10:30"}',
        "[here](https://docs.example.com). Room 12-346, 987 of 654",
    ],
)
def test_what_holds_none_is_left_to_the_review(body: Callable[[str], Verdict], text: str) -> None:
    assert body(text) is Verdict.AUTO_REVIEW


@pytest.mark.parametrize(
    "to",
    [
        "=?utf-8?q?eve=40evil.example=3e?=@good.example",
        "eve%evil.example@good.example",
        "eve!evil@good.example",
        "evil.example|eve@good.example",
        "eve\\@good.example",
    ],
)
def test_an_address_that_mail_servers_read_otherwise_is_in_no_list(world: Make, to: str) -> None:
    made = world("Send the total", recipients=["*@good.example"])
    made.read(MAIL)
    assert made.ask("mail", to=to, body="the total").verdict is Verdict.REQUIRE_APPROVAL
    assert made.ask("mail", to="a.b+c_d-e@good.example", body="the total").verdict is Verdict.AUTO_REVIEW
