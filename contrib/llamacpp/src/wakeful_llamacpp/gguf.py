"""The few facts that are needed of a GGUF file before an engine loads it.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A file begins with ``GGUF`` and holds
its metadata as (length, key, type, value). The keys are looked for rather than read in turn, because lists of
a hundred thousand tokens stand between them.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from attrs import frozen

from wakeful.types import ConfigError, Problem

MAGIC = b"GGUF"
#: Metadata stand at the beginning; those of the largest vocabularies take about 20 MiB.
METADATA = 64 << 20
#: Types of values, from the format's description.
_UINT32, _STRING = 4, 8
#: Longest text that is taken for one, in bytes; chat templates have some thousands.
_LONGEST = 1 << 20


@frozen
class Facts:
    """What a file says of its model.

    Args:
        trained: tokens of context that the model was trained with; 0 if the file does not say.
        template: the Jinja template that makes prompts of messages; empty if there is none.
    """

    trained: int = 0
    template: str = ""

    @property
    def tools(self) -> bool:
        """Whether the template tells the model of tools."""
        return "tools" in self.template


def facts_of(path: Path) -> Facts:
    """Return what is known of the model in a file.

    Raises:
        ConfigError: the file cannot be read, or is no GGUF file.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ConfigError([Problem("", f"{path.name} is no GGUF file")])
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                kind = _value(data, "general.architecture")
                trained = _value(data, f"{kind}.context_length")
                template = _value(data, "tokenizer.chat_template")
    except OSError as error:
        raise ConfigError([Problem("", f"cannot read {path.name}: {error.strerror or error}")]) from error
    return Facts(
        trained if isinstance(trained, int) else 0,
        template if isinstance(template, str) else "",
    )


def _value(data: mmap.mmap, name: str) -> str | int | None:
    """Return a text or a number of the metadata, None if it is not there or is something else."""
    key = name.encode()
    mark = struct.pack("<Q", len(key)) + key
    start = data.find(mark, 0, METADATA)
    if start < 0:
        return None
    start += len(mark)
    try:
        (kind,) = struct.unpack_from("<I", data, start)
        if kind == _UINT32:
            return int(struct.unpack_from("<I", data, start + 4)[0])
        if kind != _STRING:
            return None
        (length,) = struct.unpack_from("<Q", data, start + 4)
    except struct.error:
        return None
    text = data[start + 12 : start + 12 + min(length, _LONGEST)]
    return text.decode("utf-8", errors="replace")
