"""Importing a GGUF file: one file in, one model folder that mlx-lm loads out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
from numpy.typing import NDArray

from app.engine import gguf_architectures as architectures
from app.engine.gguf_architectures import Architecture, Config
from app.engine.gguf_blocks import BLOCK
from app.engine.gguf_file import GgufError, GgufFile, Tensor, read
from app.engine.gguf_tokenizer import tokenizer_files
from app.paths import sync_folder

WeightKind = Literal["float32", "float16", "quantized"]
Array = NDArray[Any]
# A tensor's type in a safetensors file, and NumPy's; bfloat16, which NumPy lacks, as its bits.
_NUMPY = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "U32": "<u4"}


@dataclass(frozen=True)
class Contents:
    """What a GGUF file that can be imported holds."""

    architecture: str
    context_tokens: int
    chat_template: bool


def examine(source: Path) -> Contents:
    """Look at a file without importing it: its description and tensors, not its tokenizer's every token.

    Raises GgufError with the reason why it can't be imported.
    """
    file = read(source)
    architecture = architectures.find(file)
    config = architectures.configuration(file, architecture)
    architectures.check_tensors(file, architecture, config)
    template = "tokenizer.chat_template" in file.metadata
    return Contents(architecture.model_type, config["max_position_embeddings"], template)


def import_gguf(
    source: Path, folder: Path, weights: WeightKind = "quantized", progress: Callable[[float], None] = lambda done: None
) -> Path:
    """Write `source` as the model folder `folder` (weights, configuration, tokenizer, chat template); returns it.

    `weights` is the dtype of every tensor, or "quantized": as small as MLX can keep it. Codes that it has a form for
    (4, 5 and 8 bits) stay as they are and the rest becomes float16, or bfloat16 in a file of bfloat16. `progress` gets
    0 to 1; an exception that it raises cancels the import. Raises GgufError when the file can't be imported or not be
    written. `folder` appears whole at the end or not at all. Needs no MLX, so any thread may call it.
    """
    if folder.exists():
        raise GgufError(f"{folder} exists already and was left as it is.", "Choose another name, or remove it first.")
    file = read(source)
    architecture = architectures.find(file)
    config = architectures.configuration(file, architecture)
    architectures.check_tensors(file, architecture, config)
    documents = tokenizer_files(file, config)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        remove_stale_parts(folder.parent)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        entries = list(_entries(file, architecture, config, weights))
        _check_space(part, sum(entry.size for entry in entries))
        _write_safetensors(part / "model.safetensors", entries, progress)
        if weights == "quantized" and (quantization := _quantization(file, architecture)):
            config["quantization"] = quantization
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
    kind: str  # of _NUMPY
    shape: tuple[int, ...]
    make: Callable[[], Array]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(_NUMPY[self.kind]).itemsize


def _entries(file: GgufFile, architecture: Architecture, config: Config, weights: WeightKind) -> Iterator[_Entry]:
    tensors = architectures.weights(file).values()
    kind = {"float32": "F32", "float16": "F16"}.get(weights) or _float_kind(file)
    for tensor in tensors:
        name = tensor.name.removesuffix(".weight")
        target = architecture.target(name)
        if weights == "quantized" and tensor.type.bits:
            rows, columns = tensor.shape[:-1], tensor.shape[-1]
            parts = {
                "weight": ("U32", columns * tensor.type.bits // 32),
                "scales": ("F16", columns // BLOCK),
                "biases": ("F16", columns // BLOCK),
            }
            for index, (part, (part_kind, width)) in enumerate(parts.items()):

                def packed(tensor: Tensor = tensor, name: str = name, index: int = index) -> Array:
                    return architecture.reorder(name, tensor.packed()[index], config)

                yield _Entry(f"{target}.{part}", part_kind, (*rows, width), packed)
        else:

            def plain(tensor: Tensor = tensor, name: str = name) -> Array:
                return _converted(architecture.reorder(name, tensor.floats(), config), kind)

            yield _Entry(target if name.endswith(".bias") else f"{target}.weight", kind, tensor.shape, plain)


def _float_kind(file: GgufFile) -> str:
    """What the floats of a file become that is kept small. Beside packed codes they are of their scales' type."""
    kinds = {tensor.type.name for tensor in file.tensors.values()}
    return "BF16" if "BF16" in kinds and not any(t.type.bits for t in file.tensors.values()) else "F16"


def _converted(array: Array, kind: str) -> Array:
    """float32 as another kind of float, rounded to the nearest. Raises GgufError for what isn't finite there."""
    if kind == "BF16":
        bits = array.astype(np.float32).view(np.uint32)
        result = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    else:
        with np.errstate(over="ignore"):
            array = result = array.astype(_NUMPY[kind])
    if not np.isfinite(array).all():
        raise GgufError("It holds values that aren't finite, or too large for its new type.", "Download it again.")
    return result


def _quantization(file: GgufFile, architecture: Architecture) -> Config:
    """What mlx-lm reads: the usual width, then each tensor that differs; a plain one is known by its lack of scales."""
    bits = {
        architecture.target(t.name.removesuffix(".weight")): t.type.bits
        for t in architectures.weights(file).values()
        if t.type.bits
    }
    if not bits:
        return {}
    usual = max(set(bits.values()), key=list(bits.values()).count)
    differing = {name: {"group_size": BLOCK, "bits": width} for name, width in bits.items() if width != usual}
    return {"group_size": BLOCK, "bits": usual, **differing}


def _write_safetensors(path: Path, entries: list[_Entry], progress: Callable[[float], None]) -> None:
    """One tensor in memory at a time. Format: https://github.com/huggingface/safetensors#format."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    end = 0
    for entry in entries:
        header[entry.name] = {
            "dtype": entry.kind,
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
            array = np.ascontiguousarray(entry.make(), dtype=_NUMPY[entry.kind])
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
