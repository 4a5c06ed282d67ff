"""Flows that are refused, with the place that must be named and a part of what must be said."""

from __future__ import annotations

GOOD = """\
start = "load"
answer = "{payload.summary}"
[types]
rows = "list"
summary = "text"
total = "number"
[steps.load]
action = "list_rows"
output = { rows = "outputs.result" }
next = "each"
[steps.each]
for_each = "payload.rows"
action = "touch"
args = { id = "item.id", place = "index" }
output = { touched = "count" }
next = "sort"
[steps.sort]
branch = [{ when = "payload.touched > 2", next = "sum" }, { next = "end" }]
[steps.sum]
prompt = "Summarise {payload.touched} rows."
output = { summary = "text" }
"""


def _with(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def _condition(text: str, said: str) -> tuple[str, str, str]:
    return _with("payload.touched > 2", text), "steps.sort.branch[0].when", said


#: name: (text, place, part of what is said)
MALFORMED: dict[str, tuple[str, str, str]] = {
    "no TOML": ("start = ", "f.toml", "is no TOML"),
    "no steps": ('start = "a"', "steps", "expected at least one table"),
    "unknown key at the top": (_with('start = "load"', 'begin = "load"'), "begin", "known: answer"),
    "unknown start": (_with('start = "load"', 'start = "laod"'), "start", "did you mean 'load'"),
    "unknown next": (_with('next = "each"', 'next = "eahc"'), "steps.load.next", "did you mean 'each'"),
    "unknown way of a branch": (
        _with('next = "sum"', 'next = "smu"'),
        "steps.sort.branch[0].next",
        "did you mean 'sum'",
    ),
    "unknown step after an error": (
        _with('next = "each"', 'next = "each"\non_error = "repair"'),
        "steps.load.on_error",
        "there is no step 'repair'",
    ),
    "unknown key of a step": (_with("output = { rows", "outputs = { rows"), "steps.load.outputs", "'output'"),
    "two kinds": (_with('prompt = "Sum', 'action = "x"\nprompt = "Sum'), "steps.sum", "action and prompt"),
    "no kind": (_with('action = "list_rows"\n', ""), "steps.load", "got none"),
    "a step that is no table": (
        GOOD.replace("[steps.load]", "[steps]\nx = 1\n[steps.load]"),
        "steps.x",
        "table",
    ),
    "a step named end": (_with("[steps.sum]", "[steps.end]"), "steps.end", "other than 'end'"),
    "an empty prompt": (
        _with("Summarise {payload.touched} rows.", " "),
        "steps.sum.prompt",
        "expected a text",
    ),
    "nobody gets there": (_with('next = "sum"', 'next = "end"'), "steps.sum", "no way leads there"),
    "a cycle without exit": (
        _with('next = "sum" }, { next = "end" }', 'next = "sum" }, { next = "load" }').replace(
            'output = { summary = "text" }', 'output = { summary = "text" }\nnext = "load"'
        ),
        "steps.load",
        "cycle without exit",
    ),
    "a condition that is none": _condition("payload.touched >", "no"),
    "a name that is not known": _condition("paylod.x > 2", "did you mean 'payload'"),
    "a call in a condition": _condition("open('x')", "only len"),
    "arithmetic in a condition": _condition("payload.touched ** 9 > 2", "BinOp has no place"),
    "item outside of a loop": (
        _with('"payload.touched > 2"', '"item.x"'),
        "steps.sort.branch[0].when",
        "loop",
    ),
    "no way out for the rest": (
        _with('{ next = "end" }', '{ when = "payload.x", next = "end" }'),
        "steps.sort.branch[1]",
        "everything else",
    ),
    "for_each over no place": (
        _with('for_each = "payload.rows"', 'for_each = "rows"'),
        "steps.each.for_each",
        "payload",
    ),
    "for_each over a number": (
        _with('for_each = "payload.rows"', 'for_each = "payload.total"'),
        "steps.each.for_each",
        "expected a list",
    ),
    "for_each and while": (
        _with('for_each = "payload.rows"', 'for_each = "payload.rows"\nwhile = "payload.rows"'),
        "steps.each",
        "exclude each other",
    ),
    "a limit of nothing": (
        _with('for_each = "payload.rows"', 'for_each = "payload.rows"\nmax = 0'),
        "steps.each.max",
        "from 1",
    ),
    "a source that a step has not": (
        _with('"outputs.result"', '"text"'),
        "steps.load.output.rows",
        "outputs",
    ),
    "a value of the wrong type": (
        _with('summary = "text" }', 'total = "text" }'),
        "steps.sum.output.total",
        "a number is declared",
    ),
    "a target that is no path": (_with("{ touched =", '{ "a..b" ='), "steps.each.output.a..b", "path"),
    "an unknown type": (_with('rows = "list"', 'rows = "lists"'), "types.rows", "did you mean 'list'"),
    "arguments that are no table": (
        _with('args = { id = "item.id", place = "index" }', 'args = "item"'),
        "steps.each.args",
        "table",
    ),
    "an answer that names no place": (_with("{payload.summary}", "{payload..x}"), "answer", "path"),
    "a place in braces that is misspelled": (
        _with("{payload.summary}", "{paylod.summary}"),
        "answer",
        "payload",
    ),
    "nested too deep for TOML": ("payload = " + "[" * 3000 + "]" * 3000, "f.toml", "nested too deep"),
    "nested too deep for JSON": (
        _with('args = { id = "item.id"', "args = { id = " + "[" * 40 + "]" * 40),
        "steps.each.args.id" + "[0]" * 32,
        "deeper than 32 levels",
    ),
    "a date among arguments": (
        _with('place = "index"', "place = { on = 2026-01-02 }"),
        "steps.each.args.place.on",
        "2026-01-02 is no value of JSON",
    ),
    "a number without end": (_with('place = "index"', "place = -inf"), "steps.each.args.place", "-inf is no"),
    "a start that is no name": (_with('start = "load"', 'start = ["load"]'), "start", "no step ['load']"),
    "a payload that is no table": ("payload = 5\n" + GOOD, "payload", "expected a table, got 5"),
    "a payload of another type than declared": (
        "payload = { total = true }\n" + GOOD,
        "payload.total",
        "is True where a number is declared",
    ),
    "a declared place that is no path": (
        _with('rows = "list"', '"rows..x" = "list"'),
        "types.rows..x",
        "cannot be read",
    ),
    "a power that never ends": _condition("9**9**9**9 > payload.touched", "BinOp has no place"),
    "infinity in a condition": _condition("payload.touched > 1e999", "inf is no value of JSON"),
    "an attribute of Python": _condition(
        "payload.touched.__class__.__mro__", "'__mro__' names nothing in a payload"
    ),
    "a call of what a payload holds": _condition("payload.touched.keys()", "only len"),
    "brackets nested too deep": _condition("(" * 240 + "1" + ")" * 240, "nested"),
    "a condition that is too long": _condition("payload.touched > " + "1" * 500, "at most 500"),
    "letters that look alike": _condition("p\u0430yload.touched > 2", "unknown name 'p\u0430yload'"),
    "a comparison of a text and a number": _condition(
        "payload.summary > 2", "a text and a number have no order"
    ),
    "something in a number": _condition("'a' in payload.total", "nothing is in a number"),
    "the length of a number": _condition("len(payload.total) > 2", "a number has no length"),
    "the negative of a text": _condition("-payload.summary == 2", "no text is negative"),
    "a branch that leads to itself": (
        _with('next = "sum" }', 'next = "sort" }').replace('{ next = "end" }', '{ next = "sum" }'),
        "steps.sort",
        "branches lead in a circle",
    ),
    "a payload for a sub-agent that is none": (
        GOOD + 'next = "ask"\n[steps.ask]\nsub_agent = "kid"\nmessage = "Go"\npayload = 5',
        "steps.ask.payload",
        "expected a table, got 5",
    ),
    "a place in that payload that is none": (
        GOOD + 'next = "ask"\n[steps.ask]\nsub_agent = "kid"\nmessage = "Go"\npayload = { a = "item.x" }',
        "steps.ask.payload.a",
        "inside a loop only",
    ),
}
