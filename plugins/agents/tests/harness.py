"""A harness for tests: it does what its first argument says, well or badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time


def read() -> dict:  # type: ignore[type-arg]  # of any JSON
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)  # type: ignore[no-any-return]  # of any JSON


def send(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call(action: str, **args: object) -> dict[str, object]:
    return {"action": action, "args": args}


def scripted() -> None:
    """Two steps and an answer; when it is started anew it goes on from what it is told."""
    first = read()
    done = sum(len(message["results"]) for message in first["messages"])
    send(type="log", text="hello")
    if not done:
        send(
            type="step", text="First.", calls=[call("ping", word="a"), call("nothing"), call("ping", wrong=1)]
        )
        told = read()
        assert [each["code"] for each in told["results"]] == ["SUCCESS", "UNKNOWN_TOOL", "UNKNOWN_ARGUMENT"]
    send(type="step", calls=[call("pay", euros=100)])
    told = read()
    if told["results"][0]["held"]:
        send(type="wait")
        read()
    send(type="answer", text=f"Done with {told['results'][0]['code']}.")


def resumed() -> None:
    """Answer with what it was told at its start."""
    first = read()
    late = [message["text"] for message in first["messages"] if message["kind"] == "late-result"]
    if late:
        send(type="answer", text=f"{first['resumed']} {late[0].splitlines()[0]}")
        return
    send(type="step", calls=[call("pay", euros=100)])
    read()
    send(type="wait")
    read()


def flood() -> None:
    read()
    while True:
        send(type="log", text="x" * 100)


def long_line() -> None:
    read()
    sys.stdout.write("x" * 3_000_000)
    sys.stdout.flush()
    time.sleep(60)


def errors() -> None:
    """Write far more to standard error than any pipe holds, then answer."""
    read()
    sys.stderr.write("e" * 2_000_000)
    send(type="answer", text="Still here.")
    read()


def wrong() -> None:
    read()
    for line in ("no json", "[1]", '{"type": "dance"}', '{"type": "step", "calls": []}'):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        message = read()
        sys.stderr.write(message["message"] + "\n")


def mends() -> None:
    """Send something wrong, read what is wrong with it, and do better."""
    read()
    send(type="step", calls="ping")
    message = read()
    send(type="answer", text=message["message"])
    read()


def silent() -> None:
    read()
    time.sleep(60)


def deaf() -> None:
    time.sleep(60)


def exits() -> None:
    read()
    sys.stderr.write("out of memory\n")
    sys.exit(7)


def children() -> None:
    """Start a process that would outlive it, and say its id."""
    read()
    child = subprocess.Popen(["sleep", "600"])
    send(type="answer", text=str(child.pid))
    read()


def detached() -> None:
    """Start processes that leave its session, one with its pipes, and say their ids."""
    read()
    nothing = subprocess.DEVNULL
    loud = subprocess.Popen(["sleep", "600"], start_new_session=True)
    quiet = subprocess.Popen(
        ["sleep", "600"], start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing
    )
    send(type="answer", text=f"{loud.pid} {quiet.pid}")
    read()


def leaves() -> None:
    """End, while a process that it started holds its pipes."""
    read()
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    sys.exit(3)


def stubborn() -> None:
    """Hear no signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    silent()


def unwritable() -> None:
    """Send what no database holds: lone surrogates and NUL, in a name, in arguments and in a text."""
    read()
    odd = "\ud800\0"
    send(
        type="step",
        text=odd,
        calls=[{"action": f"ping{odd}", "args": {odd: odd}}, call("ping", word=odd)],
    )
    told = read()
    send(type="answer", text=" ".join(each["code"] for each in told["results"]) + odd)
    read()


def secrets() -> None:
    read()
    send(type="answer", text=",".join(sorted(os.environ)))
    read()


def many() -> None:
    while True:
        read()
        send(type="step", calls=[call("ping")])


def waits() -> None:
    read()
    send(type="wait")
    read()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
