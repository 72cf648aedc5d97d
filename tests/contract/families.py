"""Every model module of mlx-lm, built tiny with random weights: one configuration a module, from a small table.

Sizes are what a cache can go wrong on: two kv heads with two query heads each, head dims of 32 unless the family has
odd ones, windows of 32 tokens, each kind of layer at least once.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

import mlx.core as mx
import mlx_lm.models
from mlx.utils import tree_map_with_path

VOCABULARY = 96
WINDOW = 32
FULL, SLIDING = "full_attention", "sliding_attention"

COMMON: dict[str, Any] = {
    "attention_bias": False,
    "first_k_dense_replace": 1,
    "head_dim": 32,
    "hidden_size": 128,
    "intermediate_size": 96,
    "kv_lora_rank": 32,
    "layer_norm_eps": 1e-5,
    "layer_norm_epsilon": 1e-5,
    "max_position_embeddings": 4096,
    "mlp_bias": False,
    "mlp_only_layers": [],
    "decoder_sparse_step": 1,
    "moe_intermediate_size": 32,
    "moe_layer_freq": 1,
    "n_group": 1,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "norm_eps": 1e-5,
    "norm_topk_prob": True,
    "num_attention_heads": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "num_local_experts": 4,
    "num_shared_experts": 1,
    "partial_rotary_factor": 0.5,
    "q_lora_rank": 32,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "rms_norm_eps": 1e-5,
    "rope_scaling": None,
    "rope_theta": 1e4,
    "routed_scaling_factor": 1.0,
    "shared_expert_intermediate_size": 32,
    "sliding_window": WINDOW,
    "tie_word_embeddings": False,
    "topk_group": 1,
    "use_bias": False,
    "use_conv_bias": True,
    "use_qk_norm": True,
    "v_head_dim": 32,
    "vocab_size": VOCABULARY,
}
GRANITE = {"logits_scaling": 1.0, "attention_multiplier": 0.2, "embedding_multiplier": 1.0, "residual_multiplier": 1.0}
LFM = {
    "conv_bias": False, "conv_L_cache": 3, "block_dim": 128, "block_multiple_of": 32, "block_ffn_dim_multiplier": 1.0,
    "block_auto_adjust_ff_dim": False, "full_attn_idxs": [1],
}  # fmt: skip
MAMBA = {"state_size": 16, "conv_kernel": 4, "time_step_rank": 8, "time_step_limit": [0.001, 100.0], "n_groups": 1}
LINEAR = {
    "linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
KIMI = {
    "linear_attn_config": {"kda_layers": [1], "full_attn_layers": [2], "num_heads": 2, "head_dim": 32,
                           "short_conv_kernel_size": 4},
    "num_experts_per_token": 2, "model_max_length": 4096,
}  # fmt: skip
LONGCAT = {
    "attention_method": "MLA", "zero_expert_type": "identity", "ffn_hidden_size": 96, "moe_topk": 2,
    "expert_ffn_hidden_size": 32, "zero_expert_num": 1, "num_layers": 2, "mla_scale_q_lora": True,
    "mla_scale_kv_lora": True,
}  # fmt: skip
INDEXER = {"index_head_dim": 32, "index_n_heads": 2, "index_topk": 48}
MINICPM = {"dim_model_base": 64, "scale_depth": 1.4, "scale_emb": 1.0}
YARN = {
    "rope_theta": 1e4, "rope_type": "yarn", "type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048,
    "beta_fast": 32, "beta_slow": 1, "llama_4_scaling_beta": 0.1, "mscale": 1.0, "mscale_all_dim": 1.0,
}  # fmt: skip
GPT2 = {"n_ctx": 4096, "n_embd": 128, "n_head": 4, "n_layer": 2, "n_positions": 4096, "n_inner": 96}
GEMMA3 = {"num_hidden_layers": 4, "sliding_window_pattern": 2, "query_pre_attn_scalar": 32, "rope_local_base_freq": 1e4}
GEMMA4 = {
    "num_hidden_layers": 6, "num_kv_shared_layers": 2, "layer_types": [SLIDING, FULL] * 3, "global_head_dim": 64,
    "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": VOCABULARY,
}  # fmt: skip
LLAMA4 = {
    "attention_chunk_size": 64, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 96, "num_hidden_layers": 4,
    "model_type": "llama4_text", "num_experts_per_tok": 1, "no_rope_layers": [1, 1, 1, 0],
}  # fmt: skip
MIMO = {
    "hybrid_layer_pattern": [1, 0], "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False,
    "sliding_window_size": WINDOW, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "layernorm_epsilon": 1e-5,
    "swa_rope_theta": 1e4, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 48,
    "swa_v_head_dim": 32, "head_dim": 48, "v_head_dim": 32, "moe_layer_freq": [0, 1],
}  # fmt: skip
QWEN35 = {**LINEAR, "model_type": "qwen3_5_text", "num_hidden_layers": 4, "full_attention_interval": 4}

# What a module needs beside COMMON. "text": the language model's part of a configuration for text and images.
NEEDS: dict[str, dict[str, Any]] = {
    "afm7": {"hidden_dim": 128, "num_layers": 4, "num_kv_reuse_layers": 2, "num_heads": 4, "num_kv_heads": 2},
    "afmoe": {"layer_types": [SLIDING, FULL]},
    "apertus": {"post_norm": False, "qk_norm": True},
    "baichuan_m1": {"sliding_window_layers": [0], "conv_window": 2},
    "bailing_hybrid": {"layer_group_size": 2, "group_norm_size": 2},
    "bailing_moe_linear": {"layer_group_size": 2, "group_norm_size": 2},
    "bailing_moe_v3": {"layer_group_size": 2},
    "cohere2": {"num_hidden_layers": 4, "sliding_window_pattern": 2},
    "dbrx": {
        "d_model": 128, "n_layers": 2, "n_heads": 4,
        "ffn_config": {"ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2},
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4},
    },
    "deepseek_v2": {"topk_method": "greedy", "rope_scaling": YARN},
    "deepseek_v32": INDEXER,
    "deepseek_v41": {
        "o_groups": 2, "o_lora_rank": 32, "compress_ratios": [1, 4], "hc_mult": 2, **INDEXER,
        "kv_source_layer_ids": [0, 1], "index_source_layer_ids": [0, 1],
    },
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_k": 2},
    "exaone": {"num_layers": 2},
    "exaone4": {"sliding_window_pattern": "LG"},
    "exaone_moe": {"layer_types": [SLIDING, FULL], "is_moe_layer": [False, True]},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_d_head": 32, "mamba_n_heads": 2, "mamba_d_state": 16},
    "gear": {"layer_types": [SLIDING, "conv_mixer", FULL], "num_hidden_layers": 3},
    "gemma3": {"text": {**GEMMA3, "model_type": "gemma3_text"}},
    "gemma3_text": GEMMA3,
    "gemma3n": {"text": {
        "model_type": "gemma3n_text", "num_hidden_layers": 6, "num_kv_shared_layers": 2,
        "layer_types": [SLIDING, FULL] * 3, "vocab_size_per_layer_input": VOCABULARY, "rope_local_base_freq": 1e4,
        "final_logit_softcapping": 30.0, "activation_sparsity_pattern": [0.0] * 6, "hidden_size_per_layer_input": 16,
        "altup_num_inputs": 2, "altup_coef_clip": 120.0, "altup_correct_scale": True, "altup_active_idx": 0,
        "laurel_rank": 16,
    }},
    "gemma4": {"text": GEMMA4},
    "gemma4_text": GEMMA4,
    "glm_moe_dsa": {
        **INDEXER, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "rope_parameters": {"rope_theta": 1e4},
    },
    "gpt2": GPT2,
    "gpt_bigcode": {**GPT2, "num_key_value_heads": 1},
    "gpt_neox": {"rotary_emb_base": 10000, "rotary_pct": 0.25},
    "gptj": {**GPT2, "rotary_dim": 16},
    "granite": GRANITE,
    "granitemoe": GRANITE,
    "granitemoehybrid": {
        **GRANITE, "layer_types": ["mamba", "attention"], "shared_intermediate_size": 32, "mamba_n_heads": 2,
        "mamba_d_head": 32, "mamba_proj_bias": False, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_n_groups": 1,
        "mamba_conv_bias": True,
    },
    "hunyuan": {
        "moe_topk": 2, "num_shared_expert": 1, "use_mixed_mlp_moe": True, "use_cla": True, "cla_share_factor": 2,
        "num_hidden_layers": 4, "rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0},
    },
    "jamba": {
        "attn_layer_offset": 1, "attn_layer_period": 2, "expert_layer_offset": 1, "expert_layer_period": 2,
        "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2,
    },
    "kimi_k25": {"text": {"model_type": "deepseek_v3"}},
    "kimi_k3": {"text": {**KIMI, "qk_nope_head_dim": 32}},
    "kimi_linear": KIMI,
    "kimi_vl": {"text": {"model_type": "deepseek_v3"}},
    "laguna": {"layer_types": [SLIDING, FULL], "mlp_layer_types": ["dense", "sparse"]},
    "lfm2": LFM,
    "lfm2-vl": {"text": {**LFM, "model_type": "lfm2"}},
    "lfm2_moe": {**LFM, "use_expert_bias": True, "num_dense_layers": 1},
    "lille-130m": {"block_size": 4096, "n_embd": 128, "n_head": 4, "n_kv_heads": 2, "n_layer": 2},
    "llama": {"layer_types": [SLIDING, FULL]},
    "llama4": {"text": LLAMA4},
    "llama4_text": LLAMA4,
    "longcat_flash": LONGCAT,
    "longcat_flash_ngram": LONGCAT,
    "mamba": MAMBA,
    "mamba2": {**MAMBA, "num_heads": 4},
    "mellum": {
        "layer_types": [SLIDING, FULL], "rope_parameters": {k: {"rope_theta": 1e4} for k in (SLIDING, FULL)},
    },
    "mimo_v2_flash": MIMO,
    "minicpm": MINICPM,
    "minicpm3": {**MINICPM, "rope_scaling": {"short_factor": 1.0, "long_factor": 1.0}},
    "minimax": {"shared_intermediate_size": 32, "rotary_dim": 16},
    "minimax_m3_vl": {"text": {
        "dense_intermediate_size": 96, "shared_intermediate_size": 32, "rotary_dim": 16, "moe_layer_freq": [0, 1],
        "sparse_attention_freq": [0, 1], "index_n_heads": 2, "index_head_dim": 32, "index_block_size": 16,
        "index_topk_blocks": 3,
    }},
    "ministral3": {"layer_types": [SLIDING, FULL], "rope_parameters": YARN},
    "mistral3": {"text": {"model_type": "mistral"}},
    "mistral4": {"rope_parameters": YARN},
    "muse_glimmer": {"layer_types": [SLIDING, FULL]},
    "nanbeige": {"num_loops": 2},
    "nemotron": {"hidden_act": "relu2"},
    "nemotron-nas": {"num_hidden_layers": 3, "block_configs": [
        {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"n_heads_in_group": 4}, "ffn": {"no_op": True}},
    ]},
    "nemotron_h": {
        "hybrid_override_pattern": ["M", "*", "-", "E"], "mamba_num_heads": 2, "mamba_head_dim": 32,
        "mamba_proj_bias": False, "ssm_state_size": 16, "conv_kernel": 4, "n_groups": 1,
        "moe_shared_expert_intermediate_size": 32,
    },
    "olmo3": {"layer_types": [SLIDING, FULL]},
    "olmo_hybrid": {**LINEAR, "linear_allow_neg_eigval": True, "layer_types": ["linear_attention", FULL]},
    "openelm": {
        "num_transformer_layers": 2, "model_dim": 128, "ffn_dim_divisor": 32, "num_query_heads": [4, 8],
        "num_kv_heads": [2, 4], "ffn_multipliers": [1.0, 1.0],
    },
    "phi3small": {
        "dense_attention_every_n_layers": 2, "ff_intermediate_size": 96, "gegelu_limit": 20.0,
        "blocksparse_block_size": 32, "blocksparse_num_local_blocks": 2,
    },
    "phimoe": {"rope_scaling": {
        "type": "longrope", "short_factor": [1.0] * 16, "long_factor": [1.0] * 16, "short_mscale": 1.0,
        "long_mscale": 1.0,
    }},
    "phixtral": {
        "num_vocab": VOCABULARY, "model_dim": 128, "num_heads": 4, "num_layers": 2, "rotary_dim": 16,
    },
    "pixtral": {"text": {"model_type": "llama"}},
    "plamo": {"n_shared_head": 2},
    "plamo2": {
        "hidden_size_per_head": 32, "mamba_d_state": 16, "mamba_num_heads": 2, "full_attention_idx": [1],
        "attention_window_size": WINDOW,
    },
    "plamo3": {"window_size": WINDOW, "sliding_window_pattern": 2},
    "qwen": {"kv_channels": 32},
    "qwen2_vl": {"text": {"model_type": "qwen2"}},
    "qwen3_5": {"text": QWEN35},
    "qwen3_5_moe": {"text": QWEN35},
    "qwen3_next": {**LINEAR, "full_attention_interval": 2},
    "qwen3_vl": {"text": {"model_type": "qwen3"}},
    "qwen3_vl_moe": {"text": {"model_type": "qwen3_moe"}},
    "recurrent_gemma": {
        "conv1d_width": 4, "logits_soft_cap": 30.0, "attention_window_size": WINDOW,
        "block_types": ["recurrent", "attention"], "num_key_value_heads": 1,
    },
    "rwkv7": {"a_low_rank_dim": 16, "v_low_rank_dim": 16, "gate_low_rank_dim": 16, "decay_low_rank_dim": 16},
    "spark2_5": {
        "layer_types": [SLIDING, FULL], "rope_parameters": {k: {"rope_theta": 1e4} for k in (SLIDING, FULL)},
    },
    "stablelm": {"use_qkv_bias": True},
    "step3p5": {
        "num_attention_groups": 2, "layer_types": [SLIDING, FULL], "moe_num_experts": 4, "moe_top_k": 2,
        "share_expert_dim": 32, "moe_layers_enum": "1",
    },
}  # fmt: skip

CANNOT = {
    "bitnet": "its product with ternary weights is a Metal kernel only",
    "muse_spark": "its norms and rotations are Metal kernels only",
    "olmo": "needs the package ai2-olmo",
    "phi3small": "its block-sparse attention corrupts memory on the CPU at a second chunk, with mlx-lm's caches too",
    "prism_hadamard_qwen35": "exists only with weights packed to 2 bits; unpacked it is qwen3_5",
}
"""Modules that no test can build here, and why. The list may only get shorter."""


def modules() -> list[str]:
    """Names of the installed mlx-lm's modules that define a model."""
    found = []
    for name in sorted(module.name for module in pkgutil.iter_modules(mlx_lm.models.__path__)):
        try:
            module = import_module(f"mlx_lm.models.{name}")
        except (ImportError, SystemExit):  # one exits where a package is missing
            found.append(name)
            continue
        if hasattr(module, "Model") and hasattr(module, "ModelArgs"):
            found.append(name)
    return found


