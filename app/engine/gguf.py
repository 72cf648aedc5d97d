"""Importing a GGUF file: one file in, one model folder that mlx-lm loads out.

Each architecture is an `Architecture` record: its configuration, the names and shapes of its tensors, and how the
rows of a tensor are put back in order. A file with a tensor or a setting that the record doesn't know is refused,
because a model that is loaded nearly right talks nonsense without saying why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
from numpy.typing import NDArray

from app.engine.gguf_file import BLOCK, GgufError, GgufFile, Tensor, read, setting
from app.engine.gguf_tokenizer import tokenizer_files
from app.paths import sync_folder

WeightKind = Literal["float32", "float16", "quantized"]
Array = NDArray[Any]
Config = dict[str, Any]
_SAFETENSORS = {"float32": "F32", "float16": "F16", "uint32": "U32"}


@dataclass(frozen=True)
class Architecture:
    """`shapes` gives every tensor the configuration calls for, by its GGUF name without `.weight`."""

    config: Callable[[GgufFile], Config]
    shapes: Callable[[Config], dict[str, tuple[int, ...]]]
    names: dict[str, str]  # GGUF → mlx-lm; inside a block without its number
    reorder: Callable[[str, Array, Config], Array]

    def target(self, name: str) -> str:
        match = re.fullmatch(r"blk\.(\d+)\.(\w+)", name)
        return f"model.layers.{match[1]}.{self.names[match[2]]}" if match else self.names[name]


def import_gguf(
    source: Path, folder: Path, weights: WeightKind = "float16", progress: Callable[[float], None] = lambda done: None
) -> Path:
    """Write `source` as the model folder `folder` (weights, configuration, tokenizer, chat template); returns it.

    `weights` is the dtype of every tensor, or "quantized": packed blocks stay exactly as they are and the rest becomes
    float16. `progress` gets 0 to 1; an exception that it raises cancels the import. Raises GgufError when the
    file can't be imported or not be written. `folder` appears whole at the end or not at all.
    """
    if folder.exists():
        raise GgufError(f"{folder} exists already and was left as it is.", "Choose another name, or remove it first.")
    file = read(source)
    architecture = _architecture(file)
    config = architecture.config(file)
    _check_tensors(file, architecture.shapes(config))
    documents = tokenizer_files(file, config)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        remove_stale_parts(folder.parent)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        entries = list(_entries(file, architecture, config, weights))
        _check_space(part, sum(entry.size for entry in entries))
        _write_safetensors(part / "model.safetensors", entries, progress)
        if weights == "quantized":
            config["quantization"] = _quantization(file, architecture)
        documents["config.json"] = json.dumps(config, indent=1)
        for name, text in documents.items():
            _write_synced(part / name, text.encode())
        sync_folder(part)
        part.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise GgufError(
            f"The model couldn't be written to {folder.parent}: {error.strerror or error}. Nothing of it was kept.",
            "Make room or make the folder writable, then try again.",
            repr(error),
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def remove_stale_parts(parent: Path) -> None:
    """Remove what imports and downloads that were killed left in `parent`."""
    for part in parent.glob(".*.*.part"):
        owner = part.name.split(".")[-2]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(part, ignore_errors=True)


# ---------------------------------------------------------------- weights


@dataclass(frozen=True)
class _Entry:
    name: str
    dtype: str
    shape: tuple[int, ...]
    make: Callable[[], Array]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def _entries(file: GgufFile, architecture: Architecture, config: Config, weights: WeightKind) -> Iterator[_Entry]:
    for tensor in file.tensors.values():
        name = tensor.name.removesuffix(".weight")
        target = architecture.target(name)
        if weights == "quantized" and tensor.type.bits:
            rows, columns = tensor.shape[:-1], tensor.shape[-1]
            parts = {
                "weight": ("uint32", columns * tensor.type.bits // 32),
                "scales": ("float16", columns // BLOCK),
                "biases": ("float16", columns // BLOCK),
            }
            for index, (part, (dtype, width)) in enumerate(parts.items()):

                def packed(tensor: Tensor = tensor, name: str = name, index: int = index) -> Array:
                    return architecture.reorder(name, tensor.packed()[index], config)

                yield _Entry(f"{target}.{part}", dtype, (*rows, width), packed)
        else:
            dtype = "float16" if weights == "quantized" else weights

            def plain(tensor: Tensor = tensor, name: str = name, dtype: str = dtype) -> Array:
                return architecture.reorder(name, tensor.floats(), config).astype(dtype)

            yield _Entry(f"{target}.weight", dtype, tensor.shape, plain)


def _quantization(file: GgufFile, architecture: Architecture) -> Config:
    """What mlx-lm reads: the usual width, then each tensor that differs; a plain one is known by its lack of scales."""
    bits = {
        architecture.target(t.name.removesuffix(".weight")): t.type.bits for t in file.tensors.values() if t.type.bits
    }
    if not bits:
        raise GgufError("This file holds plain floats.", "Import it as float16 or float32.")
    usual = max(set(bits.values()), key=list(bits.values()).count)
    differing = {name: {"group_size": BLOCK, "bits": width} for name, width in bits.items() if width != usual}
    return {"group_size": BLOCK, "bits": usual, **differing}


def _write_safetensors(path: Path, entries: list[_Entry], progress: Callable[[float], None]) -> None:
    """One tensor in memory at a time. Format: https://github.com/huggingface/safetensors#format."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    end = 0
    for entry in entries:
        header[entry.name] = {
            "dtype": _SAFETENSORS[entry.dtype],
            "shape": entry.shape,
            "data_offsets": [end, end + entry.size],
        }
        end += entry.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    written = 0
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for entry in entries:
            progress(written / end)
            array = np.ascontiguousarray(entry.make(), dtype=np.dtype(entry.dtype).newbyteorder("<"))
            if not np.isfinite(array).all():
                raise GgufError(f"The tensor {entry.name} holds values that aren't finite.", "Download the file again.")
            file.write(array.data)
            written += array.nbytes
        file.flush()
        os.fsync(file.fileno())
    progress(1.0)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_space(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise GgufError(
            f"The model takes {size / 1e6:,.0f} MB and the disk has {free / 1e6:,.0f} MB left. Nothing was written.",
            "Make room, then try again.",
        )


# ---------------------------------------------------------------- llama


def _llama_config(file: GgufFile) -> Config:
    meta = file.metadata
    if meta.get("llama.expert_count"):
        raise GgufError("Mixture-of-experts llama files can't be imported.")
    if meta.get("llama.rope.scaling.type", "none") != "none" or "rope_freqs.weight" in file.tensors:
        raise GgufError("Llama files with scaled rotary positions (Llama 3.1 and later) can't be imported.")
    hidden = setting(meta, "llama.embedding_length", int)
    heads = setting(meta, "llama.attention.head_count", int)
    kv_heads = setting(meta, "llama.attention.head_count_kv", int, heads)
    head_dim = setting(meta, "llama.attention.key_length", int, hidden // heads)
    if heads % kv_heads or head_dim % 2:
        raise GgufError(f"{heads} heads of {head_dim} over {kv_heads} key/value heads can't be a llama.")
    if meta.get("llama.attention.value_length", head_dim) != head_dim:
        raise GgufError("Its keys and values have different widths, which a llama can't have.")
    if meta.get("llama.rope.dimension_count", head_dim) != head_dim:
        raise GgufError("Its rotary positions cover a part of each head only, which can't be imported.")
    layers = setting(meta, "llama.block_count", int)
    if layers > len(file.tensors):
        raise GgufError(f"The file names {layers} layers and holds {len(file.tensors)} tensors.")
    tokens = setting(meta, "tokenizer.ggml.tokens", list)
    epsilon = np.float32(setting(meta, "llama.attention.layer_norm_rms_epsilon", float))
    config: Config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": setting(meta, "llama.feed_forward_length", int),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "rms_norm_eps": float(str(epsilon)),  # stored as float32: 9.999999747378752e-06 means 1e-05
        "rope_theta": setting(meta, "llama.rope.freq_base", float, 10000.0),
        "vocab_size": setting(meta, "llama.vocab_size", int, len(tokens)),
        "max_position_embeddings": setting(meta, "llama.context_length", int),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "eos_token_id": _end_tokens(meta),
    }
    if "tokenizer.ggml.bos_token_id" in meta:
        config["bos_token_id"] = meta["tokenizer.ggml.bos_token_id"]
    return config


def _end_tokens(meta: dict[str, Any]) -> list[int]:
    """Every token that ends a reply: end of text, of turn, of message."""
    keys = [f"tokenizer.ggml.{key}_token_id" for key in ("eos", "eot", "eom")]
    return sorted({setting(meta, key, int) for key in keys if key in meta})


def _llama_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    pairs = config["num_key_value_heads"] * config["head_dim"]
    block = {
        "attn_norm": (hidden,),
        "attn_q": (queries, hidden),
        "attn_k": (pairs, hidden),
        "attn_v": (pairs, hidden),
        "attn_output": (hidden, queries),
        "ffn_norm": (hidden,),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (vocabulary, hidden), "output_norm": (hidden,)}
    if not config["tie_word_embeddings"]:
        shapes["output"] = (vocabulary, hidden)
    for index in range(config["num_hidden_layers"]):
        shapes |= {f"blk.{index}.{name}": shape for name, shape in block.items()}
    return shapes


def _llama_reorder(name: str, array: Array, config: Config) -> Array:
    """GGUF interleaves the two halves of each query and key head for its own rotary layout; this undoes it."""
    part = name.rsplit(".", 1)[-1]
    if part not in ("attn_q", "attn_k"):
        return array
    heads = config["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]
    return array.reshape(heads, -1, 2, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)


ARCHITECTURES = {
    "llama": Architecture(
        config=_llama_config,
        shapes=_llama_shapes,
        names={
            "token_embd": "model.embed_tokens",
            "output_norm": "model.norm",
            "output": "lm_head",
            "attn_norm": "input_layernorm",
            "attn_q": "self_attn.q_proj",
            "attn_k": "self_attn.k_proj",
            "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj",
            "ffn_norm": "post_attention_layernorm",
            "ffn_gate": "mlp.gate_proj",
            "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj",
        },
        reorder=_llama_reorder,
    )
}

# ---------------------------------------------------------------- checks


def _architecture(file: GgufFile) -> Architecture:
    name = setting(file.metadata, "general.architecture", str)
    if name not in ARCHITECTURES:
        raise GgufError(
            f"Files of the architecture {name} can't be imported.", f"These can: {', '.join(sorted(ARCHITECTURES))}."
        )
    return ARCHITECTURES[name]


def _check_tensors(file: GgufFile, wanted: dict[str, tuple[int, ...]]) -> None:
    present = {name.removesuffix(".weight"): tensor.shape for name, tensor in file.tensors.items()}
    for word, names in (("lacks", wanted.keys() - present.keys()), ("holds unknown", present.keys() - wanted.keys())):
        if names:
            few = ", ".join(sorted(names)[:4]) + (" …" if len(names) > 4 else "")
            raise GgufError(f"The file {word} tensors ({few}), so the model would be wrong.")
    for name, shape in wanted.items():
        if present[name] != shape:
            raise GgufError(f"The tensor {name} has the shape {present[name]}, not {shape}.")
