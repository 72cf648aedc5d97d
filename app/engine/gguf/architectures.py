"""The architectures that a GGUF file can be imported from: configuration, tensors, and how their rows are put in order.

A file with a tensor or a setting that its `Architecture` doesn't know is refused, because a model that is loaded nearly
right talks nonsense without saying why. Names: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and for each
architecture llama.cpp's converter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.gguf.container import GgufError, GgufFile, setting
from app.words import say

Array = NDArray[Any]
Config = dict[str, Any]


def _unchanged(name: str, array: Array, config: Config) -> Array:
    return array


@dataclass(frozen=True)
class Architecture:
    """`model_type` is mlx-lm's. `blocks` maps a layer's tensors, GGUF → mlx-lm; `biases` are those that have one too.

    `extra` is what the configuration holds beyond what all have. `reorder(name, array, config)` puts a tensor's rows,
    of whole heads, and values as mlx-lm wants them.
    """

    model_type: str
    blocks: dict[str, str]
    biases: tuple[str, ...] = ()
    extra: Callable[[GgufFile, Config], Config] = lambda file, config: {}
    reorder: Callable[[str, Array, Config], Array] = _unchanged

    def target(self, name: str) -> str:
        """mlx-lm's name of a tensor, given without `.weight`; a bias ends in `.bias` in both."""
        if name in _OUTER:
            return _OUTER[name]
        match = re.fullmatch(r"blk\.(\d+)\.(\w+)(\.bias)?", name)
        assert match is not None  # the tensors' names have been checked
        return f"model.layers.{match[1]}.{self.blocks[match[2]]}{match[3] or ''}"

    def shapes(self, config: Config) -> dict[str, tuple[int, ...]]:
        """Every tensor that the configuration calls for, by its GGUF name without `.weight`."""
        hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
        head_dim = config["head_dim"]
        queries, pairs = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim
        matrices = {
            "attn_q": (queries, hidden),
            "attn_k": (pairs, hidden),
            "attn_v": (pairs, hidden),
            "attn_output": (hidden, queries),
            "ffn_gate": (inner, hidden),
            "ffn_up": (inner, hidden),
            "ffn_down": (hidden, inner),
            "attn_q_norm": (head_dim,),
            "attn_k_norm": (head_dim,),
        }
        block = {name: matrices.get(name, (hidden,)) for name in self.blocks}
        block |= {f"{name}.bias": matrices[name][:1] for name in self.biases}
        shapes: dict[str, tuple[int, ...]] = {"token_embd": (vocabulary, hidden), "output_norm": (hidden,)}
        if not config["tie_word_embeddings"]:
            shapes["output"] = (vocabulary, hidden)
        for index in range(config["num_hidden_layers"]):
            shapes |= {f"blk.{index}.{name}": shape for name, shape in block.items()}
        return shapes


def find(file: GgufFile) -> Architecture:
    """The file's architecture. Raises GgufError."""
    name = setting(file.metadata, "general.architecture", str)
    if name not in ARCHITECTURES:
        raise GgufError(
            say("Files of the architecture {0} can't be imported.", f"{name:.40}"),
            say("These can: {0}.", ", ".join(sorted(ARCHITECTURES))),
        )
    if (parts := file.metadata.get("split.count", 1)) not in (0, 1):
        raise GgufError(
            say("This is one of {0} files that hold the model together.", parts),
            say("Join them first: llama-gguf-split --merge."),
        )
    return ARCHITECTURES[name]


