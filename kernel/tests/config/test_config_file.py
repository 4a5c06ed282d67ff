"""Reading a configuration file: what it gives, its secrets, and doing without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wakeful.config import ActionOverride, AgentConfig, AppConfig, StoreConfig, load_config
from wakeful.types import ConfigError, Effect, Expiration, Limits, Retry, Trust

Load = Callable[..., AppConfig]
Told = Callable[..., list[str]]

AGENT = '[agents.desk]\nmodel = "replay:desk.jsonl"\n'


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


@pytest.mark.parametrize(
    ("store", "folder"),
    [
        ('url = "sqlite:///x.db"', None),
        ('url = "postgresql://db/agents"', "agents.files"),
        ('url = "postgresql://db/agents"\nfiles = "large"', "large"),
        ('files = "/srv/large"', "/srv/large"),
    ],
)
def test_large_contents_lie_beside_the_file_or_where_it_says(
    tmp_path: Path, store: str, folder: str | None
) -> None:
    file = tmp_path / "wakeful.toml"
    file.write_text(f"[store]\n{store}\n[agents.desk]\nmodel = 'replay:x'\n")
    expected = None if folder is None else tmp_path / folder
    assert load_config(file, {}).store.files_folder == expected
