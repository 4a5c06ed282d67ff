"""The plugins of a configuration file: who enables, who disables, who wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wakeful.config import AppConfig

Load = Callable[..., AppConfig]
Told = Callable[..., list[str]]

AGENT = '[agents.desk]\nmodel = "replay:desk.jsonl"\n'


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
            (
                "plugins.spilover: no agent uses this plugin, and 'spillover' is enabled; "
                "one of the two is misspelt"
            ),
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
