"""Reading a configuration file: what it gives, and everything that can be wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from wakeful.config import ActionOverride, AgentConfig, AppConfig, StoreConfig, load_config
from wakeful.types import ConfigError, Effect, Expiration, Limits, Retry, Trust

Load = Callable[..., AppConfig]
Told = Callable[..., list[str]]

AGENT = '[agents.desk]\nmodel = "replay:desk.jsonl"\n'


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def read(text: str, env: Mapping[str, str] | None = None) -> AppConfig:
        (tmp_path / "wakeful.toml").write_text(text, encoding="utf-8")
        return load_config(tmp_path / "wakeful.toml", env or {})

    return read


@pytest.fixture
def told(load: Load) -> Told:
    def problems(text: str, env: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, env)
        return [str(problem).removeprefix("wakeful.toml: ") for problem in caught.value.problems]

    return problems


# ---- a good file
def test_the_smallest_file(load: Load, tmp_path: Path) -> None:
    config = load(AGENT)
    assert config.path == tmp_path / "wakeful.toml"
    assert config.folder == tmp_path
    assert config.store == StoreConfig(f"sqlite:///{tmp_path}/wakeful.db")
    assert config.agents == {"desk": AgentConfig("desk", "replay:desk.jsonl")}
    assert config.secrets == ()


def test_everything_a_file_can_say(load: Load, tmp_path: Path) -> None:
    (tmp_path / "desk.md").write_text("Be kind.\n")
    config = load(
        """
        [store]
        url = "postgresql://localhost/wakeful"

        [plugins]
        enable = ["cache", "multiplexer", "spillover"]

        [plugins.spillover]
        threshold_chars = 9000
        keep = { head = 3, tail = 4 }

        [plugins.anthropic]
        retries = 2

        [agents.desk]
        model = "anthropic:claude-sonnet-5"
        instructions = "file:desk.md"
        actions = ["crm:*", "plugin:records"]
        limits = { steps = 20, seconds = 900, cost = 1.5 }
        retry = { total_s = 5 }
        failover = ["openai:gpt-5"]
        approvers = ["ana"]
        type = "plan"
        tool_calling = "native"

        [agents.desk.plugins]
        enable = ["taint", "cache"]
        disable = ["multiplexer"]
        spillover = { threshold_chars = 4000, keep = { head = 1 } }

        [agents.desk.action."send_email"]
        max_executions = 3
        effect = "write"
        output_trust = "semi_trusted"
        expiration = { turns = 2, mode = "compact", method = "first_n_chars", length = 80 }

        [agents.other]
        model = "openai:gpt-5"
        """
    )
    desk = config.agents["desk"]
    assert list(config.agents) == ["desk", "other"]
    assert config.store.url == "postgresql://localhost/wakeful"
    assert desk.instructions == "Be kind.\n"
    assert desk.actions == ("crm:*", "plugin:records")
    assert desk.limits == Limits(steps=20, seconds=900.0, cost=1.5)
    assert (desk.retry, desk.failover) == (Retry(total_s=5.0), ("openai:gpt-5",))
    assert (desk.approvers, desk.type, desk.tool_calling) == (("ana",), "plan", "native")
    assert desk.plugins == ("cache", "spillover", "taint", "records")
    assert config.agents["other"].plugins == ("cache", "multiplexer", "spillover")
    assert desk.settings["spillover"] == {"threshold_chars": 4000, "keep": {"head": 1}}
    assert config.agents["other"].settings["spillover"]["threshold_chars"] == 9000
    assert config.plugins["anthropic"] == {"retries": 2}
    assert desk.settings["anthropic"] == {"retries": 2}
    assert desk.action_overrides["send_email"] == ActionOverride(
        max_executions=3,
        effect=Effect.WRITE,
        output_trust=Trust.SEMI_TRUSTED,
        expiration=Expiration(2, "compact", "first_n_chars", 80),
    )


def test_a_folder_stands_for_the_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "wakeful.toml").write_text(AGENT)
    assert load_config(tmp_path, {}).path == tmp_path / "wakeful.toml"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "wakeful.toml").write_text(AGENT, encoding="utf-8-sig")
    assert list(load_config(tmp_path, {}).agents) == ["desk"]


# ---- the file itself
def test_no_file_names_the_path_and_init(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "conf.toml", {})
    assert (
        str(caught.value) == f"{tmp_path / 'conf.toml'}: no such file; `wakeful init` writes one that works"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[agents.desk]\nmodel = \n", "wakeful.toml:2: "),
        ("a = 1\na = 2\n", "wakeful.toml:2: "),
        ('a = """', "wakeful.toml:1: "),
    ],
)
def test_a_syntax_error_is_one_problem_with_its_line(told: Told, text: str, where: str) -> None:
    (line,) = told(text)
    assert line.startswith(f"{where}not valid TOML: ")


