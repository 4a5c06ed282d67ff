"""The engine's own process: ``python -m wakeful_llamacpp.serve``.

It reads one line of JSON from its standard input, loads the model, prints ``listening URL`` and serves until
its standard input ends, which it does with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

#: Of llama.cpp's log only errors and warnings.
_VERBOSITY = 1


def filled(params: Any, given: dict[str, Any]) -> Any:
    """Return llama.cpp's parameters with what is given; see :class:`wakeful_llamacpp.engine.Setup`."""
    params.model.path = given["path"]
    params.model_alias = {given["alias"]}
    params.n_parallel = given["slots"]
    params.n_ctx = given["context"] * given["slots"]  # the server divides it among the slots
    params.cache_ram_mib = given["cache_mib"]
    if given["threads"]:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given["threads"]
    if given["template"]:
        params.chat_template = given["template"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.api_keys = [given["key"]]
    params.ui = params.endpoint_slots = False
    params.verbosity = _VERBOSITY
    return params


def main() -> None:
    """Serve until standard input ends."""
    # What the library prints must not be taken for the address.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        given = json.loads(sys.stdin.buffer.readline())
        import xllamacpp  # type: ignore[import-untyped]  # a C extension without stubs

        try:
            # Python's lock is held until the model is loaded: no other thread runs meanwhile.
            server = xllamacpp.Server(filled(xllamacpp.CommonParams(), given))
        except RuntimeError as error:
            sys.exit(str(error))
        print(f"listening {server.listening_address}", file=out, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # at once, also in the middle of a reply: nothing here is worth keeping


if __name__ == "__main__":
    main()