def config(name: str, **changes: Any) -> dict[str, Any]:
    """config.json of the tiny model of this module."""
    needs = dict(NEEDS.get(name, {}))
    text = needs.pop("text", None)
    whole = {**COMMON, "model_type": name, **needs, **changes}
    return whole if text is None else {**whole, "text_config": {**COMMON, **text, **changes}}


@cache
def tiny(name: str, dtype: mx.Dtype = mx.float32, **changes: Any) -> Any:
    """The tiny model, its norms, biases and sinks as lively as its other weights."""
    module = import_module(f"mlx_lm.models.{name}")
    mx.random.seed(0)
    model = module.Model(module.ModelArgs.from_dict(config(name, **changes)))
    model.update(tree_map_with_path(_livelier, model.parameters()))
    model.set_dtype(dtype)
    model.eval()
    mx.eval(model.parameters())
    return model


def _livelier(path: str, array: mx.array) -> mx.array:
    """mlx-lm leaves sinks, biases and norms at 0 or 1, where a fault in them, or behind them, can't be seen."""
    if path.endswith("k_proj.bias"):
        return array + 3 * mx.random.normal(array.shape)
    if array.ndim < 2:
        return array + 0.1 * mx.random.normal(array.shape)
    return array if (array != array.reshape(-1)[0]).any() else mx.random.normal(array.shape)
