"""Reading a GGUF container: metadata, where each tensor lies, and the tensors' blocks as MLX wants them.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian). NumPy alone,
because the importer may run in any thread and one thread owns MLX. Everything is checked against the file's size
before it is read: a cut or malicious file ends in `GgufError`.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine import gguf_blocks
from app.engine.gguf_blocks import OTHER_TYPES, TYPES, BlockType
from app.errors import AppError


class GgufError(AppError):
    """A GGUF file that can't be imported. Nothing of the import is left behind."""


class GgufDamaged(GgufError):
    """It is no whole GGUF file."""


_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class Tensor:
    """`shape` is row-major: the last axis is contiguous. `blocks` is the raw bytes, one row of the array a block."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    blocks: NDArray[np.uint8]

    @property
    def type(self) -> BlockType:
        return TYPES[self.type_id]

    def floats(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """The values, dequantised; of a matrix these rows."""
        return gguf_blocks.floats(self.type_id, self._rows(rows)).reshape(-1, *self.shape[1:])

    def packed(self, rows: slice = slice(None)) -> tuple[NDArray[np.uint32], NDArray[np.float16], NDArray[np.float16]]:
        """A matrix's rows in MLX's affine form with groups of 32 along the last axis: packed codes, scales, biases."""
        return gguf_blocks.packed(self.type_id, self._rows(rows))

    def _rows(self, rows: slice) -> NDArray[np.uint8]:
        return self.blocks.reshape(self.shape[0] if len(self.shape) > 1 else 1, -1)[rows]


@dataclass(frozen=True)
class GgufFile:
    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


def read(path: Path) -> GgufFile:
    """Map `path` and index it. Raises GgufError; OSError is turned into one too."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: an empty file
        raise GgufDamaged(f"{path.name} can't be read: {error}.", detail=repr(error)) from error
    try:
        return _Reader(content).file()
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise GgufDamaged(f"{path.name} is cut short or damaged.", "Download it again.", repr(error)) from error


def setting(meta: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """The metadata value of `key`, of exactly this `kind`; a number of things is at least 1. None: it must be there."""
    value: Any = meta.get(key, default)
    if type(value) is not kind:
        found = "is missing" if value is None else f"is a {type(value).__name__}, not a {kind.__name__}"
        raise GgufError(f"The file's metadata can't be used: {key} {found}.")
    if type(value) is int and value < 1 and not key.endswith("_id"):
        raise GgufError(f"The file's metadata can't be used: {key} is {value}.")
    return value


class _Reader:
    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 0

    def file(self) -> GgufFile:
        if self.content[:4] != b"GGUF":
            raise GgufDamaged("This isn't a GGUF file: it doesn't begin with GGUF.")
        self.at = 4
        version = self.number("I")
        if version not in (2, 3):
            raise GgufError(
                f"This GGUF file has version {version:#x}; versions 2 and 3, little-endian, can be imported."
            )
        tensor_count, entry_count = self.number("Q"), self.number("Q")
        metadata = {}
        for _ in range(entry_count):
            key = self.string()
            metadata[key] = self.value(self.number("I"))
        places = [self.place() for _ in range(tensor_count)]
        align = metadata.get("general.alignment", 32)
        if not isinstance(align, int) or align < 1:
            raise GgufError(f"The file states an alignment of {align!r}.", "Download it again.")
        start = -(-self.at // align) * align
        return GgufFile(metadata, {place[0]: self.tensor(*place, start) for place in places})

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self.content, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def take(self, size: int) -> bytes:
        if size > len(self.content) - self.at:
            raise struct.error(f"{size} bytes wanted at {self.at}, the file has {len(self.content)}")
        self.at += size
        return self.content[self.at - size : self.at]

    def string(self) -> str:
        return self.take(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            of, count = self.number("I"), self.number("Q")
            if of in _SCALARS:
                raw = self.take(count * struct.calcsize("<" + _SCALARS[of]))
                return np.frombuffer(raw, "<" + _SCALARS[of]).tolist()
            if of == _STRING:
                return [self.string() for _ in range(count)]
            raise GgufError(f"The file's metadata holds a list of an unknown kind ({of}).")
        if kind not in _SCALARS:
            raise GgufError(f"The file's metadata holds a value of an unknown kind ({kind}).")
        return self.number(_SCALARS[kind])

    def place(self) -> tuple[str, tuple[int, ...], int, int]:
        name, axes = self.string(), self.number("I")
        shape = tuple(self.number("Q") for _ in range(min(axes, 5)))
        if not 1 <= axes <= 4:
            raise GgufError(f"The tensor {name} has {axes} axes.", "Download the file again.")
        return name, shape[::-1], self.number("I"), self.number("Q")

    def tensor(self, name: str, shape: tuple[int, ...], type_id: int, offset: int, start: int) -> Tensor:
        if type_id not in TYPES:
            named = OTHER_TYPES.get(type_id, f"number {type_id}")
            wanted = ", ".join(known.name for known in TYPES.values())
            raise GgufError(
                f"The tensor {name} has the type {named}, which can't be imported.", f"Files with {wanted} can."
            )
        kind = TYPES[type_id]
        if shape[-1] % kind.weights or not math.prod(shape):
            raise GgufError(f"The tensor {name} of shape {shape} doesn't divide into blocks of {kind.weights}.")
        count = math.prod(shape) // kind.weights
        if start + offset + count * kind.size > len(self.content):
            raise GgufDamaged(f"The file is cut short: the tensor {name} lies beyond its end.", "Download it again.")
        blocks = np.frombuffer(self.content, np.uint8, count * kind.size, start + offset).reshape(count, kind.size)
        return Tensor(name, shape, type_id, blocks)
