"""Reading a GGUF container: metadata, where each tensor lies, and the tensors' blocks as MLX wants them.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian). NumPy alone,
because the importer may run in any thread and one thread owns MLX. Everything is checked against the file's size
before it is read: a cut or malicious file ends in `GgufError`. The file isn't mapped, because a disk that goes away
under a map ends the program.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.gguf import blocks
from app.engine.gguf.blocks import OTHER_TYPES, TYPES, BlockType
from app.errors import AppError
from app.words import say, why


class GgufError(AppError):
    """A GGUF file that can't be imported. Nothing of the import is left behind."""


class GgufDamaged(GgufError):
    """It is no whole GGUF file."""


_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# The largest description known, of 262,144 tokens and their merges, takes 16 MB; a key may have 65,535 bytes.
_HEADER_LIMIT_BYTES, _KEY_LIMIT_BYTES = 64 << 20, 1 << 16


@dataclass(frozen=True)
class Tensor:
    """`shape` is row-major: the last axis is contiguous. Its blocks lie in `file` from `offset` on; reading them raises
    GgufError.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    file: Path
    offset: int

    @property
    def type(self) -> BlockType:
        return TYPES[self.type_id]

    @property
    def size(self) -> int:
        """In bytes."""
        return math.prod(self.shape) // self.type.weights * self.type.size

    def floats(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """The values, dequantised; of a matrix these rows."""
        return blocks.floats(self.type_id, self._rows(rows)).reshape(-1, *self.shape[1:])

    def packed(self, rows: slice = slice(None)) -> tuple[NDArray[np.uint32], NDArray[np.float16], NDArray[np.float16]]:
        """A matrix's rows in MLX's affine form with groups of 32 along the last axis: packed codes, scales, biases."""
        return blocks.packed(self.type_id, self._rows(rows))

    def _rows(self, rows: slice) -> NDArray[np.uint8]:
        count = self.shape[0] if len(self.shape) > 1 else 1
        first, last, _ = rows.indices(count)
        wanted, width = last - first, self.size // count
        try:
            read = np.fromfile(self.file, np.uint8, wanted * width, offset=self.offset + first * width)
        except OSError as error:
            raise _unreadable(self.file, error) from error
        if read.size < wanted * width:
            raise GgufDamaged(
                say("{0} has become shorter while it was read.", self.file.name), say("Download it again.")
            )
        return read.reshape(wanted, width)


@dataclass(frozen=True)
class GgufFile:
    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


def read(path: Path) -> GgufFile:
    """Read the description in `path`. Raises GgufError; OSError is turned into one too."""
    try:
        with path.open("rb") as file:
            head, size = file.read(_HEADER_LIMIT_BYTES), file.seek(0, os.SEEK_END)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return _Reader(path, head, size).file()
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise GgufDamaged(
            say("{0} is cut short or damaged.", path.name), say("Download it again."), repr(error)
        ) from error


def _unreadable(path: Path, error: OSError) -> GgufDamaged:
    return GgufDamaged(
        say("{0} can't be read: {1}.", path.name, why(error)), say("Make it readable, or copy it again."), repr(error)
    )


def setting(meta: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """The metadata value of `key`, of exactly this `kind`; numbers but for ids are above 0. None: it must be there."""
    value: Any = meta.get(key, default)
    if type(value) is not kind:
        if value is None:
            raise GgufError(say("The file's metadata can't be used: {0} is missing.", key))
        found, wanted = type(value).__name__, kind.__name__
        raise GgufError(say("The file's metadata can't be used: {0} is of type {1}, not {2}.", key, found, wanted))
    if isinstance(value, int | float) and not 0 < value < math.inf and not key.endswith("_id"):
        raise GgufError(say("The file's metadata can't be used: {0} is {1}.", key, value))
    return value


class _Reader:
    """`head` is the beginning of the file, of at most _HEADER_LIMIT_BYTES; `size` that of all of it."""

    def __init__(self, path: Path, head: bytes, size: int) -> None:
        self.path, self.head, self.size = path, head, size
        self.at = 0

    def file(self) -> GgufFile:
        if self.head[:4] != b"GGUF":
            raise GgufDamaged(say("This isn't a GGUF file: it doesn't begin with GGUF."))
        self.at = 4
        version = self.number("I")
        if version not in (2, 3):
            raise GgufError(
                say(
                    "This GGUF file has version {0}; versions 2 and 3, little-endian, can be imported.", f"{version:#x}"
                )
            )
        tensor_count, entry_count = self.number("Q"), self.number("Q")
        metadata = {}
        for _ in range(entry_count):
            key = self.string(_KEY_LIMIT_BYTES)
            metadata[key] = self.value(self.number("I"))
        places = [self.place() for _ in range(tensor_count)]
        align = metadata.get("general.alignment", 32)
        if not isinstance(align, int) or align < 1:
            raise GgufError(say("The file states an alignment of {0}.", f"{align!r}"), say("Download it again."))
        start = -(-self.at // align) * align
        tensors = sorted((self.tensor(*place, start) for place in places), key=lambda tensor: tensor.offset)
        for one, other in pairwise(tensors):
            if one.offset + one.size > other.offset:
                raise GgufDamaged(
                    say("The tensors {0} and {1} overlap.", one.name, other.name), say("Download the file again.")
                )
        named = {tensor.name: tensor for tensor in tensors}
        if len(named) < len(tensors):
            raise GgufDamaged(say("Two of its tensors have the same name."), say("Download the file again."))
        return GgufFile(metadata, named)

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self.head, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def take(self, size: int, limit: int = _HEADER_LIMIT_BYTES) -> bytes:
        if size > min(limit, len(self.head) - self.at):
            raise struct.error(f"{size} bytes at {self.at} of a description of at most {len(self.head)}")
        self.at += size
        return self.head[self.at - size : self.at]

    def string(self, limit: int = _HEADER_LIMIT_BYTES) -> str:
        return self.take(self.number("Q"), limit).decode()

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
            raise GgufError(say("The file's metadata holds a list of an unknown kind ({0}).", of))
        if kind not in _SCALARS:
            raise GgufError(say("The file's metadata holds a value of an unknown kind ({0}).", kind))
        return self.number(_SCALARS[kind])

    def place(self) -> tuple[str, tuple[int, ...], int, int]:
        name, axes = self.string(64), self.number("I")
        shape = tuple(self.number("Q") for _ in range(min(axes, 5)))
        if not 1 <= axes <= 4:
            raise GgufError(say("The tensor {0} has {1} axes.", name, axes), say("Download the file again."))
        return name, shape[::-1], self.number("I"), self.number("Q")

    def tensor(self, name: str, shape: tuple[int, ...], type_id: int, offset: int, start: int) -> Tensor:
        if type_id not in TYPES:
            named = OTHER_TYPES.get(type_id, f"number {type_id}")
            wanted = ", ".join(known.name for known in TYPES.values())
            raise GgufError(
                say("The tensor {0} has the type {1}, which can't be imported.", name, named),
                say("Files with {0} can.", wanted),
            )
        kind = TYPES[type_id]
        if shape[-1] % kind.weights or not math.prod(shape):
            raise GgufError(
                say("The tensor {0} of shape {1} doesn't divide into blocks of {2}.", name, shape, kind.weights)
            )
        tensor = Tensor(name, shape, type_id, self.path, start + offset)
        if tensor.offset + tensor.size > self.size:
            raise GgufDamaged(
                say("The file is cut short: the tensor {0} lies beyond its end.", name), say("Download it again.")
            )
        return tensor
