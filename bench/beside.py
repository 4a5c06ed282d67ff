"""The options by which a measuring command runs other frameworks beside wakeful."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def add_peers(parser: argparse.ArgumentParser, script: str) -> None:
    """Add ``--peers`` and ``--peers-python``; what they give holds in any folder.

    Args:
        parser: of the command.
        script: what the folder must hold.
    """
    parser.add_argument("--peers", type=_folder_with(script), metavar="DIR", help=f"folder with {script}")
    parser.add_argument(
        "--peers-python",
        type=_interpreter,
        default=sys.executable,
        metavar="PATH",
        help="interpreter that has the frameworks installed",
    )


def _folder_with(script: str) -> Callable[[str], Path]:
    def folder(text: str) -> Path:
        found = Path(text).resolve()
        if not (found / script).is_file():
            raise argparse.ArgumentTypeError(f"{text} has no {script}")
        return found

    return folder


def _interpreter(text: str) -> str:
    found = shutil.which(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no interpreter")
    return str(Path(found).absolute())  # not resolved: the link is what makes an environment