def test_a_file_that_is_not_utf8_says_where(tmp_path: Path) -> None:
    (tmp_path / "wakeful.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match=r"is not UTF-8 \(byte 5\)"):
        load_config(tmp_path, {})


@pytest.mark.parametrize("text", ["", "[agents]\n", '[store]\nurl = "sqlite://"\n'])
def test_a_file_without_agents_is_refused(told: Told, text: str) -> None:
    assert told(text) == ["agents: there is no agent; add [agents.<name>] with a model"]


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


# ---- plugins
def test_repeated_names_keep_their_first_place(load: Load) -> None:
    text = "[plugins]\nenable = ['b', 'a', 'b']\n" + AGENT + "plugins = { enable = ['c', 'a'] }\n"
    assert load(text).agents["desk"].plugins == ("b", "a", "c")


def test_a_plugin_table_enables_nothing(load: Load) -> None:
    desk = load("[plugins.spillover]\nthreshold_chars = 1\n" + AGENT).agents["desk"]
    assert desk.plugins == ()
    assert desk.settings == {"spillover": {"threshold_chars": 1}}


def test_what_the_file_disables_an_agent_may_enable(load: Load) -> None:
    text = (
        "[plugins]\ndisable = ['a']\n" + AGENT + "plugins = { enable = ['a'] }\n[agents.b]\nmodel = 'x:y'\n"
    )
    config = load(text)
    assert config.agents["desk"].plugins == ("a",)
    assert config.agents["b"].plugins == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[plugins]\nenable = ['a']\ndisable = ['a']\n" + AGENT,
            "plugins: 'a' is in both enable and disable",
        ),
        (
            AGENT + "plugins = { enable = ['a'], disable = ['a'] }\n",
            "agents.desk.plugins: 'a' is in both enable and disable",
        ),
        (
            AGENT + "actions = ['plugin:records']\nplugins = { disable = ['records'] }\n",
            (
                "agents.desk.actions[0]: uses the plugin 'records', "
                "which agents.desk.plugins.disable switches off"
            ),
        ),
        (
            "[plugins]\ndisable = ['records']\n" + AGENT + "actions = ['plugin:records']\n",
            "agents.desk.actions[0]: uses the plugin 'records', which plugins.disable switches off",
        ),
        (
            "[plugins]\nenable = ['multiplexer']\n" + AGENT + "plugins = { disable = ['multiplexr'] }\n",
            (
                "agents.desk.plugins.disable: nothing enables the plugin 'multiplexr'; "
                "did you mean 'multiplexer'?"
            ),
        ),
        (
            "[plugins]\nenable = ['spillover']\nspilover = { a = 1 }\n" + AGENT,
            "plugins.spilover: no agent enables this plugin; did you mean 'spillover'?",
        ),
        (
            AGENT + "plugins = { enable = ['spillover'], spilover = { a = 1 } }\n",
            "agents.desk.plugins.spilover: the agent does not enable it; did you mean 'spillover'?",
        ),
    ],
)
def test_contradictions_and_misspelt_names_are_refused(told: Told, text: str, line: str) -> None:
    assert told(text) == [line]


def test_disabling_what_is_off_anyway_is_fine(load: Load) -> None:
    assert load(AGENT + "plugins = { disable = ['cache'] }\n").agents["desk"].plugins == ()


