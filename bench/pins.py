"""Write the versions of the environment into the root's ``pyproject.toml``, or compare them.

    python bench/pins.py            # write
    python bench/pins.py --check    # compare; exit 1 and name what differs

The pins are ``tool.uv.constraint-dependencies``: names and versions, no hosts.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "pyproject.toml"
#: What makes environments rather than being part of them.
TOOLS = {"pip", "setuptools", "uv", "uv-build", "wheel"}
BLOCK = re.compile(r"(?<=^constraint-dependencies = \[\n).*?(?=^\])", re.MULTILINE | re.DOTALL)


def installed() -> dict[str, str]:
    """Return name to version of every distribution that is neither ours nor a tool."""
    found = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in distributions()}
    return {
        name: version
        for name, version in sorted(found.items())
        if name not in TOOLS and name != "wakeful" and not name.startswith("wakeful-")
    }


def pinned(text: str) -> dict[str, str]:
    """Return name to version as the file has them."""
    lines = tomllib.loads(text)["tool"]["uv"]["constraint-dependencies"]
    return dict(line.split("==") for line in lines)


def main() -> int:
    """Write or compare."""
    text = FILE.read_text(encoding="utf-8")
    now, before = installed(), pinned(text)
    differ = sorted(name for name in {*now, *before} if now.get(name) != before.get(name))
    for name in differ:
        print(f"{name}: pinned {before.get(name, 'not')}, installed {now.get(name, 'not')}")
    if "--check" in sys.argv[1:]:
        return 1 if differ else 0
    lines = "".join(f'    "{name}=={version}",\n' for name, version in now.items())
    FILE.write_text(BLOCK.sub(lambda _: lines, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
