"""Pin the newest versions in the root's ``pyproject.toml``, or check that the pins are complete.

    python bench/pins.py            # resolve without pins and write what was found
    python bench/pins.py --check    # resolve with them; exit 1 and name what differs

The pins are ``tool.uv.constraint-dependencies``: names, versions and markers, no hosts. They hold for every
Python that the distributions support, not only for the one that runs this.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "pyproject.toml"
BLOCK = re.compile(r"(?<=^constraint-dependencies = \[\n).*?(?=^\])", re.MULTILINE | re.DOTALL)
EXPORT = "--all-packages --all-groups --no-hashes --no-emit-workspace --no-annotate --no-header"


def pinned(text: str) -> list[str]:
    """Return the pins that a file has."""
    return list(tomllib.loads(text)["tool"]["uv"]["constraint-dependencies"])


def resolved(text: str) -> list[str]:
    """Return the versions that uv finds for the workspace, with ``text`` as the root's file."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [ROOT / "kernel", ROOT / "migrations", *ROOT.glob("plugins/*"), *ROOT.glob("contrib/*")]:
            if (path / "pyproject.toml").is_file():
                copy = Path(folder, path.relative_to(ROOT), "pyproject.toml")
                copy.parent.mkdir(parents=True)
                copy.write_bytes((path / "pyproject.toml").read_bytes())
        Path(folder, "pyproject.toml").write_text(text, encoding="utf-8")
        uv = str(Path(sys.executable).with_name("uv"))
        command = [uv, "export", "--quiet", *EXPORT.split()]
        return subprocess.run(
            command, cwd=folder, capture_output=True, check=True, text=True
        ).stdout.splitlines()


def main() -> int:
    """Write or check."""
    text = FILE.read_text(encoding="utf-8")
    before = pinned(text)
    if "--check" in sys.argv[1:]:
        now = resolved(text)
        for line in sorted({*now} ^ {*before}):
            print(f"{'not pinned' if line in now else 'pinned, not needed'}: {line}")
        return 1 if now != before else 0
    lines = "".join(f'    "{line}",\n' for line in resolved(BLOCK.sub("", text)))
    FILE.write_text(BLOCK.sub(lambda _: lines, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
