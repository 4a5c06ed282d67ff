"""Ports for servers of tests."""

from __future__ import annotations

import socket
from contextlib import closing


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
