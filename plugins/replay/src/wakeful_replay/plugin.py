"""The plugin: settings, and the provider that binds ``replay:file.jsonl``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from wakeful.hookspecs import hookimpl
from wakeful.types import ConfigError, Json, Model, Problem, Provider, Services
from wakeful_replay.cassette import Cassette, check_upstream
from wakeful_replay.lines import Header
from wakeful_replay.models import CassetteModel, ScriptModel
from wakeful_replay.playing import PROVIDER
from wakeful_replay.secrets import Secrets
from wakeful_replay.tape import Tape, read_tape

Resolve = Callable[[str], Model]


@frozen
class ReplaySettings:
    """Settings of ``[plugins.replay]``."""

    mode: Literal["replay", "record", "auto"] = field(
        default="replay",
        metadata={
            "help": "`replay` plays the file; `record` asks `upstream` every time and appends what it"
            " answers; `auto` plays what is recorded and records the rest"
        },
    )
    upstream: str = field(
        default="", metadata={"help": "the model that is recorded, as `scheme:name`; for `record` and `auto`"}
    )
    strict: bool = field(
        default=True,
        metadata={
            "help": "a request must be exactly the recorded one; if false, the most similar one answers"
            " and the difference is reported"
        },
    )


class Replay:
    """Brings the model provider ``replay``."""

    Settings = ReplaySettings

    def __init__(self, settings: ReplaySettings, services: Services) -> None:
        self._provider = ReplayProvider(settings, services)

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        """Give the provider of ``model = "replay:file.jsonl"``."""
        return (self._provider,)


class ReplayProvider:
    """Binds scripts and cassettes.

    Args:
        settings: used for an agent that has none of its own.
        services: the folder where relative paths start, the clock, and where reports go.
    """

    name = PROVIDER

    def __init__(self, settings: ReplaySettings, services: Services) -> None:
        self._settings, self._services = settings, services
        self._open: dict[Path, Cassette] = {}

    def bind(self, model: str, settings: Json, resolve: Resolve) -> Model:
        """Return the model of a file; see :class:`wakeful.types.Provider`.

        Raises:
            ConfigError: every problem of the file or the settings.
        """
        own = settings if isinstance(settings, ReplaySettings) else self._settings
        if not model.strip():
            raise ConfigError([Problem("replay:", "names no file; expected replay:file.jsonl")])
        path = Path(self._services.folder, model)
        if own.mode == "replay":
            tape = read_tape(path, model, recording=False)
            if tape.header is None:
                return ScriptModel(model, tape.lines)
            return self._cassette(path, model, tape, own, tape.header, lambda: resolve(own.upstream))
        return self._recording(path, model, own, resolve)

    def _recording(self, path: Path, name: str, own: ReplaySettings, resolve: Resolve) -> Model:
        if ":" not in own.upstream:
            what = f"upstream must be scheme:name when mode is {own.mode!r}, not {own.upstream!r}"
            raise ConfigError([Problem("plugins.replay", what)])
        tape = read_tape(path, name, recording=True)
        if tape.cut is not None:
            self._services.report(f"{name}: the last line was cut off; it is dropped and recorded anew")

        def upstream() -> Model:
            scheme, _, rest = own.upstream.partition(":")
            if scheme == PROVIDER:  # what is recorded is played: these settings would record it again
                return self.bind(rest, ReplaySettings(), resolve)
            return resolve(own.upstream)

        header = tape.header
        if header is None or own.mode == "record":
            bound = upstream()
            header = header or Header(own.upstream, bound.profile)
            return self._cassette(path, name, tape, own, header, lambda: bound)
        return self._cassette(path, name, tape, own, header, upstream)

    def _cassette(
        self,
        path: Path,
        name: str,
        tape: Tape,
        own: ReplaySettings,
        header: Header,
        upstream: Callable[[], Model],
    ) -> Model:
        cassette = Cassette(path, name, tape)
        if own.mode != "replay":
            # Agents that record into one file share what is known of it; a file that was deleted starts anew.
            known = self._open.get(path.resolve())
            if known is not None and (tape.header is not None or known.header is None):
                cassette = known
            self._open[path.resolve()] = cassette
            check_upstream(cassette, own.upstream)
        secrets = Secrets.of(getattr(self._services, "secrets", ()))
        return CassetteModel(cassette, own.mode, header, upstream, self._services, secrets, strict=own.strict)
