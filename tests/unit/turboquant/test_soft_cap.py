"""Soft-capped scores: Gemma 2 and Gear attend by themselves in mlx-lm, and through the cache here."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models import gear, gemma2
from mlx_lm.models.cache import make_prompt_cache

import turboquant
from tests.cache_kit import attend, decoded, normal
from turboquant import plan
from turboquant.backends import choose
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache

SIZES: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 64, "num_attention_heads": 4, "head_dim": 32,
    "num_key_value_heads": 2, "vocab_size": 64, "rms_norm_eps": 1e-5, "attn_logit_softcapping": 2.0,
}  # fmt: skip


@pytest.fixture(scope="module", params=["gemma2", "gear"])
def model(request: pytest.FixtureRequest) -> Any:
    mx.random.seed(2)
    if request.param == "gemma2":
        made = gemma2.Model(gemma2.ModelArgs(model_type="gemma2", query_pre_attn_scalar=32, **SIZES))
    else:
        types = ["full_attention", "sliding_attention"]
        made = gear.Model(
            gear.ModelArgs.from_dict({"model_type": "gear", "layer_types": types, "sliding_window": 128, **SIZES})
        )
    mx.eval(made.parameters())
    return made


@pytest.mark.parametrize(("scheme", "limit"), [("none", 2e-3), ("turbo8", 0.05), ("turbo4", 0.4)])
def test_a_soft_capped_model_is_packed(model: Any, scheme: str, limit: float) -> None:
    ours, exact = turboquant.make_cache(model, scheme), make_prompt_cache(model)
    for step in (mx.arange(200) * 7 % 61, mx.arange(9), *mx.arange(40)[:, None]):
        logits = [model(step[None], cache=caches)[0, -1] for caches in (ours, exact)]
        assert mx.abs(logits[0] - logits[1]).max() < limit * mx.abs(logits[1]).max()
    assert not any(verdict.reason for verdict in plan.describe(ours) if verdict.kind == "attention")
    assert ours[0].packing == (scheme != "none")


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo0v4"])
@pytest.mark.parametrize("rows", [1, 3, 60])
@pytest.mark.parametrize("cap", [0.7, 30.0])
def test_scores_are_capped_before_the_mask(scheme: str, rows: int, cap: float) -> None:
    cache = TurboQuantCache(scheme)
    for step in (200, 1, rows):
        cache.update_and_fetch(normal(1, 2, step, 64, seed=step), normal(1, 2, step, 64, seed=step + 1))
        attend(cache, normal(1, 4, step, 64, seed=step + 2))
    queries, sinks = normal(1, 4, rows, 64, seed=7), mx.array([0.5, 3.0, -1.0, 6.0])
    keys, values = (np.repeat(side, 2, axis=1) for side in decoded(cache))
    scores = cap * np.tanh(0.3 * np.array(queries, np.float64) @ keys.swapaxes(-1, -2) / cap)
    scores[..., np.arange(201 + rows) > np.arange(201, 201 + rows)[:, None]] = -np.inf
    weights = np.exp(scores)
    exact = weights @ values / (weights.sum(-1, keepdims=True) + np.exp(np.array(sinks))[:, None, None])
    for backend in (choose(), ReferenceBackend()):
        got = backend.attend(queries, cache.stretches(), 0.3, "causal" if rows > 1 else None, sinks, cap)
        assert np.abs(np.array(got) - exact).max() < 1e-3
