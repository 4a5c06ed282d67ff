"""How many examples a property test runs: all of them, or a twentieth in everyday runs."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

VARIABLE = "WAKEFUL_EXAMPLES"
CI = "ci"
THOROUGH = "thorough"
SHARE = 20


def profile() -> str:
    """Return the profile that the environment asks for: ``ci`` unless it says ``thorough``."""
    name = os.environ.get(VARIABLE) or CI
    if name not in {CI, THOROUGH}:
        raise ValueError(f"{VARIABLE}={name!r}: expected {CI!r} or {THOROUGH!r}")
    return name


def examples(full: int) -> int:
    """Return how many of ``full`` examples to run: all when thorough, else one in twenty."""
    return full if profile() == THOROUGH else max(1, full // SHARE)


def register() -> None:
    """Make hypothesis run with the profile of the environment.

    No deadline: a shared machine stalls now and then, and a stall is not a fault of the code under test.
    """
    slow = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
    settings.register_profile(
        CI, max_examples=examples(2000), derandomize=True, deadline=None, suppress_health_check=slow
    )
    settings.register_profile(
        THOROUGH, max_examples=2000, deadline=None, print_blob=True, suppress_health_check=slow
    )
    settings.load_profile(profile())
