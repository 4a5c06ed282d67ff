"""Owners that say which process they are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from wakeful.runtime import is_dead, owner_name

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc; elsewhere only leases count"
)
_NAMED = "from wakeful.runtime import owner_name; print(owner_name(), flush=True); input()"


@pytest.fixture
def other() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process and its name."""
    process = subprocess.Popen(
        [sys.executable, "-c", _NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process, process.stdout.readline().strip()
    process.kill()
    process.communicate()


def test_every_name_is_another() -> None:
    assert len({owner_name() for _ in range(100)}) == 100


def test_a_living_process_is_not_dead(other: tuple[subprocess.Popen[str], str]) -> None:
    assert not is_dead(owner_name())
    assert not is_dead(other[1])


def test_a_stopped_process_is_not_dead(other: tuple[subprocess.Popen[str], str]) -> None:
    process, name = other
    process.send_signal(signal.SIGSTOP)
    assert not is_dead(name)


@linux
def test_a_killed_process_is_dead_before_and_after_its_parent_looks(
    other: tuple[subprocess.Popen[str], str],
) -> None:
    process, name = other
    process.kill()
    # Waits without collecting it: it stays behind as a zombie.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(name)
    process.wait()
    assert is_dead(name)


@linux
def test_a_later_process_with_the_same_pid_is_another(other: tuple[subprocess.Popen[str], str]) -> None:
    host, place, pid, start, nonce = other[1].split("/")
    assert is_dead("/".join((host, place, pid, str(int(start) - 1), nonce)))


@linux
@pytest.mark.parametrize("part", [0, 1])
def test_nobody_judges_processes_of_another_place(part: int) -> None:
    """Another host, another boot or another namespace of pids: there the pid means nothing here."""
    gone = owner_name().split("/")
    gone[2] = "999999999"
    assert is_dead("/".join(gone))
    gone[part] = "elsewhere"
    assert not is_dead("/".join(gone))


@pytest.mark.parametrize(
    "name",
    ["", "process-1", "a/b/c/d/e", "////", "h/p/-1/5/n", "h//1/5/n", "h/p/1//n", "h/p/²/5/n", "a/b/1/2/3/4"],
)
def test_other_names_are_never_dead(name: str) -> None:
    assert not is_dead(name)


@linux
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to make a namespace of pids")
def test_a_container_and_its_host_leave_each_other_alone() -> None:
    """In a namespace of its own the same pid is somebody else, with and without a /proc that shows it."""
    here = owner_name()
    for options in (["--mount-proc"], []):
        command = ["unshare", "--pid", "--fork", *options, sys.executable, "-c"]
        ask = (
            "import sys; from wakeful.runtime import is_dead, owner_name;"
            "print(owner_name(), is_dead(sys.argv[1]), is_dead(owner_name()))"
        )
        done = subprocess.run([*command, ask, here], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"namespaces cannot be made here: {done.stderr.strip()}")
        name, *verdicts = done.stdout.split()
        assert verdicts == ["False", "False"]
        # It has ended, but its pid was one of another namespace.
        assert not is_dead(name)
