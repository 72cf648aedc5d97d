"""Writes small GGUF files, so that the importer meets every kind of file; written from the format's description."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

TYPE_IDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "Q4_K": 12, "BF16": 30}
TOKENS = ["<|end|>", "<|start|>", *[chr(0x100 + n) if n < 33 else chr(n) for n in range(1, 127)]]


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


def llama_tensors(seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights of that llama, by GGUF name, in GGUF's order of rows."""
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(TOKENS), 64), "output_norm": (64,)}
    for layer in range(2):
        block = {
            "attn_norm": (64,),
            "attn_q": (64, 64),
            "attn_k": (32, 64),
            "attn_v": (32, 64),
            "attn_output": (64, 64),
        }
        block |= {"ffn_norm": (64,), "ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    return {f"{name}.weight": random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}


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
    if kind == "F32":
        return array.astype("<f4").tobytes()
    if kind == "F16":
        return array.astype("<f2").tobytes()
    if kind == "BF16":
        return (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    if kind == "Q4_K":
        return bytes(array.size // 256 * 144)
    blocks = array.reshape(-1, 32)
    low, high = blocks.min(1, keepdims=True), blocks.max(1, keepdims=True)
    if kind == "Q4_1":
        scale, offset, top = (high - low) / 15, low, 15
    elif kind == "Q4_0":
        scale, top = np.abs(blocks).max(1, keepdims=True) / 7, 15
        offset = -8 * scale
    else:
        scale, top = np.abs(blocks).max(1, keepdims=True) / 127, 255
        offset = -128 * scale
    codes = np.clip(np.rint((blocks - offset) / scale), 0, top).astype(np.uint8)
    scale16, offset16 = scale.astype("<f2").view(np.uint8), offset.astype("<f2").view(np.uint8)
    if kind == "Q8_0":
        return np.concatenate([scale16, (codes.astype(np.int16) - 128).astype(np.int8).view(np.uint8)], 1).tobytes()
    nibbles = codes[:, :16] | codes[:, 16:] << 4
    return np.concatenate([scale16, offset16, nibbles] if kind == "Q4_1" else [scale16, nibbles], 1).tobytes()


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
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
