"""Files that are wrong: every problem at once, each with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wakeful.types import ConfigError

HEADER = '{"cassette": 1, "model": "elsewhere:big", "profile": {"provider": "elsewhere"}}'
PART = {"what": "text of the user", "text": "hi", "chars": 2, "digest": "00"}
GOOD = {"fingerprint": "ab", "request": {"messages": [PART]}, "text": "hello"}

SCRIPTS = [
    ('{"txt": "a"}', "unknown key 'txt'; did you mean 'text'?"),
    ('{"text": 5}', "text must be a string, not 5"),
    ('{"text": "a"', "is not JSON: Expecting ',' delimiter at column 13"),
    ("[1, 2]", "the line must be an object, not [1, 2]"),
    ('{"stop": "ends"}', "stop 'ends' is not known; did you mean 'end'?"),
    ('{"calls": {}}', "calls must be a list, not {}"),
    ('{"calls": [{"args": {}}]}', "calls[0].tool is missing"),
    (
        '{"calls": [{"tool": "a"}, {"tol": "b", "tool": "b"}]}',
        "unknown key 'calls[1].tol'; did you mean 'tool'?",
    ),
    ('{"calls": [{"tool": "a", "args": 5}]}', "calls[0].args must be an object or a string, not 5"),
    ('{"usage": {"outptu": 5}}', "unknown key 'usage.outptu'; did you mean 'output'?"),
    ('{"usage": {"output": -5}}', "usage.output must be a whole number from 0, not -5"),
    ('{"usage": {"output": true}}', "usage.output must be a whole number from 0, not true"),
    ('{"usage": {"cost": "free"}}', 'usage.cost must be a number from 0 or null, not "free"'),
    ('{"usage": {"cost": NaN}}', "is not JSON: NaN is not JSON"),
    ("[" * 200_000, "is not JSON: nested too deeply"),
]
CASSETTES = [
    ('{"text": "a"}', "fingerprint is missing"),
    ('{"fingerprint": "x", "request": {"message": []}}', "did you mean 'messages'?"),
    (
        '{"fingerprint": "x", "request": {"messages": [{"what": "x"}]}}',
        "request.messages[0].digest is missing",
    ),
    (
        '{"fingerprint": "x", "request": {}, "items": [["txt"]]}',
        "items[0] must be a list that begins with text",
    ),
    (
        '{"fingerprint": "x", "request": {}, "items": [["call", "a"]]}',
        "items[0] must be ['call', id, tool, args",
    ),
    (
        '{"fingerprint": "x", "request": {"continues": "feed"}}',
        "continues the request 'feed', which no line above",
    ),
    ('{"fingerprint": "x", "request": {}, "seconds": "1"}', 'seconds must be a number from 0, not "1"'),
]
HEADERS = [
    (json.dumps(GOOD), 'a cassette begins with the line {"cassette": 1'),
    ('{"cassette": 2, "model": "a:b", "profile": {}}', "cassette format 2 is not known"),
    ('{"cassette": 1, "model": "a:b"}', "profile is missing"),
    ('{"cassette": 1, "model": "a:b", "profile": {"provider": "a", "windw": 5}}', "did you mean 'window'?"),
]


def problems(bench: Any, name: str, **settings: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        bench.bind(name, **settings)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(("line", "what"), SCRIPTS)
def test_a_wrong_line_of_a_script_is_named(bench: Any, line: str, what: str) -> None:
    bench.write("hello.jsonl", '{"text": "fine"}', "# fine too", line)
    (found,) = problems(bench, "hello.jsonl")
    assert found.startswith("hello.jsonl:3: ")
    assert what in found
    assert "\n" not in found


@pytest.mark.parametrize(("line", "what"), CASSETTES)
def test_a_wrong_line_of_a_cassette_is_named(bench: Any, line: str, what: str) -> None:
    bench.write("hello.jsonl", HEADER, json.dumps(GOOD), line)
    found = problems(bench, "hello.jsonl")
    assert all(problem.startswith("hello.jsonl:3: ") for problem in found)
    assert any(what in problem for problem in found)


@pytest.mark.parametrize(("line", "what"), HEADERS)
def test_a_wrong_first_line_of_a_cassette_is_named(bench: Any, line: str, what: str) -> None:
    bench.write("hello.jsonl", line, json.dumps(GOOD))
    (found,) = problems(bench, "hello.jsonl")
    assert found.startswith("hello.jsonl:1: ")
    assert what in found


def test_all_problems_come_at_once(bench: Any) -> None:
    bench.write("hello.jsonl", '{"txt": "a", "stop": 1}', '{"text": "fine"}', "{")
    assert [found.split(" ")[0] for found in problems(bench, "hello.jsonl")] == [
        "hello.jsonl:1:",
        "hello.jsonl:1:",
        "hello.jsonl:3:",
    ]


def test_files_that_are_none(bench: Any) -> None:
    bench.write("hello.jsonl", '{"text": "a"}')
    bench.write("empty.jsonl", "# nothing yet")
    (bench.kit.folder / "latin.jsonl").write_bytes('{"text": "é"}\n'.encode("latin-1"))
    (bench.kit.folder / "folder.jsonl").mkdir()
    assert problems(bench, "helo.jsonl") == ["helo.jsonl: there is no such file; did you mean 'hello.jsonl'?"]
    assert problems(bench, "no/hello.jsonl") == ["no/hello.jsonl: there is no folder 'no' to find it in"]
    assert problems(bench, "folder.jsonl") == [
        "folder.jsonl: is a folder; a script or cassette is a .jsonl file"
    ]
    assert problems(bench, "latin.jsonl") == ["latin.jsonl:1: is not UTF-8: byte 0xe9 at column 11"]
    assert problems(bench, "empty.jsonl") == [
        "empty.jsonl: holds no reply; a script has one JSON object per line"
    ]
    assert problems(bench, "") == ["replay:: names no file; expected replay:file.jsonl"]


def test_recording_needs_an_upstream_and_a_file_of_its_own(bench: Any, upstream: Any) -> None:
    bench.write("hello.jsonl", '{"text": "a"}')
    assert problems(bench, "new.jsonl", mode="record") == [
        "plugins.replay: upstream must be scheme:name when mode is 'record', not ''"
    ]
    assert problems(bench, "hello.jsonl", mode="auto", upstream="elsewhere:big") == [
        "hello.jsonl: is a script, which nothing is recorded into; name another file"
    ]
    bench.write("old.jsonl", HEADER.replace("elsewhere:big", "elsewhere:small"), json.dumps(GOOD))
    with pytest.raises(ConfigError, match=r"old\.jsonl: was recorded from 'elsewhere:small'"):
        bench.bind("old.jsonl", upstream())
