"""The paths under ``/__wire__``, and the list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeful.testing.wire.scenario import Scenario
from wakeful.testing.wire.web import web
from wakeful.types import WakefulError

if TYPE_CHECKING:
    from wakeful.testing.wire.app import App


def add_routes(app: App) -> None:
    """Add the paths by which a test looks into a server.

    ``GET summary?conversation=``, ``log``, ``explain`` and ``bodies``; ``POST advance`` with ``seconds``,
    ``reset`` with an optional ``scenario`` (or the name of one of the test kit) and whether there is
    ``metering`` from now on, and ``release``.
    """
    control = _Control(app)
    router = app.web.router
    for name in ("summary", "log", "explain", "bodies"):
        router.add_get(f"/__wire__/{name}", getattr(control, name))
    for name in ("advance", "reset", "release"):
        router.add_post(f"/__wire__/{name}", getattr(control, name))


class _Control:
    def __init__(self, app: App) -> None:
        self.app = app

    async def summary(self, request: web.Request) -> web.Response:
        return web.json_response(self.app.meter.summary(request.query.get("conversation")))

    async def log(self, _request: web.Request) -> web.Response:
        return web.json_response(self.app.meter.rows)

    async def explain(self, _request: web.Request) -> web.Response:
        return web.Response(text=self.app.meter.explain())

    async def bodies(self, _request: web.Request) -> web.Response:
        return web.json_response(self.app.bodies)

    async def advance(self, request: web.Request) -> web.Response:
        clock = self.app.meter.clock
        clock.advance(float((await request.json())["seconds"]))
        return web.json_response({"now": clock.now()})

    async def reset(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else {}
        given = body.get("scenario")
        try:
            scenario = Scenario.named(given) if isinstance(given, str) else given and Scenario(given)
        except WakefulError as error:
            return web.json_response({"error": str(error)}, status=400)
        if "metering" in body:
            self.app.metering = bool(body["metering"])
        self.app.reset(scenario)
        return web.json_response({"ok": True, "scenario": self.app.scenario.name})

    async def release(self, _request: web.Request) -> web.Response:
        return web.json_response({"held": self.app.holds.release()})


async def models(_request: web.Request) -> web.Response:
    """List no models, as either provider would."""
    return web.json_response(
        {"object": "list", "data": [], "has_more": False, "first_id": None, "last_id": None}
    )


async def model(request: web.Request) -> web.Response:
    """Describe any model, as either provider would."""
    name = request.match_info["name"]
    return web.json_response(
        {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "wire",
            "type": "model",
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
        }
    )