def configuration(file: GgufFile, architecture: Architecture) -> Config:
    """config.json for mlx-lm. Raises GgufError for a setting that is missing, odd or not understood."""
    meta, prefix = file.metadata, setting(file.metadata, "general.architecture", str)
    if meta.get(f"{prefix}.expert_count"):
        raise GgufError(say("Mixture-of-experts {0} files can't be imported.", prefix))
    hidden = setting(meta, f"{prefix}.embedding_length", int)
    heads = setting(meta, f"{prefix}.attention.head_count", int)
    kv_heads = setting(meta, f"{prefix}.attention.head_count_kv", int, heads)
    head_dim = setting(meta, f"{prefix}.attention.key_length", int, hidden // heads)
    if heads % kv_heads or head_dim % 2:
        raise GgufError(
            say("{0} heads of {1} over {2} key/value heads can't be a {3}.", heads, head_dim, kv_heads, prefix)
        )
    if meta.get(f"{prefix}.attention.value_length", head_dim) != head_dim:
        raise GgufError(say("Its keys and values have different widths, which a {0} can't have.", prefix))
    if meta.get(f"{prefix}.rope.dimension_count", head_dim) != head_dim:
        raise GgufError(say("Its rotary positions cover a part of each head only, which can't be imported."))
    layers = setting(meta, f"{prefix}.block_count", int)
    if layers > len(file.tensors):
        raise GgufError(say("The file names {0} layers and holds {1} tensors.", layers, len(file.tensors)))
    config: Config = {
        "model_type": architecture.model_type,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": setting(meta, f"{prefix}.feed_forward_length", int),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "rms_norm_eps": _decimal(setting(meta, f"{prefix}.attention.layer_norm_rms_epsilon", float)),
        "rope_theta": setting(meta, f"{prefix}.rope.freq_base", float, 10000.0),
        "vocab_size": setting(meta, f"{prefix}.vocab_size", int, len(setting(meta, "tokenizer.ggml.tokens", list))),
        "max_position_embeddings": setting(meta, f"{prefix}.context_length", int),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "eos_token_id": _end_tokens(meta),
    }
    if scaling := _rope_scaling(file, prefix, config):
        config["rope_scaling"] = scaling
    if "tokenizer.ggml.bos_token_id" in meta:
        config["bos_token_id"] = setting(meta, "tokenizer.ggml.bos_token_id", int)
    return config | architecture.extra(file, config)


def check_tensors(file: GgufFile, architecture: Architecture, config: Config) -> None:
    """Raise GgufError unless the file holds exactly the tensors that the configuration calls for."""
    wanted = architecture.shapes(config)
    present = {name.removesuffix(".weight"): tensor.shape for name, tensor in weights(file).items()}
    if missing := wanted.keys() - present.keys():
        raise GgufError(say("The file lacks tensors ({0}), so the model would be wrong.", _few(missing)))
    if unknown := present.keys() - wanted.keys():
        raise GgufError(say("The file holds unknown tensors ({0}), so the model would be wrong.", _few(unknown)))
    for name, shape in wanted.items():
        if present[name] != shape:
            raise GgufError(say("The tensor {0} has the shape {1}, not {2}.", name, present[name], shape))


def _few(names: Iterable[str]) -> str:
    first = sorted(names)
    return ", ".join(first[:4]) + (" …" if len(first) > 4 else "")


def weights(file: GgufFile) -> dict[str, Any]:
    """The file's tensors but for the factors of its rotary positions, which the configuration holds."""
    return {name: tensor for name, tensor in file.tensors.items() if name != _ROPE_FACTORS}


# ---------------------------------------------------------------- settings

_ROPE_FACTORS = "rope_freqs.weight"


def _decimal(value: float) -> float:
    """A number as it was before it became a float32: 9.999999747378752e-06 means 1e-05."""
    return float(str(np.float32(value)))


def _end_tokens(meta: dict[str, Any]) -> list[int]:
    """Every token that ends a reply: end of text, of turn, of message."""
    keys = [f"tokenizer.ggml.{key}_token_id" for key in ("eos", "eot", "eom")]
    return sorted({setting(meta, key, int) for key in keys if key in meta})


def _rope_scaling(file: GgufFile, prefix: str, config: Config) -> Config:
    """How rotary positions are stretched; empty where they aren't."""
    kind = file.metadata.get(f"{prefix}.rope.scaling.type", "none")
    if _ROPE_FACTORS in file.tensors:
        if prefix != "llama" or kind not in ("none", "llama3"):
            raise GgufError(say("Its rotary positions are scaled in a way that no {0} is known for.", prefix))
        return _llama3_scaling(file.tensors[_ROPE_FACTORS].floats(), config)
    if kind == "none":
        return {}
    if kind != "linear":
        raise GgufError(say("Files with {0} scaling of rotary positions can't be imported.", f"{kind!s:.40}"))
    return {"rope_type": "linear", "factor": setting(file.metadata, f"{prefix}.rope.scaling.factor", float)}


def _llama3_scaling(factors: Array, config: Config) -> Config:
    """Llama 3.1's stretching from its outcome, which is all that a GGUF file keeps: a factor for each frequency.

    Frequencies below a bound are divided by the whole factor, so the largest tells it; the bounds are the same in every
    release, which is checked by computing all factors again.
    """
    factor = float(np.round(factors.max(), 3))
    scaling = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    half = config["head_dim"] // 2
    rotations = 8192 / (2 * np.pi * config["rope_theta"] ** (np.arange(half) / half))
    smooth = np.clip((rotations - 1.0) / (4.0 - 1.0), 0.0, 1.0)
    expected = 1 / ((1 - smooth) / factor + smooth)
    if factors.shape != (half,) or not np.allclose(factors, expected, rtol=1e-3):
        raise GgufError(say("Its rotary positions are scaled in a way that can't be imported."))
    return scaling


def _qwen2_extra(file: GgufFile, config: Config) -> Config:
    if config["head_dim"] * config["num_attention_heads"] != config["hidden_size"]:
        raise GgufError(say("Its heads don't divide its width, which a qwen2 can't have."))
    return {}


def _gemma3_extra(file: GgufFile, config: Config) -> Config:
    """Windows in five layers of six; the 27B model scales its queries by its width a head instead of the head dim."""
    meta = file.metadata
    pattern = setting(meta, "gemma3.attention.sliding_window_pattern", int, 6)
    if meta.get("gemma3.final_logit_softcapping") or meta.get("gemma3.attn_logit_softcapping"):
        raise GgufError(say("Its logits are capped, which a gemma3 can't have."))
    by_width = config["num_hidden_layers"] == 62
    return {
        "sliding_window": setting(meta, "gemma3.attention.sliding_window", int),
        "sliding_window_pattern": pattern,
        "rope_theta": setting(meta, "gemma3.rope.freq_base", float, 1_000_000.0),
        "rope_local_base_freq": setting(meta, "gemma3.rope.freq_base_swa", float, 10_000.0),
        "query_pre_attn_scalar": (
            config["hidden_size"] // config["num_attention_heads"] if by_width else config["head_dim"]
        ),
    }


# ---------------------------------------------------------------- the order of rows


def _llama_reorder(name: str, array: Array, config: Config) -> Array:
    """GGUF interleaves the two halves of each query and key head for its own rotary layout; this undoes it. Whole
    heads only.
    """
    part = name.rsplit(".", 1)[-1]
    if part not in ("attn_q", "attn_k"):
        return array
    return array.reshape(-1, config["head_dim"] // 2, 2, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)


def _gemma_reorder(name: str, array: Array, config: Config) -> Array:
    """GGUF stores a norm's whole weight, mlx-lm what it has beyond 1."""
    return array - 1 if name.endswith("norm") else array


# ---------------------------------------------------------------- the architectures

_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_MATRICES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LLAMA = _MATRICES | {"ffn_norm": "post_attention_layernorm"}
_HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_GEMMA3 = {
    **_MATRICES,
    **_HEAD_NORMS,
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

ARCHITECTURES = {
    "llama": Architecture("llama", _LLAMA, reorder=_llama_reorder),
    "qwen2": Architecture("qwen2", _LLAMA, biases=("attn_q", "attn_k", "attn_v"), extra=_qwen2_extra),
    "qwen3": Architecture("qwen3", _LLAMA | _HEAD_NORMS),
    "gemma3": Architecture("gemma3_text", _GEMMA3, extra=_gemma3_extra, reorder=_gemma_reorder),
}
