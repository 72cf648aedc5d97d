"""Small repositories for the loopback hub: real safetensors of a llama that never speaks, and broken ones."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "intermediate_size": 192,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "vocab_size": 272,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def safetensors(name: str, values: int, seed: int) -> bytes:
    """One BF16 tensor of random bytes."""
    header = json.dumps({name: {"dtype": "BF16", "shape": [values], "data_offsets": [0, 2 * values]}}).encode()
    return struct.pack("<Q", len(header)) + header + random.Random(seed).randbytes(2 * values)


def small_model(values: int = 150_000, seed: int = 1) -> dict[str, bytes | Path]:
    """Config, tokenizer, an index and two weight files of 2 · `values` bytes each."""
    index = {"metadata": {}, "weight_map": {"first": FIRST, "second": SECOND}}
    return {
        ".gitattributes": b"*.safetensors filter=lfs\n",
        "README.md": b"# A small model\n",
        "config.json": json.dumps(CONFIG, indent=1).encode(),
        "tokenizer.json": json.dumps({"version": "1.0", "seed": seed}).encode(),
        "tokenizer_config.json": b'{"chat_template": "{{ messages }}"}',
        "model.safetensors.index.json": json.dumps(index).encode(),
        FIRST: safetensors("first", values, seed),
        SECOND: safetensors("second", values, seed + 1),
    }