def test_wakeful_disable_removes_plugins_everywhere(load: Load) -> None:
    text = (
        "[plugins]\nenable = ['a', 'b']\n"
        + AGENT
        + "actions = ['plugin:c', 'crm:*']\n[agents.x]\nmodel = 'y:z'\n"
    )
    config = load(text, {"WAKEFUL_DISABLE": "b, c,,"})
    assert config.agents["desk"].plugins == ("a",)
    assert config.agents["desk"].actions == ("crm:*",)
    assert config.agents["x"].plugins == ("a",)


def test_an_unknown_name_in_wakeful_disable_names_the_nearest(told: Told) -> None:
    text = "[plugins]\nenable = ['spillover']\n" + AGENT
    assert told(text, {"WAKEFUL_DISABLE": "spilover"}) == [
        "WAKEFUL_DISABLE: no agent enables the plugin 'spilover'; did you mean 'spillover'?"
    ]


# ---- secrets
def test_the_environment_is_filled_in_anywhere(load: Load) -> None:
    text = (
        AGENT
        + """
        instructions = "Call ${env:PHONE}."
        [store]
        url = "postgresql://ana:${env:PASSWORD}@host/db"
        [plugins.crm]
        headers = [{ auth = "Bearer ${env:TOKEN}" }, "${env:EMPTY}"]
        """
    )
    env = {"TOKEN": "t0ken-value", "PASSWORD": "pa55", "PHONE": "112", "EMPTY": ""}
    config = load(text, env)
    assert config.store.url == "postgresql://ana:pa55@host/db"
    assert config.agents["desk"].instructions == "Call 112."
    assert config.agents["desk"].settings["crm"] == {"headers": [{"auth": "Bearer t0ken-value"}, ""]}
    assert config.secrets == ("112", "pa55", "t0ken-value")
    assert not any(secret in repr(config) for secret in config.secrets)
    assert "t0ken-value" not in repr(config.agents["desk"].settings)


def test_a_missing_variable_is_named(told: Told) -> None:
    text = AGENT + "[plugins.crm]\nkeys = ['${env:CRM_KEI}', '${env:}', '${env:CRM_KEY']\n"
    assert told(text, {"CRM_KEY": "s3cret"}) == [
        "plugins.crm.keys[0]: the environment variable CRM_KEI is not set; did you mean 'CRM_KEY'?",
        "plugins.crm.keys[1]: cannot read '${env:}'; expected ${env:NAME}",
        "plugins.crm.keys[2]: cannot read '${env:CRM_KEY'; expected ${env:NAME}",
    ]


def test_no_problem_ever_prints_a_secret(told: Told) -> None:
    secret = "hunter2-hunter2"
    text = """
        [store]
        url = "${env:S}"
        [agents.desk]
        model = "${env:S}"
        actions = ["${env:S}"]
        tool_calling = "${env:S}"
        limits = { steps = "${env:S}" }
        instructions = "{{ ${env:S} }}"
        plugins = { enable = ["${env:S}", "a"], disable = ["${env:S}"], crm = "${env:S}" }
        action.a = { tool_name = "${env:S} ${env:S}", effect = "${env:S}", params = "${env:S}" }
    """
    lines = told(text, {"S": secret})
    assert len(lines) == 11
    assert not any(secret in line for line in lines)
    assert all("${env:S}" in line for line in lines)


# ---- without a file
def test_agents_made_in_code_need_no_file(tmp_path: Path) -> None:
    agent = AgentConfig("desk", "replay:x", plugins=("a", "b"))
    config = AppConfig.from_agents(agent, folder=tmp_path, env={"WAKEFUL_DISABLE": "b"})
    assert config.path is None
    assert config.agents["desk"].plugins == ("a",)
    assert config.store.url == f"sqlite:///{tmp_path}/wakeful.db"
    memory = AppConfig.from_agents(agent, store=StoreConfig("sqlite://"), env={})
    assert memory.store.url == "sqlite://"


def test_two_agents_of_one_name_are_refused() -> None:
    agent = AgentConfig("desk", "replay:x")
    with pytest.raises(ConfigError, match="agent 'desk': declared twice"):
        AppConfig.from_agents(agent, agent, env={})
