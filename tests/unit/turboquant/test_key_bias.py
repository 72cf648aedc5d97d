"""Keys with a constant that RoPE spins: packed without it, scored with it."""

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.cache import load_prompt_cache, save_prompt_cache
from mlx_lm.models.qwen2 import Model, ModelArgs
from mlx_lm.models.rope_utils import initialize_rope

from tests.cache_kit import normal
from tests.contract import families
from turboquant import convert, make_cache, snapshot
from turboquant.cache import TurboQuantCache
from turboquant.errors import SnapshotMismatch, TurboQuantError
from turboquant.key_bias import KeyBias

DIM, HEADS = 64, 2
STRETCHED = {"factor": 4.0, "original_max_position_embeddings": 4096}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * (DIM // 2), "long_factor": [2.0] * (DIM // 2)}
ROPES = {
    "plain": nn.RoPE(DIM),
    "traditional": nn.RoPE(DIM, traditional=True),
    "partial": nn.RoPE(DIM // 2),
    "scaled": nn.RoPE(DIM, scale=0.25),
    "linear": initialize_rope(DIM, 1e4, False, {"type": "linear", "factor": 4.0}),
    "llama3": initialize_rope(DIM, 1e4, False, STRETCHED | LLAMA3, 16384),
    "yarn": initialize_rope(DIM, 1e4, False, STRETCHED | {"rope_type": "yarn"}, 16384),
    "longrope": initialize_rope(DIM, 1e4, False, STRETCHED | LONG, 16384),
}
PAIRS = {"slow": slice(24, 32), "fast": slice(0, 8), "all": slice(0, 32)}


@pytest.mark.parametrize("name", ROPES)
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (4, 131), (5, 1000), (30_000, 30_200)])
def test_scores_by_blocks_equal_the_models_own_rope_at_every_position(name: str, start: int, stop: int) -> None:
    bias = KeyBias(normal(HEADS * DIM) * 50, ROPES[name])
    queries = normal(2, 6, 3, DIM, seed=1)
    rows = np.array(bias.rows(start, stop, HEADS), np.float64)
    one = ROPES[name]((normal(HEADS * DIM) * 50).reshape(1, HEADS, 1, DIM), offset=stop - 1)
    exact = np.array(queries, np.float64).reshape(2, HEADS, 9, DIM) @ rows.swapaxes(-1, -2)
    ours = np.array(bias.scores(queries, start, stop, HEADS)).reshape(exact.shape)
    assert np.abs(rows[:, :, -1:] - np.array(one)).max() < 1e-3
    assert np.abs(ours - exact).max() < 1e-3 * np.abs(exact).max()


def qwen(pairs: slice) -> Model:
    """Two layers of Qwen2 whose key bias dwarfs the keys, in some of RoPE's pairs."""
    mx.random.seed(3)
    model = Model(
        ModelArgs("qwen2", 128, 2, 256, 2, 1e-6, 128, num_key_value_heads=1, tie_word_embeddings=False, rope_theta=1e4)
    )
    for layer in model.layers:
        # keys of norm 20 beside the bias, queries that leave its scores a standard deviation of about 3
        for name, factor in (("q_proj", 0.07), ("k_proj", 4), ("v_proj", 4)):
            projection = layer.self_attn[name]
            projection.weight = projection.weight * factor
            projection.bias = mx.zeros_like(projection.bias)
        bias = np.zeros((2, 32), np.float32)
        bias[:, pairs] = np.random.RandomState(5).standard_normal((2, pairs.stop - pairs.start))
        layer.self_attn.k_proj.bias = mx.array(bias.ravel() * 600 / np.linalg.norm(bias))
    return model


def decode(model: Model, caches: list[TurboQuantCache], tokens: mx.array, start: int) -> np.ndarray:
    logits = [model(tokens[:, t : t + 1], cache=caches) for t in range(start, tokens.shape[1])]
    return np.array(mx.concatenate(logits, axis=1)[0])


def divergence(theirs: np.ndarray, ours: np.ndarray) -> float:
    a, b = (x - np.logaddexp.reduce(x, axis=-1, keepdims=True) for x in (theirs.astype(float), ours.astype(float)))
    return float((np.exp(a) * (a - b)).sum(-1).mean())


@pytest.mark.parametrize("pairs", PAIRS)
def test_a_large_bias_costs_no_quality(pairs: str) -> None:
    model, tokens = qwen(PAIRS[pairs]), mx.array(np.random.RandomState(7).randint(0, 128, (1, 340)))
    results = {}
    for name, calibrate in (("none", True), ("turbo4", True), ("turbo4", False)):
        caches = make_cache(model, name, calibrate=calibrate)
        mx.eval(model(tokens[:, :300], cache=caches))
        results[name, calibrate] = decode(model, caches, tokens, 300)
        assert {cache.without_bias for cache in caches} == {calibrate and name == "turbo4"}
    exact = results["none", True]
    assert divergence(exact, results["turbo4", True]) < 1e-3
    assert divergence(exact, results["turbo4", False]) > 2 * divergence(exact, results["turbo4", True])


def test_a_bias_that_rope_does_not_turn_is_left_to_the_offset() -> None:
    model, tokens = qwen(PAIRS["slow"]), mx.array(np.random.RandomState(7).randint(0, 128, (1, 301)))
    for layer in model.layers:
        layer.self_attn.rope.base = 1e12
    caches = make_cache(model, "turbo4")
    mx.eval(model(tokens[:, :300], cache=caches))
    decode(model, caches, tokens, 300)
    assert all(cache.packing and not cache.without_bias for cache in caches)


def test_a_later_prompt_a_trim_and_a_snapshot_keep_the_bias(tmp_path) -> None:
    model, tokens = qwen(PAIRS["fast"]), mx.array(np.random.RandomState(8).randint(0, 128, (1, 500)))
    caches, exact = make_cache(model, "turbo4"), make_cache(model, "none")
    for held in (caches, exact):
        mx.eval(model(tokens[:, :300], cache=held))
        decode(model, held, tokens[:, :310], 300)
        for cache in held:
            cache.trim(40)
    assert divergence(*(np.array(model(tokens[:, 270:400], cache=held)[0]) for held in (exact, caches))) < 0.02
    snapshot.save(tmp_path / "cache", caches, tokens[0, :400].tolist(), "model")
    restored = snapshot.load(tmp_path / "cache", model, "model").caches
    assert np.array_equal(decode(model, restored, tokens[:, :410], 400), decode(model, caches, tokens[:, :410], 400))
    with pytest.raises(SnapshotMismatch, match="key bias"):
        snapshot.load(tmp_path / "cache", families.tiny("qwen3", num_hidden_layers=len(caches)), "model")


def test_a_file_of_mlx_lms_gets_the_bias_from_the_model_again(tmp_path: Path) -> None:
    model, tokens = qwen(PAIRS["fast"]), mx.array(np.random.RandomState(8).randint(0, 128, (1, 500)))
    caches = make_cache(model, "turbo4")
    mx.eval(model(tokens[:, :300], cache=caches))
    decode(model, caches, tokens[:, :310], 300)
    save_prompt_cache(str(tmp_path / "cache.safetensors"), caches)
    loaded = load_prompt_cache(str(tmp_path / "cache.safetensors"))
    with pytest.raises(TurboQuantError, match="convert"):
        model(tokens[:, 310:320], cache=loaded)
    loaded = convert(model, loaded, "turbo4")
    assert np.array_equal(decode(model, loaded, tokens, 310), decode(model, caches, tokens, 310))
