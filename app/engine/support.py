"""Whether a model can run here, from its config.json and the names of its files alone.

Pure Python over JSON: nothing of a model's own is imported or run, so it serves before a download and in any thread.
"""

from __future__ import annotations

import functools
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from app.errors import AppError
from app.words import say

# Numbers that no model does without: at 0, or as text, they only fail later and further from their cause.
_COUNTS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size")
_MOST = 1 << 31  # as a dimension, or tokens: MLX's dimensions end there
# Layers and experts are built one by one, before anything else about a config shows.
_MOST_LAYERS, _LAYERS = 10_000, re.compile(r"(\w+_)?(n|num)_(\w+_)?(layers?|experts?)")
# Where different families say how long a sequence they were trained for.
_CONTEXT_KEYS = ("max_position_embeddings", "max_sequence_length", "max_seq_len", "seq_length", "n_positions", "n_ctx")
# Modules among mlx-lm's models that are none; olmo ends the program unless a package is there that nothing brings.
_NO_MODELS = frozenset(
    ("activations", "base", "bitlinear_layers", "cache", "gated_delta", "mla", "pipeline", "rope_utils", "ssm")
) | {"switch_layers", "olmo"}
# Written as Metal kernels, which other machines don't have.
_METAL_ONLY = ("bitnet", "muse_spark")
# What mlx-lm makes of other people's quantised weights (mlx_lm.utils.load_model).
_FOREIGN_QUANTIZATION = ("awq", "bitnet", "compressed-tensors", "fp8", "gptq", "modelopt", "mxfp4", "mxfp8")
_PACKED_FORMATS = ("mxfp4-pack-quantized", "nvfp4-pack-quantized", "pack-quantized")
_MODES = ("affine", "mxfp4", "mxfp8", "nvfp4")


def unsupported(config: Mapping[str, Any], files: Collection[str] | None = None) -> str:
    """Why this model can't run with the installed mlx-lm, as a sentence for people; empty if it can.

    `config` is config.json, decoded; `files` are the names in its folder or repository, where they are known. Raises
    AppError only where mlx-lm isn't installed.
    """
    return (
        _wrong_numbers(config)
        or _unknown_kind(config)
        or _foreign_weights(config)
        or ("" if files is None else _missing_files(files))
    )


def families() -> frozenset[str]:
    """The names, as config.json has them, of all kinds of models that can run here; other names may stand for them."""
    return _known_modules() - (frozenset() if sys.platform == "darwin" else frozenset(_METAL_ONLY))


def context_tokens(config: Mapping[str, Any]) -> int | None:
    """The longest sequence the config states; None where it states none."""
    for part in parts(config):
        for key in _CONTEXT_KEYS:
            value = part.get(key)
            if type(value) is int and value > 0:
                return value
    return None


def parts(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The config and, where a model sees or hears too, its part about text."""
    yield config
    if isinstance(text := config.get("text_config"), dict):
        yield text


def _wrong_numbers(config: Mapping[str, Any]) -> str:
    for part in parts(config):
        for key in (*_COUNTS, *_CONTEXT_KEYS):
            value = part.get(key)  # a list holds one number a layer
            count = type(value) is int and (value > 0 or key not in _COUNTS) and value < _MOST
            if not (value is None or isinstance(value, list) or count):
                return say("Its config.json says that {0} is {1}.", key, f"{value!r:.40}")
        for key, value in part.items():
            if type(value) is int and value > _MOST_LAYERS and _LAYERS.fullmatch(key):
                return say("Its config.json says that {0} is {1}.", f"{key:.40}", f"{value!r:.40}")
    return ""


def _unknown_kind(config: Mapping[str, Any]) -> str:
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return say("Its config.json names no model_type.")
    if config.get("model_file") is not None:
        return say("It needs program code of its own, which is never run.")
    if kind in _METAL_ONLY and sys.platform != "darwin":
        return say("Models of type {0} run on a Mac only.", kind)
    if kind in _known_modules():
        return ""
    # These import MLX, the first one with its BLAS: only for the rare name that needs it.
    import turboquant  # noqa: F401

    # isort: split
    from mlx_lm.utils import MODEL_REMAPPING

    return "" if kind in MODEL_REMAPPING else say("Models of type {0} aren't known to mlx-lm.", f"{kind:.40}")


@functools.cache
def _known_modules() -> frozenset[str]:
    spec = importlib.util.find_spec("mlx_lm")
    if spec is None or not spec.submodule_search_locations:
        raise AppError(say("mlx-lm isn't installed."), say("Run `make run` again: it repairs the installation."))
    folders = [str(Path(place) / "models") for place in spec.submodule_search_locations]
    return frozenset(module.name for module in pkgutil.iter_modules(folders)) - _NO_MODELS


def _foreign_weights(config: Mapping[str, Any]) -> str:
    ours = config.get("quantization")
    if ours is not None:
        mode = ours.get("mode", "affine") if isinstance(ours, dict) else None
        sizes = [ours.get(key) for key in ("group_size", "bits")] if isinstance(ours, dict) else [None]
        counts = all(type(size) is int and size > 0 for size in sizes)
        return (
            ""
            if counts and mode in _MODES
            else say("Its weights are quantised in an unknown way ({0}).", f"{ours!r:.60}")
        )
    for part in parts(config):
        theirs = part.get("quantization_config")
        if not isinstance(theirs, dict):
            continue
        method = theirs.get("quant_method")
        if method not in _FOREIGN_QUANTIZATION:
            return say(
                "Its weights are stored as {0}, which mlx-lm doesn't read. Look for an MLX version of it.",
                f"{method!s:.40}",
            )
        if method == "compressed-tensors" and theirs.get("format") not in _PACKED_FORMATS:
            return say("Its weights are stored as {0}, which mlx-lm doesn't read.", f"{theirs.get('format')!s:.40}")
    return ""


def _missing_files(files: Collection[str]) -> str:
    names = set(files)
    if not any(name.startswith("model") and name.endswith(".safetensors") for name in names):
        if any(name.endswith(".gguf") for name in names):
            return say("It holds GGUF files: download one of them and import it.")
        return say("It holds no weights that mlx-lm reads (model*.safetensors). Look for an MLX version of it.")
    if not names & TOKENIZER_FILES:
        return say("It holds no tokenizer.")
    return ""


TOKENIZER_FILES = frozenset(("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json"))
"""One of these makes a tokenizer."""
