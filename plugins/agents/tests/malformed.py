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


#: name: (text, place, part of what is said)
MALFORMED: dict[str, tuple[str, str, str]] = {
    "no TOML": ("start = ", "f.toml", "is no TOML"),
    "no steps": ('start = "a"', "steps", "expected at least one table"),
    "unknown key at the top": (_with('start = "load"', 'begin = "load"'), "begin", "known: answer"),
    "unknown start": (_with('start = "load"', 'start = "laod"'), "start", "did you mean 'load'"),
    "unknown next": (_with('next = "each"', 'next = "eahc"'), "steps.load.next", "did you mean 'each'"),
    "unknown way of a branch": (_with('next = "sum"', 'next = "smu"'), "steps.sort.branch", "'sum'"),
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
    "a condition that is none": (
        _with("payload.touched > 2", "payload.touched >"),
        "steps.sort.branch[0].when",
        "no",
    ),
    "a name that is not known": (
        _with("payload.touched > 2", "paylod.x > 2"),
        "steps.sort.branch[0].when",
        "payload",
    ),
    "a call in a condition": (
        _with("payload.touched > 2", "open('x')"),
        "steps.sort.branch[0].when",
        "only len",
    ),
    "arithmetic in a condition": (
        _with("payload.touched > 2", "payload.touched ** 9 > 2"),
        "steps.sort.branch[0].when",
        "BinOp has no place",
    ),
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
}
