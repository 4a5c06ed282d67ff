"""Run every test with the full counts of examples; arguments go to pytest.

    python bench/thorough/run.py                     # everything: takes long
    python bench/thorough/run.py tests -k transcript # a part

Everyday runs draw one in twenty of the examples, the same ones each time. This draws all of them, anew each
time; a failing example is printed with the line that reproduces it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Run pytest and return its exit code."""
    environment = os.environ | {"WAKEFUL_EXAMPLES": "thorough"}
    command = [sys.executable, "-m", "pytest", "--durations=10", *sys.argv[1:]]
    print(f"WAKEFUL_EXAMPLES=thorough {' '.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
