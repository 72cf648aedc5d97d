"""Which layers of which module are packed, and that every module's attention is routed: a new release of mlx-lm, or a
module of it that nobody has looked at, fails here.
"""

from __future__ import annotations

from importlib import import_module

import pytest
from mlx_lm.models import base

from tests.contract import families
from turboquant import inspect, plan
from turboquant.segments import Policy

STATE, LATENT = "recurrent state", "latents stay raw"
# Every layer of a module is packed, but for those named here with their layers' reasons in order ("" for a packed one).
RAW: dict[str, list[str]] = {
    "bailing_hybrid": [STATE, LATENT],
    "bailing_moe_linear": [STATE, ""],
    "bailing_moe_v3": [STATE, LATENT],
    "deepseek_v3": [LATENT, LATENT],
    "deepseek_v32": ["one cache of several", "one cache of several"],
    "deepseek_v41": ["its LayerCache is of a kind that stays raw", "its LayerCache is of a kind that stays raw"],
    "gear": ["", STATE, ""],
    "glm4_moe_lite": [LATENT, LATENT],
    "glm_moe_dsa": ["one cache of several", "one cache of several"],
    "granitemoehybrid": [STATE, ""],
    "jamba": [STATE, ""],
    "kimi_k25": [LATENT, LATENT],
    "kimi_k3": [STATE, LATENT],
    "kimi_linear": [STATE, LATENT],
    "kimi_vl": [LATENT, LATENT],
    "lfm2": [STATE, ""],
    "lfm2-vl": [STATE, ""],
    "lfm2_moe": [STATE, ""],
    "llama4": ["ChunkedKVCache", "ChunkedKVCache", "ChunkedKVCache", ""],
    "longcat_flash": ["one cache of several", "one cache of several"],
    "longcat_flash_ngram": [STATE, "one cache of several", "one cache of several"],
    "mamba": [STATE, STATE],
    "mamba2": [STATE, STATE],
    "minimax_m3_vl": ["", "one cache of several"],
    "mistral4": [LATENT, LATENT],
    "nemotron_h": [STATE, ""],
    "olmo_hybrid": [STATE, ""],
    "plamo": ["changes its keys and values", "changes its keys and values"],
    "plamo2": [STATE, "doesn't go through mlx-lm's shared function"],
    "qwen3_5": [STATE, STATE, STATE, ""],
    "qwen3_5_moe": [STATE, STATE, STATE, ""],
    "qwen3_next": [STATE, ""],
    "recurrent_gemma": [STATE, ""],
    "rwkv7": [STATE, STATE],
}


@pytest.mark.parametrize("name", [name for name in families.modules() if name not in families.CANNOT])
def test_every_layer_is_packed_or_says_why(name: str) -> None:
    caches = plan.make_cache(families.tiny(name), "turbo2", policy=Policy(first=2, tail=4, block=8))
    verdicts = plan.describe(caches)
    expected = RAW.get(name, [""] * len(caches))
    assert len(verdicts) == len(expected)
    for verdict, reason in zip(verdicts, expected, strict=True):
        assert (verdict.scheme == "turbo2") == (reason == "")
        assert reason in verdict.reason
    assert any(expected) == (name in RAW)


def test_what_cannot_be_built_here_grows_only_on_purpose() -> None:
    assert set(families.CANNOT) == {"bitnet", "muse_spark", "olmo", "phi3small", "prism_hadamard_qwen35"}
    assert set(families.CANNOT) <= set(families.modules())
    assert set(families.NEEDS) | set(RAW) <= set(families.modules())


def test_no_module_has_an_attention_of_its_own_under_the_shared_name() -> None:
    for name in families.modules():
        if name != "olmo":
            found = vars(import_module(f"mlx_lm.models.{name}")).get("scaled_dot_product_attention")
            assert found in (None, base.scaled_dot_product_attention), name


def test_sinks_dims_and_windows_are_seen() -> None:
    """What a plan must know of a model that isn't shaped like Llama."""
    mimo = inspect.examine_config(families.config("mimo_v2_flash"))
    assert [(part.window, part.sinks, part.key_dim, part.value_dim) for (part,) in mimo] == [
        (families.WINDOW, True, 48, 32),
        (0, False, 48, 32),
    ]
    gemma4 = inspect.examine_config(families.config("gemma4_text"))
    assert [part.key_dim for (part,) in gemma4] == [32, 64, 32, 64]
    assert [part.reads for (part,) in gemma4] == [1, 1, 2, 2]  # the last two serve a layer more each
    assert [part.reads for (part,) in inspect.examine_config(families.config("afm7"))] == [1, 3]
