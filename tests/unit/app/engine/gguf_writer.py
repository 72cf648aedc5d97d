"""Writes small GGUF files, so that the importer meets every kind of file; written from the format's description."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, quantize
from tokenizers import pre_tokenizers

from app.engine.gguf.blocks import TYPES

TYPE_IDS = {kind.name: number for number, kind in TYPES.items()} | {"TQ1_0": 34}
TOKENS = ["<|end|>", "<|start|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]


def llama_metadata(**changes: Any) -> dict[str, Any]:
    """A two-layer llama of width 64: 4 heads of 16 over 2 key/value heads. None takes a key out."""
    meta = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10000.0,
        "llama.context_length": 512,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [3, 3, *[1] * (len(TOKENS) - 2)],
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }
    meta |= {key.replace("__", "."): value for key, value in changes.items()}
    return {key: value for key, value in meta.items() if value is not None}


def metadata(architecture: str, **changes: Any) -> dict[str, Any]:
    """The same shapes in another architecture, 3 layers."""
    renamed = {key.replace("llama.", f"{architecture}.", 1): value for key, value in llama_metadata().items()}
    own: dict[str, Any] = {"general.architecture": architecture, f"{architecture}.block_count": 3}
    if architecture == "gemma3":
        own |= {"gemma3.attention.sliding_window": 8, "gemma3.attention.sliding_window_pattern": 2}
    meta = renamed | own | {key.replace("__", "."): value for key, value in changes.items()}
    return {key: value for key, value in meta.items() if value is not None}


def tensors(architecture: str = "llama", width: int = 64, seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights by GGUF name, in GGUF's order of rows: 4 heads of 16 over 2, layers as in the metadata."""
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(TOKENS), width), "output_norm.weight": (width,)}
    inner = width * 3 // 2
    block: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (width,),
        "attn_q.weight": (64, width),
        "attn_k.weight": (32, width),
        "attn_v.weight": (32, width),
        "attn_output.weight": (width, 64),
        "ffn_norm.weight": (width,),
        "ffn_gate.weight": (inner, width),
        "ffn_up.weight": (inner, width),
        "ffn_down.weight": (width, inner),
    }
    if architecture == "qwen2":
        block |= {"attn_q.bias": (64,), "attn_k.bias": (32,), "attn_v.bias": (32,)}
    if architecture in ("qwen3", "gemma3"):
        block |= {"attn_q_norm.weight": (16,), "attn_k_norm.weight": (16,)}
    if architecture == "gemma3":
        block |= {"post_attention_norm.weight": (width,), "post_ffw_norm.weight": (width,)}
    for layer in range(2 if architecture == "llama" else 3):
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    return {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}


def llama_tensors(seed: int = 0) -> dict[str, np.ndarray]:
    return tensors("llama", seed=seed)


def write(
    path: Path,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    kind: str | Mapping[str, str] = "F32",
    version: int = 3,
) -> Path:
    """`kind` is the type of every tensor, or of those named; vectors are always F32."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += _string(key) + _value(value)
    data = b""
    for name, array in tensors.items():
        chosen = kind if isinstance(kind, str) else kind.get(name, "F32")
        chosen = "F32" if array.ndim == 1 else chosen
        head += _string(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *array.shape[::-1]) + struct.pack("<IQ", TYPE_IDS[chosen], len(data))
        data += encode(array, chosen)
        data += bytes(-len(data) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def encode(array: np.ndarray, kind: str) -> bytes:
    """The bytes of an array; of kinds that nothing here can make of floats, as many random blocks."""
    if kind == "F32":
        return array.astype("<f4").tobytes()
    if kind == "F16":
        return array.astype("<f2").tobytes()
    if "K" in kind or kind[:2] in ("IQ", "TQ"):
        return random_blocks(kind, array.size // (32 if kind == "IQ4_NL" else 256), seed=array.size)
    return quantize(array, GGMLQuantizationType[kind]).tobytes()


def random_blocks(kind: str, count: int, seed: int = 0) -> bytes:
    """Blocks of random codes whose float16 scales are of a weight's size."""
    size = {"TQ1_0": 54}.get(kind) or TYPES[TYPE_IDS[kind]].size
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    if kind == "IQ1_M":  # the scale's four nibbles lie at the top of the last four 16-bit words
        blocks[:, 49::2] = blocks[:, 49::2] & 0x0F | np.array([0, 0, 0, 0x10], np.uint8)
        return blocks.tobytes()
    for at in {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "Q4_K": (0, 2), "Q5_K": (0, 2)}.get(kind, (0,)):
        blocks[:, at : at + 2] = random.uniform(2e-4, 1e-3, (count, 1)).astype("<f2").view(np.uint8)
    return blocks.tobytes()


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if all(isinstance(item, str) for item in value):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
    kind, code = (6, "f") if isinstance(value[0], float) else (5, "i")
    return struct.pack("<IIQ", 9, kind, len(value)) + struct.pack(f"<{len(value)}{code}", *value)
