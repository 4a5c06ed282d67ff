"""Flows that are refused when they are read, and their pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import wakeful
from plugins.agents.tests.malformed import GOOD, MALFORMED
from wakeful import Agent
from wakeful.cli.main import main
from wakeful.testing import ScriptedModel
from wakeful.types import ConfigError
from wakeful_agents.flow import picture
from wakeful_agents.flow.expressions import FlowError, Scope, fill, parse_condition, written
from wakeful_agents.flow.read import read_flow


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_flow_is_refused_with_its_place(name: str) -> None:
    text, place, said = MALFORMED[name]
    with pytest.raises(ConfigError) as caught:
        read_flow(text, "f.toml")
    lines = str(caught.value).splitlines()
    named = "f.toml:" if place == "f.toml" else f"f.toml: {place}:"
    assert [line for line in lines if line.startswith(named) and said in line], lines


def test_the_table_is_as_long_as_promised() -> None:
    assert len(MALFORMED) >= 25


def test_every_problem_is_told_at_once() -> None:
    text = GOOD.replace('next = "each"', 'next = "eahc"').replace("outputs.result", "nothing")
    with pytest.raises(ConfigError) as caught:
        read_flow(text, "f.toml")
    assert len(caught.value.problems) == 2


def test_a_good_flow_is_read() -> None:
    flow = read_flow(GOOD, "f.toml")
    assert list(flow.steps) == ["load", "each", "sort", "sum"]
    assert flow.steps["sort"].ways == ("sum", "end")


def test_mermaid() -> None:
    text = picture.mermaid(read_flow(GOOD, "f.toml"))
    assert text.splitlines()[0] == "flowchart TD"
    assert 's3{"sort<br/>branch"}' in text
    assert 's3 -- "payload.touched &gt; 2" --> s4' in text
    assert 's3 -- "else" --> s0' in text
    assert 's0(["end"])' in text  # a node that is named end is a word of Mermaid's own


ODD = GOOD.replace("Summarise", '<b> & \\"#1;\\u0001').replace(
    'next = "sort"', 'next = "sort"\non_error = "load"'
)


def test_svg_is_well_formed_and_shows_every_step() -> None:
    root = ET.fromstring(picture.svg(read_flow(ODD, "f.toml")))  # noqa: S314  (our own text)
    texts = [element.text for element in root.iter() if element.text]
    assert {"load", "each", "sort", "sum", "end", "touch (each)"} <= set(texts)
    assert 'prompt: <b> & "#1; {payload.to…' in texts
    assert "<b> &amp; #quot;#35;1;" not in picture.mermaid(read_flow(GOOD, "f.toml"))
    assert "&lt;b&gt; &amp; #quot;#35;1;" in picture.mermaid(read_flow(ODD, "f.toml"))


def test_boxes_and_arrows_of_a_picture_do_not_lie_on_each_other() -> None:
    flow = read_flow((Path(__file__).parent / "twenty.toml").read_text(encoding="utf-8"), "f.toml")
    root = ET.fromstring(picture.svg(flow))  # noqa: S314  (our own text)
    boxes = [each for each in root if each.tag.endswith("rect")]
    tops = [float(each.attrib["y"]) for each in boxes]
    assert len(boxes) == 21
    assert all(
        top + float(box.attrib["height"]) < below
        for top, box, below in zip(tops, boxes, tops[1:], strict=False)
    )
    right = max(float(box.attrib["x"]) + float(box.attrib["width"]) for box in boxes)
    lines = [each.attrib["d"] for each in root if each.tag.endswith("path")]
    assert len(lines) == 3  # two ways to s20 and one to the end skip others
    assert all(float(line.partition("H")[2].partition("V")[0]) > right for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("payload.total > 100", True),
        ("payload.total > 100 and not payload.paid", False),
        ("payload.nothing == null", True),
        ("payload.rows[1].x in ['a', 'b']", True),
        ("len(payload.rows) == 2", True),
        ("1 < payload.total <= 101", True),
        ("payload.paid == 1", False),
        ("index == 3 or false", True),
        ("item.name != 'Ada'", False),
    ],
)
def test_conditions(text: str, expected: bool) -> None:
    payload = {"total": 101, "paid": True, "rows": [{"x": "z"}, {"x": "b"}]}
    assert parse_condition(text).holds(Scope(payload, {"name": "Ada"}, 3)) is expected


def test_a_condition_that_cannot_be_decided_says_so() -> None:
    with pytest.raises(FlowError, match="cannot be decided"):
        parse_condition("payload.x > 1").holds(Scope({"x": "a"}))


def test_templates_replace_places_only() -> None:
    scope = Scope({"a": [{"b": 5}]}, {"id": 7}, 2)
    template = {"x": "payload.a[0].b", "y": ["item.id", "index"], "z": "an item of text", "w": "payloads"}
    assert fill(template, scope) == {"x": 5, "y": [7, 2], "z": "an item of text", "w": "payloads"}
    assert written("{payload.a} of {item.id} {else}", scope) == '[{"b": 5}] of 7 {else}'
    with pytest.raises(FlowError, match=r"nothing stands at payload\.c"):
        fill("payload.c", scope)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(["flow", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(GOOD)
    bad.write_text(MALFORMED["unknown next"][0])
    assert run("check", str(good)) == (0, "good.toml: 4 steps, starts with load\n", "")
    code, _, err = run("check", str(bad))
    assert code == 2
    assert "bad.toml: steps.load.next: there is no step 'eahc'; did you mean 'each'?" in err
    assert "no such file; did you mean 'good.toml'?" in run("check", f"{good}l")[2]
    assert "cannot be read: Is a directory" in run("check", str(tmp_path))[2]
    bad.write_bytes(b"\xff")
    assert "bad.toml: is no UTF-8 text: invalid start byte at byte 0" in run("check", str(bad))[2]
    assert json.loads(run("show", str(good), "--json")[1])["picture"].startswith("flowchart TD")
    assert run("show", str(good), "--svg")[1].startswith("<svg ")


def test_the_flow_of_the_readme_is_one() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (text,) = [block for block in readme.split("```toml\n")[1:] if block.startswith("answer")]
    flow = read_flow(text.partition("```")[0], "README.md")
    assert list(flow.steps) == ["load", "remind", "many", "tell"]


async def test_a_type_whose_plugin_is_off_says_so() -> None:
    async with wakeful.open(Agent(model=ScriptedModel(["x"]), type="flow")) as app:
        with pytest.raises(ConfigError, match="type: no enabled plugin gives the type 'flow'; enable the"):
            await app.send("agent", "Go")
