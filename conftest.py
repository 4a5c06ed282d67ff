"""Set up every test run of the repository: hypothesis profiles, own databases, a Ctrl-C that is heard."""

from __future__ import annotations

import signal

from tests.counts import register
from tests.workers import separate

register()
separate()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what it puts into the background, and programs that tests start would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
