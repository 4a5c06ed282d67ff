"""A wakeful model provider that plays scripts and replays recorded sessions."""

from wakeful_replay.plugin import Replay, ReplayProvider, ReplaySettings

__all__ = ["Replay", "ReplayProvider", "ReplaySettings"]
