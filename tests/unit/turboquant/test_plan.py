"""Which layers are packed, with the reason for each that isn't: families built tiny, random weights."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache, make_prompt_cache

import turboquant
from tests.contract import families
from turboquant import plan, report
from turboquant.errors import NeedsRebuild, UnknownScheme

COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5,
    "vocab_size": 64,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "gemma3_text": {
        **COMMON, "num_hidden_layers": 6, "head_dim": 32, "sliding_window": 16, "sliding_window_pattern": 3,
    },
    "deepseek_v3": {
        **COMMON, "num_hidden_layers": 2, "num_key_value_heads": 2, "kv_lora_rank": 32, "q_lora_rank": None,
        "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16, "moe_intermediate_size": 32,
        "n_routed_experts": None,
    },
    "qwen3_next": {
        **COMMON, "num_hidden_layers": 4, "linear_num_value_heads": 2, "linear_num_key_heads": 2,
        "linear_key_head_dim": 32, "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "num_experts": 0,
        "num_experts_per_tok": 1, "decoder_sparse_step": 1, "shared_expert_intermediate_size": 32,
        "mlp_only_layers": [],
        "moe_intermediate_size": 32, "head_dim": 32, "rope_theta": 1e4, "partial_rotary_factor": 0.5,
        "max_position_embeddings": 512, "full_attention_interval": 4,
    },
}  # fmt: skip


def tiny(family: str, **changes: Any) -> Any:
    module = import_module(f"mlx_lm.models.{family}")
    mx.random.seed(0)
    model = module.Model(module.ModelArgs.from_dict({"model_type": family, **FAMILIES[family], **changes}))
    mx.eval(model.parameters())
    return model


@pytest.mark.parametrize(
    ("family", "packed", "reason"),
    [
        ("gemma3_text", 2, "sliding window of 16 tokens"),
        ("deepseek_v3", 0, "latent"),
        ("qwen3_next", 1, "recurrent state"),
    ],
)
def test_layers_that_stay_raw_say_why_and_the_model_still_runs(family: str, packed: int, reason: str) -> None:
    model = tiny(family)
    caches = turboquant.make_cache(model, "turbo4")
    for length in (40, 1, 1):
        logits = model(mx.ones((1, length), mx.int32), cache=caches)
    assert mx.isfinite(logits).all()
    reports = plan.describe(caches)
    assert sum(r.scheme == "turbo4" for r in reports) == packed
    assert all(bool(r.reason) != bool(r.scheme) for r in reports)
    assert all(reason in r.reason for r in reports if not r.scheme)
    assert [r.index for r in reports] == list(range(len(caches)))
    measured = report.measure(caches)
    assert measured.layers_compressed == packed
    assert measured.layers_total == len(caches)
    assert measured.used_bytes >= measured.other_bytes


def test_attention_that_mlx_lm_joins_with_a_state_is_converted_and_switched() -> None:
    model, tokens = families.tiny("falcon_h1"), mx.arange(151)[None] % families.VOCABULARY
    exact = make_prompt_cache(model)
    mx.eval(model(tokens[:, :150], cache=exact))
    caches = plan.convert(model, copy.deepcopy(exact), "turbo8")
    assert [report.scheme for report in plan.describe(caches)] == ["turbo8"] * 2
    assert {report.kind for report in plan.describe(caches)} == {"state + attention"}
    measured = report.measure(caches)
    assert (measured.tokens, measured.layers_compressed, measured.layers_total) == (150, 2, 2)
    assert 0 < measured.other_bytes < measured.used_bytes < measured.fp16_bytes
    ours, theirs = (model(tokens[:, 150:], cache=held)[0, 0] for held in (caches, exact))
    assert mx.abs(ours - theirs).max() < 0.02 * mx.abs(theirs - theirs.mean()).max()
    assert plan.switch(caches, "turbo2") == "requantised"
    assert report.measure(caches).used_bytes < measured.used_bytes


def test_an_unknown_scheme_is_refused_before_any_work(tiny_llama: Any) -> None:
    with pytest.raises(UnknownScheme):
        turboquant.make_cache(tiny_llama, "turbo5")


def test_a_cache_that_nobody_planned_says_so() -> None:
    assert plan.describe([KVCache()])[0].reason


def test_a_switch_that_needs_a_rebuild_leaves_every_layer_as_it_was(tiny_llama: Any) -> None:
    caches = turboquant.make_cache(tiny_llama, "turbo2")
    tiny_llama(mx.ones((1, 300), mx.int32), cache=caches)
    plan.compress(caches)
    before = report.measure(caches)
    assert plan.switch_method(caches, "turbo4") == "rebuild"
    with pytest.raises(NeedsRebuild):
        plan.switch(caches, "turbo4")
    assert report.measure(caches) == before
    assert plan.switch(caches, "turbo2") == "unchanged"


def test_switching_changes_every_layer_and_the_bytes(tiny_llama: Any) -> None:
    caches = turboquant.make_cache(tiny_llama, "turbo0v4")
    assert plan.switch(caches, "turbo8") == "empty"
    assert plan.switch(caches, "turbo0v4") == "empty"
    tiny_llama(mx.ones((1, 500), mx.int32), cache=caches)
    sizes = [report.measure(caches).used_bytes]
    for scheme, method in (("turbo4", "encoded"), ("turbo4v2", "requantised"), ("turbo2", "requantised")):
        assert plan.switch_method(caches, scheme) == method
        assert plan.switch(caches, scheme) == method
        assert {r.scheme for r in plan.describe(caches)} == {scheme}
        sizes.append(report.measure(caches).used_bytes)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


@pytest.mark.parametrize(("family", "reason"), [("plamo", "changes its keys"), ("plamo2", "shared function")])
def test_a_model_that_packed_tokens_would_not_reach_stays_raw(family: str, reason: str) -> None:
    """plamo repeats heads in another order, plamo2 calls MLX's attention itself."""
    model = families.tiny(family)
    caches, plain = turboquant.make_cache(model, "turbo4"), make_prompt_cache(model)
    for tokens in (mx.arange(50)[None] % 64, mx.array([[3]]), mx.array([[5]])):
        ours, exact = (model(tokens, cache=c) for c in (caches, plain))
        assert mx.allclose(ours, exact, atol=2e-3 * mx.abs(exact).max().item())
    assert any(reason in r.reason for r in plan.describe(caches))
    assert not any(r.scheme for r in plan.describe(caches))
    plan.compress(caches)
    assert report.measure(caches).layers_compressed == 0
