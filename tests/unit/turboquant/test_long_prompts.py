"""What a long prompt, and a long second turn, take while they are computed."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models import llama
from mlx_lm.models.cache import make_prompt_cache

import turboquant
from tests.cache_kit import normal
from turboquant import report
from turboquant.backends import reference
from turboquant.cache import LONG_PROMPT

STEP = 2048


@pytest.fixture(scope="module")
def model() -> Any:
    mx.random.seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 64, "vocab_size": 64}
    arguments = llama.ModelArgs(
        model_type="llama", num_attention_heads=1, num_key_value_heads=1, rms_norm_eps=1e-5, **sizes
    )
    made = llama.Model(arguments)
    mx.eval(made.parameters())
    return made


def prefill(model: Any, caches: list[Any], tokens: int) -> int:
    """Returns the most bytes that the caches held between two steps."""
    most = 0
    for start in range(0, tokens, STEP):
        model((mx.arange(start, start + STEP) * 7 % 61)[None], cache=caches)
        mx.eval([c.state for c in caches])
        most = max(most, sum(c.nbytes for c in caches))
        mx.clear_cache()
    return most


def test_a_long_prompt_is_packed_while_it_goes_on(model: Any) -> None:
    caches = turboquant.make_cache(model, "turbo4")
    fp16_bytes = 2 * 16384 * 2 * 64 * mx.float16.size
    assert prefill(model, caches, LONG_PROMPT) > 0
    assert not any(c.packing for c in caches)  # an ordinary prompt stays raw until the first decoded token
    assert prefill(model, caches, 16384 - LONG_PROMPT) <= 0.45 * fp16_bytes
    assert all(c.packing for c in caches)
    assert report.measure(caches).tokens == 16384


@pytest.mark.parametrize(
    "scheme", ["turbo4", *(pytest.param(s, marks=pytest.mark.slow) for s in ("turbo0v3", "turbo8"))]
)
def test_a_second_turn_over_a_packed_one_peaks_below_the_uncompressed_model(model: Any, scheme: str) -> None:
    peaks = []
    for caches in (make_prompt_cache(model), turboquant.make_cache(model, scheme)):
        prefill(model, caches, 8192)
        mx.eval(model(mx.array([[3]]), cache=caches), [c.state for c in caches])
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        prefill(model, caches, 2048)
        peaks.append(mx.get_peak_memory() - before)
    assert peaks[1] < peaks[0]


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "additive", "row"])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_a_few_queries_at_a_time_equal_all_at_once(
    monkeypatch: pytest.MonkeyPatch, kind: str, with_sinks: bool
) -> None:
    monkeypatch.setattr(reference, "WORKING_BYTES", 9000)  # 5 queries
    queries, keys, values = normal(1, 4, 33, 16), normal(1, 2, 50, 16, seed=1), normal(1, 2, 50, 8, seed=2)
    masks = {
        "none": None,
        "causal": "causal",
        "bool": mx.arange(50) <= mx.arange(17, 50)[:, None],
        "additive": normal(1, 4, 33, 50, seed=3),
        "row": mx.arange(50) > 9,
    }
    sinks = mx.array([0.5, 3.0, -1.0, 6.0]) if with_sinks else None
    ours = reference._attend_laid_out(queries, keys, values, 0.3, masks[kind], sinks)
    exact = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=0.3, mask=masks[kind], sinks=sinks)
    assert mx.allclose(ours, exact, atol=1e-5)
