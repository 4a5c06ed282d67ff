"""Reading a configuration file, and what is told about a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from wakeful.config import AppConfig, load_config
from wakeful.types import ConfigError

Load = Callable[..., AppConfig]
Told = Callable[..., list[str]]


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
