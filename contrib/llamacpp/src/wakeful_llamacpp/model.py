"""A bound model: what the provider ``openai`` makes of an engine's address."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from wakeful.types import Emit, Json, Model, ModelError, Profile, Reply, Request, Resolve
from wakeful_llamacpp.engine import Address, Engine

#: Stands for the address while there is none: nothing is ever sent to it.
_NOWHERE = Address("http://127.0.0.1:9/v1", "none")


class LlamaModel:
    """A model that an engine of this application serves.

    Args:
        engine: the engine.
        resolve: binds the model of the provider that speaks to it.
        settings: for that provider; address and key are added.

    Raises:
        ConfigError: that provider is missing, or the settings are wrong.
    """

    def __init__(self, engine: Engine, resolve: Resolve, settings: Mapping[str, Json]) -> None:
        self._engine, self._resolve, self._settings = engine, resolve, settings
        self._address, self._model = _NOWHERE, self._bound(_NOWHERE)
        self.profile: Profile = self._model.profile

    def __repr__(self) -> str:
        return f"LlamaModel({self._engine.setup.alias!r})"

    def _bound(self, address: Address) -> Model:
        settings = {**self._settings, "base_url": address.url, "api_key": address.key}
        return self._resolve(f"openai:{self._engine.setup.alias}", settings)

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask once; see :class:`wakeful.types.Model`. What the machine itself computes costs nothing.

        Raises:
            ModelError: as classified by the provider; or the engine ended, which is tried again.
        """
        address = await self._engine.address()
        model = await self._at(address)
        try:
            reply = await model.complete(request, conversation, emit)
        except ModelError as error:
            raise await self._explained(error, address) from error
        return evolve(reply, usage=evolve(reply.usage, cost=0.0))

    async def _at(self, address: Address) -> Model:
        """Return the model at an address; an engine that was started again has another."""
        if address != self._address:
            old, self._model, self._address = self._model, self._bound(address), address
            await _close(old)
        return self._model

    async def _explained(self, error: ModelError, address: Address) -> ModelError:
        if error.usage is not None:
            error.usage = evolve(error.usage, cost=0.0)
        if error.kind not in {"network", "timeout"}:
            return error
        how = await self._engine.obituary(address)
        if not how:
            return error
        what = f"llamacpp: the engine ended in the middle of a request ({how})"
        return ModelError("network", what, retryable=True, usage=error.usage)

    async def close(self) -> None:
        """Close the connections; the engine ends with the application."""
        await _close(self._model)


async def _close(model: Model) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()
