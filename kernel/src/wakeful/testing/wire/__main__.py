"""``python -m wakeful.testing.wire serve --scenario FILE``: serve until stopped, then print the summary."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wakeful.testing.wire.bill import Clock
from wakeful.testing.wire.meter import Meter
from wakeful.testing.wire.scenario import Scenario, scenarios
from wakeful.testing.wire.tokens import Tokenizer
from wakeful.types import WakefulError

if TYPE_CHECKING:
    from wakeful.testing.wire.app import App


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    top = argparse.ArgumentParser(prog="python -m wakeful.testing.wire")
    sub = top.add_subparsers(dest="verb", required=True)
    serve = sub.add_parser("serve", help="serve a scenario until stopped, then print the summary")
    add = serve.add_argument
    add("--scenario", required=True, help=f"a file, or one of: {', '.join(scenarios())}")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8123, help="0 takes a free one")
    add("--log", help="a file for JSON lines, one a request")
    add("--clock", choices=("virtual", "real"), default="virtual")
    add("--tokenizer", choices=("auto", "bpe_openai", "tiktoken", "bytes"), default="auto")
    add("--anthropic-minimum", type=int, help="override the model's smallest cacheable prefix, in tokens")
    add("--openai-generation", choices=("auto", "automatic", "breakpoint"), default="auto")
    add("--no-strict", action="store_true", help="skip the checks that answer 400")
    add("--no-meter", action="store_true", help="answer only; for speed measurements")
    add("--keep-bodies", action="store_true", help="keep request bodies for /__wire__/bodies")
    return top.parse_args(argv)


def _app(args: argparse.Namespace) -> App:
    from wakeful.testing.wire.app import App

    clock, tokenizer = Clock(real=args.clock == "real"), Tokenizer(args.tokenizer)
    meter = Meter(clock, tokenizer, args.log, args.anthropic_minimum, args.openai_generation)
    named = args.scenario in scenarios()
    scenario = Scenario.named(args.scenario) if named else Scenario(args.scenario)
    strict, metering = not args.no_strict, not args.no_meter
    return App(scenario, meter, strict=strict, metering=metering, keep_bodies=args.keep_bodies)


async def _serve(app: App, host: str, port: int) -> None:
    from wakeful.testing.wire.running import Running

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Running(app, host, port) as url:
        ready = {"url": url, "tokenizer": app.meter.tokenizer.name, "scenario": app.scenario.name}
        print(json.dumps(ready), flush=True)  # noqa: T201  # whoever started this reads the address
        await stop.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve; return the exit code."""
    args = _arguments(argv)
    try:
        app = _app(args)
        asyncio.run(_serve(app, args.host, args.port))
    except (WakefulError, OSError, json.JSONDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if app.metering:
        sys.stderr.write(app.meter.explain() + "\n")
        sys.stdout.write(json.dumps(app.meter.summary(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
