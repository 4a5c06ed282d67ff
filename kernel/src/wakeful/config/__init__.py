"""Configuration: ``wakeful.toml`` as attrs classes, every problem reported at once."""

from wakeful.config.load import load_config, read_config
from wakeful.config.model import AgentConfig, AppConfig, StoreConfig
from wakeful.config.overrides import ActionOverride, ParamOverride, overrides_for, unused_patterns
from wakeful.config.paths import resolve_path, resolve_url
from wakeful.config.structure import structure

__all__ = [
    "ActionOverride",
    "AgentConfig",
    "AppConfig",
    "ParamOverride",
    "StoreConfig",
    "load_config",
    "overrides_for",
    "read_config",
    "resolve_path",
    "resolve_url",
    "structure",
    "unused_patterns",
]
