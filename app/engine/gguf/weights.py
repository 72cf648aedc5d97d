"""The tensors of a GGUF file as a safetensors file that mlx-lm loads, a stretch of rows at a time.

Format: https://github.com/huggingface/safetensors#format. No more than a few million weights are in memory at once,
however large a tensor is, and a cancelled import ends after as many.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.engine.gguf import architectures
from app.engine.gguf.architectures import Architecture, Config
from app.engine.gguf.blocks import BLOCK
from app.engine.gguf.container import GgufError, GgufFile, Tensor
from app.words import say

WeightKind = Literal["float32", "float16", "quantized"]
Array = NDArray[Any]
_STRETCH = 1 << 22  # weights converted together
# A tensor's type in a safetensors file, and NumPy's; bfloat16, which NumPy lacks, as its bits.
_NUMPY = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "U32": "<u4"}


@dataclass(frozen=True)
class Entry:
    """One tensor of the file to be written. `kind` is of _NUMPY."""

    name: str
    kind: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * np.dtype(_NUMPY[self.kind]).itemsize


@dataclass(frozen=True)
class Weights:
    """What becomes of one GGUF tensor: plain floats, or packed codes with scales and biases. `name`: the GGUF one."""

    tensor: Tensor
    name: str
    entries: tuple[Entry, ...]

    def make(self, architecture: Architecture, config: Config, rows: slice) -> list[Array]:
        """These rows of each entry. Raises GgufError for what isn't finite."""
        if len(self.entries) > 1:
            parts: tuple[Array, ...] = self.tensor.packed(rows)
        else:
            parts = (self.tensor.floats(rows),)
        ordered = [architecture.reorder(self.name, part, config) for part in parts]
        return [self._converted(array, entry.kind) for array, entry in zip(ordered, self.entries, strict=True)]

    def _converted(self, array: Array, kind: str) -> Array:
        with np.errstate(over="ignore"):
            if kind == "BF16":  # to the nearest, even ones first
                bits = array.astype(np.float32).view(np.uint32)
                converted = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(_NUMPY[kind])
            else:
                array = converted = np.ascontiguousarray(array, dtype=_NUMPY[kind])
        if not np.isfinite(array).all():
            raise GgufError(
                say("The tensor {0} holds values that aren't finite.", self.name), say("Download the file again.")
            )
        return converted


def plan(file: GgufFile, architecture: Architecture, config: Config, weights: WeightKind) -> list[Weights]:
    """What is to be written, tensor by tensor."""
    kind = {"float32": "F32", "float16": "F16"}.get(weights) or _float_kind(file)
    planned = []
    for tensor in architectures.weights(file).values():
        name = tensor.name.removesuffix(".weight")
        target = architecture.target(name)
        if weights == "quantized" and _packable(tensor):
            rows, columns = tensor.shape
            entries: tuple[Entry, ...] = (
                Entry(f"{target}.weight", "U32", (rows, columns * tensor.type.bits // 32)),
                Entry(f"{target}.scales", "F16", (rows, columns // BLOCK)),
                Entry(f"{target}.biases", "F16", (rows, columns // BLOCK)),
            )
        else:
            full = target if name.endswith(".bias") else f"{target}.weight"
            entries = (Entry(full, kind, tensor.shape),)
        planned.append(Weights(tensor, name, entries))
    return planned


def quantization(planned: list[Weights], architecture: Architecture) -> Config:
    """What mlx-lm reads: the usual width, then each tensor that differs; a plain one is known by its lack of scales.

    Empty where nothing is packed.
    """
    bits = {architecture.target(w.name): w.tensor.type.bits for w in planned if len(w.entries) > 1}
    if not bits:
        return {}
    usual = max(set(bits.values()), key=list(bits.values()).count)
    differing = {name: {"group_size": BLOCK, "bits": width} for name, width in bits.items() if width != usual}
    return {"group_size": BLOCK, "bits": usual, **differing}


def write(
    path: Path, planned: list[Weights], architecture: Architecture, config: Config, progress: Callable[[float], None]
) -> None:
    """Write the file and bring it to the disk. `progress` gets 0 to 1. Raises GgufError, OSError."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    end = 0
    for entry in (entry for weights in planned for entry in weights.entries):
        header[entry.name] = {"dtype": entry.kind, "shape": entry.shape, "data_offsets": [end, end + entry.size]}
        end += entry.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    done = 0
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for weights in planned:
            rows, columns = weights.tensor.shape if len(weights.tensor.shape) == 2 else (1, weights.tensor.shape[0])
            step = max(_STRETCH // columns // config["head_dim"], 1) * config["head_dim"]  # whole heads
            for start in range(0, rows, step):
                progress(done / end)
                arrays = weights.make(architecture, config, slice(start, min(start + step, rows)))
                for entry, array in zip(weights.entries, arrays, strict=True):
                    offset = header[entry.name]["data_offsets"][0]
                    file.seek(8 + len(text) + offset + entry.size // rows * start)
                    file.write(array.data)
                    done += array.nbytes
        file.flush()
        os.fsync(file.fileno())
    progress(1.0)


def _packable(tensor: Tensor) -> bool:
    """Matrices only: mlx-lm quantises no norm and no bias."""
    return bool(tensor.type.bits) and len(tensor.shape) == 2


def _float_kind(file: GgufFile) -> str:
    """What the floats of a file become that is kept small. Beside packed codes they are of their scales' type."""
    tensors = architectures.weights(file).values()
    plain = not any(_packable(tensor) for tensor in tensors)
    return "BF16" if plain and any(tensor.type.name == "BF16" for tensor in tensors) else "F16"
