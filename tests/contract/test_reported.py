"""What people met in caches of this kind elsewhere, each as a kind, where no other test asks for it."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.cache_kit import attend, attention, decoded, normal
from tests.contract import families
from tests.contract.test_families import Conversation
from turboquant import plan
from turboquant.cache import TurboQuantCache
from turboquant.schemes import SCHEMES, parse
from turboquant.segments import Buffer

NAMES = [scheme.name for scheme in SCHEMES]
COMPRESSING = NAMES[1:]
EDGES = (127, 128, 1023, 1024, 1025, 4096)
SCORE_ERROR = {8: 0.02, 4: 0.15, 3: 0.3, 2: 0.6}  # root mean square, relative to how far scores spread


def usual(scheme: str) -> Any:
    """Marks what is slow: all but a scheme of each sort."""
    return pytest.param(scheme, marks=() if scheme in ("none", "turbo4", "turbo3", "turbo0v4") else pytest.mark.slow)


# ---------------------------------------------------------------- few and wide heads


@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("scheme", [usual(name) for name in NAMES])
def test_one_or_two_wide_heads_at_every_edge(scheme: str, kv_heads: int) -> None:
    cache = TurboQuantCache(scheme)
    keys = normal(1, kv_heads, 4096, 256) + 2 * normal(1, kv_heads, 1, 256, seed=1)
    values, queries = normal(1, kv_heads, 4096, 256, seed=2), normal(1, 4 * kv_heads, 4096, 256, seed=3)
    for begin, end in pairwise((0, *EDGES)):
        for step in (slice(begin, end - 1), slice(end - 1, end)):
            if step.start == step.stop:
                continue
            cache.update_and_fetch(keys[:, :, step], values[:, :, step])
            if step.start == 0 or step.stop == end:
                ours = attend(cache, queries[:, :, step], 1 / 16)
        exact = attention(np.array(queries[:, :, step], np.float64), *decoded(cache), 1 / 16)
        assert cache.packing == (scheme != "none")
        assert np.abs(np.array(ours) - exact).max() < 1e-3, end


@pytest.mark.parametrize("scheme", ["turbo8", "turbo4v2"])
def test_a_model_of_one_wide_head_answers_as_uncompressed(scheme: str) -> None:
    model = families.tiny("qwen3", head_dim=256, num_attention_heads=2, num_key_value_heads=1)
    caches, plain = plan.make_cache(model, scheme), make_prompt_cache(model)
    tokens = mx.array(np.random.RandomState(1).randint(0, families.VOCABULARY, (1, 4096)))
    errors, said = [], set()
    for begin, end in pairwise((0, *EDGES)):
        for step in (slice(begin, end - 1), slice(end - 1, end)):
            if step.start < step.stop:
                ours, exact = (model(tokens[:, step], cache=held)[0, -1] for held in (caches, plain))
                mx.eval(ours, exact)
        errors.append((mx.linalg.norm(ours - exact) / mx.linalg.norm(exact - exact.mean())).item())
        said.add(int(mx.argmax(ours)))
    assert max(errors) < {"turbo8": 0.03, "turbo4v2": 0.5}[scheme]
    assert len(said) > 1


# ---------------------------------------------------------------- memory while packing


@pytest.fixture(scope="module")
def prefilled() -> tuple[Any, list[Any]]:
    """A model of 8 layers and its caches after 4,095 tokens."""
    model = families.tiny("qwen3", num_hidden_layers=8, num_attention_heads=2, head_dim=64)
    tokens = mx.array(np.random.RandomState(2).randint(0, families.VOCABULARY, (1, 4095)))
    caches = plan.make_cache(model, "none")
    for start in range(0, 4095, 512):
        mx.eval(model(tokens[:, start : start + 512], cache=caches))
    return model, caches


@pytest.mark.parametrize("scheme", [usual(name) for name in COMPRESSING])
def test_the_first_decoded_token_needs_a_layers_work_beside_what_is_held(
    scheme: str, prefilled: tuple[Any, list[Any]]
) -> None:
    """From raw to packed within a step of the model; the peak counts all that MLX holds."""
    model, exact = prefilled

    def copied() -> tuple[list[Any], int]:
        """Caches to pack, and the bytes in use beside the buffers that MLX keeps for later."""
        caches = copy.deepcopy(exact)
        for cache in caches:
            cache.scheme = parse(scheme)
            for buffer in (cache.tail_keys, cache.tail_values):
                buffer.array = buffer.array + 0  # a copy alone would share its bytes
        mx.eval([cache.all_arrays() for cache in caches])
        mx.clear_cache()
        mx.reset_peak_memory()
        return caches, mx.get_active_memory()

    caches, before = copied()
    caches[0].begin_packing()
    one_layer = mx.get_peak_memory() - before
    del caches
    caches, before = copied()
    raw = sum(cache.nbytes for cache in caches)
    mx.eval(model(mx.array([[5]]), cache=caches))
    assert all(cache.packing for cache in caches)
    assert mx.get_peak_memory() - before <= 1.05 * one_layer + raw / 16  # and a token's activations
    assert one_layer < raw / 2


# ---------------------------------------------------------------- keys with a large constant


@pytest.mark.parametrize("scheme", [name for name in NAMES if parse(name).key_bits])
def test_scores_survive_a_constant_thirty_times_the_content(scheme: str) -> None:
    """Noise of norm 20 around a constant of norm 600. Reconstruction looks good where scores are worthless."""
    constant = 75 * mx.sign(normal(1, 2, 1, 64, seed=1))
    keys, queries = 2.5 * normal(1, 2, 600, 64) + constant, normal(1, 2, 600, 64, seed=3)
    cache = TurboQuantCache(scheme)
    cache.update_and_fetch(keys[:, :, :500], keys[:, :, :500])
    attend(cache, queries[:, :, :500], 0.1)
    for t in range(500, 600):
        cache.update_and_fetch(keys[:, :, t : t + 1], keys[:, :, t : t + 1])
        attend(cache, queries[:, :, t : t + 1], 0.1)
    held, asked = decoded(cache)[0], np.array(queries[:, :, -20:], np.float64)
    ours, exact = (asked @ k.swapaxes(-1, -2) for k in (held, np.array(keys, np.float64)))
    ours, exact = (s - s.mean(-1, keepdims=True) for s in (ours, exact))  # what softmax makes of scores
    packed = slice(4, -cache.tail_keys.count)
    error = np.sqrt(np.square(ours - exact)[..., packed].mean() / np.square(exact).mean())
    assert error < SCORE_ERROR[parse(scheme).key_bits]


# ---------------------------------------------------------------- head dims


@pytest.mark.parametrize(
    ("dims", "scheme"),
    [((80, 12), "turbo4"), ((20, 28), "turbo2"), pytest.param((72, 112), "turbo3", marks=pytest.mark.slow)],
)
def test_head_dims_of_their_own_in_every_layer(dims: tuple[int, int], scheme: str, tmp_path: Path) -> None:
    Conversation("gemma4_text", parse(scheme), head_dim=dims[0], global_head_dim=dims[1]).run(tmp_path / "cache")


def test_a_layer_whose_head_dim_has_no_codec_stays_raw_beside_others() -> None:
    model = families.tiny("gemma4_text", head_dim=4, global_head_dim=64)
    caches = plan.make_cache(model, "turbo4")
    mx.eval(model(mx.arange(150)[None] % families.VOCABULARY, cache=caches), model(mx.array([[1]]), cache=caches))
    verdicts = plan.describe(caches)
    assert [verdict.scheme for verdict in verdicts] == [None, "turbo4"] * 2
    assert "head dimension of 4" in verdicts[0].reason


# ---------------------------------------------------------------- numbers at the edge


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16, mx.float32], ids=str)
@pytest.mark.parametrize("scheme", COMPRESSING)
def test_one_outlier_harms_no_other_token_and_zero_stays_zero(scheme: str, dtype: mx.Dtype) -> None:
    """A value beyond float16's range, tokens of nothing and of next to nothing, raw and packed."""
    data = np.random.RandomState(4).standard_normal((1, 2, 240, 64)).astype(np.float32)
    for first in (0, 40, 235):  # among the first tokens, packed, in the tail
        data[:, :, first] = 0
        data[:, :, first + 1] = 1e-8
        data[:, :, first + 2, 7] = 6e4 if dtype == mx.float16 else 1e5
    given, cache = mx.array(data).astype(dtype), TurboQuantCache(scheme)
    for step in (slice(0, 180), *(slice(t, t + 1) for t in range(180, 240))):
        cache.update_and_fetch(given[:, :, step], given[:, :, step])
        queries = (given[:, :, step] * 1e-5).astype(dtype)
        assert mx.isfinite(attend(cache, queries, 0.1)).all()
    assert cache.body_values.count > 100
    keys, values = decoded(cache)
    assert np.isfinite(keys).all()
    assert np.isfinite(values).all()
    for first in (0, 40, 235):
        assert not values[:, :, first].any()
        assert np.abs(values[:, :, first + 1]).max() < 1e-6
        assert (values[:, :, first + 2, 7] > 3e4).all()
    others = np.ones(240, bool)
    others[[first + i for first in (0, 40, 235) for i in range(3)]] = False
    error = np.linalg.norm((values - data)[:, :, others], axis=-1) / np.linalg.norm(data[:, :, others], axis=-1)
    assert error.mean() < {2: 0.4, 3: 0.22, 4: 0.12, 8: 0.02}[parse(scheme).value_bits]
    if isinstance(cache.body_keys, Buffer):
        assert not keys[:, :, 40].any()
