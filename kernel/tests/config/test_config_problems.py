"""Everything that can be wrong with a configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wakeful.config import AppConfig

Load = Callable[..., AppConfig]
Told = Callable[..., list[str]]

AGENT = '[agents.desk]\nmodel = "replay:desk.jsonl"\n'


# ---- unknown keys and wrong types
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("agnets = {}\n" + AGENT, "agnets: unknown setting; did you mean 'agents'?"),
        (AGENT + "[store]\nurk = 'x'\n", "store.urk: unknown setting; did you mean 'url'?"),
        (AGENT + "modle = 'x'\n", "agents.desk.modle: unknown setting; did you mean 'model'?"),
        (
            AGENT + "limits = { stepz = 5 }\n",
            "agents.desk.limits.stepz: unknown setting; did you mean 'steps'?",
        ),
        (
            AGENT + "[agents.desk.action.send_email]\nmax_execution = 5\n",
            "agents.desk.action.send_email.max_execution: unknown setting; did you mean 'max_executions'?",
        ),
        (
            AGENT + "[agents.desk.action.'send *']\nexpiration = { turns = 1, mod = 'x' }\n",
            "agents.desk.action.\"send *\".expiration.mod: unknown setting; did you mean 'mode'?",
        ),
        (
            AGENT + "[agents.desk.action.a]\nparams = { to = { rol = 'x' } }\n",
            "agents.desk.action.a.params.to.rol: unknown setting; did you mean 'role'?",
        ),
        (
            AGENT + "[plugins]\nenabel = ['x']\n",
            (
                "plugins.enabel: expected a table of settings for the plugin 'enabel', got a list; "
                "did you mean 'enable'?"
            ),
        ),
    ],
)
def test_an_unknown_key_at_any_level_names_the_nearest(told: Told, text: str, line: str) -> None:
    assert told(text) == [line]


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ('limits = { steps = "20" }', 'limits.steps: expected an integer, got the string "20"'),
        ("limits = { steps = true }", "limits.steps: expected an integer, got true"),
        ("limits = { steps = 2.0 }", "limits.steps: expected an integer, got the number 2.0"),
        ('limits = { seconds = "900" }', 'limits.seconds: expected a number, got the string "900"'),
        ("limits = { seconds = false }", "limits.seconds: expected a number, got false"),
        ("limits = { seconds = inf }", "limits.seconds: expected a finite number, got the number inf"),
        ("limits = { cost = -0.5 }", "limits.cost: expected 0 (no limit) or more, got -0.5"),
        ("limits = { tokens = -1 }", "limits.tokens: expected 0 (no limit) or more, got -1"),
        ("retry = { total_s = -1 }", "retry.total_s: expected 0 or more, got -1"),
        ("retry = { total = 1 }", "retry.total: unknown setting; did you mean 'total_s'?"),
        ("failover = ['a:b', 'gpt']", 'failover[1]: expected "scheme:name", got the string "gpt"'),
        ("limits = 5", "limits: expected a table, got the number 5"),
        ('approvers = "ana"', 'approvers: expected a list, got the string "ana"'),
        ("approvers = ['ana', ' ']", "approvers[1]: the name of an approver is empty"),
        ("actions = ['a:*', 3]", "actions[1]: expected a string, got the number 3"),
        (
            "actions = ['overdue']",
            'actions[0]: expected "module:name", "module:*" or "plugin:name", got the string "overdue"',
        ),
        (
            "tool_calling = 'nativ'",
            (
                'tool_calling: expected one of auto, native, envelope, got the string "nativ"; '
                "did you mean 'native'?"
            ),
        ),
        ("type = ''", 'type: expected the name of an agent type, like "loop", got an empty string'),
        ("instructions = 2026-01-01", "instructions: expected a string, got a date or time"),
        ("instructions = []", "instructions: expected a string, got a list"),
        ("plugins = []", "plugins: expected a table, got a list"),
        ("plugins = { enable = 'cache' }", 'plugins.enable: expected a list, got the string "cache"'),
        ("plugins = { enable = ['a', ''] }", "plugins.enable[1]: the name of a plugin is empty"),
        (
            "plugins = { enable = ['plugin:a'] }",
            "plugins.enable[0]: expected a plugin's name; did you mean 'a'?",
        ),
        ("action = { a = 1 }", "action.a: expected a table, got the number 1"),
        ("action = { a = { max_executions = -1 } }", "action.a.max_executions: must be >= 0: -1"),
        ("action = { a = { timeout_s = 0 } }", "action.a.timeout_s: must be > 0: 0.0"),
        (
            "action = { a = { effect = 'raed' } }",
            (
                'action.a.effect: expected one of read, fetch, write, external, got the string "raed"; '
                "did you mean 'read'?"
            ),
        ),
        (
            "action = { a = { output_trust = 'semi' } }",
            'action.a.output_trust: expected one of trusted, semi_trusted, untrusted, got the string "semi"',
        ),
        (
            "action = { 'a*' = { tool_name = 'b' } }",
            "action.\"a*\".tool_name: can be set for one action, not for the pattern 'a*'",
        ),
        (
            "action = { a = { expiration = { turns = 1, mode = 'compact', method = 'first_n_chars' } } }",
            "action.a.expiration.length: method 'first_n_chars' needs a length above 0",
        ),
        (
            "action = { a = { expiration = { turns = 1, mode = 'compact' } } }",
            "action.a.expiration.method: missing; mode 'compact' needs one of first_n_chars, summary",
        ),
        ("action = { a = { expiration = {} } }", "action.a.expiration.turns: missing"),
    ],
)
def test_a_wrong_value_says_what_was_expected_and_got(told: Told, setting: str, line: str) -> None:
    lines = told(AGENT + setting + "\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"agents.desk.{line}")


@pytest.mark.parametrize("model", ["", "gpt-5", ":gpt-5", "openai:", "openai: ", "5:x"])
def test_a_model_needs_a_scheme_and_a_name(told: Told, model: str) -> None:
    (line,) = told(f'[agents.desk]\nmodel = "{model}"\n')
    assert line.startswith(
        'agents.desk.model: expected "scheme:name", like "anthropic:claude-sonnet-5", got the string'
    )


def test_a_model_may_hold_more_colons(load: Load) -> None:
    assert load('[agents.desk]\nmodel = "local:qwen3:8b"\n').agents["desk"].model == "local:qwen3:8b"


def test_all_problems_are_reported_at_once_sorted_by_path(told: Told) -> None:
    lines = told(
        """
        [store]
        url = "wakeful.db"
        [agents.b]
        model = "x"
        limits = { stepz = 1, tokens = -1, cost = "x" }
        action.send = { max_executions = -1, min_executions = -1, tire = 1, effect = 3 }
        [agents.a]
        instructions = "Hello {{ user }}"
        [agents]
        c = 1
        """.replace("[agents]\n        c = 1", "[agents.c]\n        model = 1")
    )
    assert [line.split(": ")[0] for line in lines] == [
        "agents.a.instructions",
        "agents.a.model",
        "agents.b.action.send.effect",
        "agents.b.action.send.max_executions",
        "agents.b.action.send.min_executions",
        "agents.b.action.send.tire",
        "agents.b.limits.cost",
        "agents.b.limits.stepz",
        "agents.b.limits.tokens",
        "agents.b.model",
        "agents.c.model",
        "store.url",
    ]


def test_an_agent_that_is_no_table_is_refused(told: Told) -> None:
    assert told("[agents]\ndesk = 'replay:x'\n") == [
        'agents.desk: expected a table, got the string "replay:x"'
    ]


# ---- instructions
def test_a_missing_file_of_instructions_names_the_nearest(told: Told, tmp_path: Path) -> None:
    (tmp_path / "desk.md").write_text("x")
    assert told(AGENT + 'instructions = "file:deks.md"\n') == [
        f"agents.desk.instructions: there is no file {tmp_path / 'deks.md'}; did you mean 'desk.md'?"
    ]
    assert told(AGENT + 'instructions = "file:prompts/desk.md"\n') == [
        (
            f"agents.desk.instructions: there is no file {tmp_path / 'prompts' / 'desk.md'}; "
            f"the folder {tmp_path / 'prompts'} does not exist"
        )
    ]


def test_a_file_of_instructions_must_be_text(told: Told, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"\xff")
    (tmp_path / "folder.md").mkdir()
    assert "is not UTF-8 (byte 0)" in told(AGENT + 'instructions = "file:bad.md"\n')[0]
    assert "cannot be read: Is a directory" in told(AGENT + 'instructions = "file:folder.md"\n')[0]


@pytest.mark.parametrize("written", ['"Today is {{ date }}."', '"file:desk.md"'])
def test_a_template_in_instructions_names_the_state_fragment(
    told: Told, tmp_path: Path, written: str
) -> None:
    (tmp_path / "desk.md").write_text("Today is {{ date }}.")
    (line,) = told(AGENT + f"instructions = {written}\n")
    assert "'{{ date }}'" in line
    assert "runtime-state fragment (hook prompt_state)" in line
