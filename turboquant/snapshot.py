"""Cache files: own format, versioned, checksummed, written atomically.

    magic "TQCACHE\\0", format version (u32), header length (u32), CRC-32 of the header (u32),
    header (JSON), arrays, BLAKE2b-256 of all before

The header names the tokens, the scheme, the model's fingerprint and, for each layer, what its cache is and which codec
packed it; the arrays follow in the header's order. A file of another version, model, scheme or codec is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import mlx.core as mx
import numpy as np
from mlx.nn.layers.base import Module
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models.cache import CacheList

from turboquant.cache import TurboQuantCache
from turboquant.errors import SaveCancelled, SnapshotDamaged, SnapshotMismatch, TurboQuantError
from turboquant.plan import make_cache, packable
from turboquant.schemes import Scheme, parse
from turboquant.trace import parts

MAGIC = b"TQCACHE\0"
VERSION = 1
_PREFIX = struct.Struct("<8sIII")
_DIGEST_BYTES = 32
_MAX_HEADER = 64 << 20
_CHUNK = 4 << 20


@dataclass(frozen=True)
class Snapshot:
    """What `load` brings back: caches ready for mlx-lm and the token ids that they hold."""

    caches: list[Any]
    tokens: list[int]
    scheme: str


def fingerprint(model: Module) -> str:
    """A hash of the model's arguments, and of each parameter's name, shape, type and values at a stride.

    Tells models, conversions and settings (RoPE's, say) apart.
    """
    digest = hashlib.blake2b(repr(getattr(model, "args", None)).encode(), digest_size=16)
    parameters = cast(list[tuple[str, mx.array]], tree_flatten(model.parameters()))
    heads = [array.reshape(-1)[:: max(array.size // 256, 1)].astype(mx.float32) for _, array in parameters]
    mx.eval(heads)
    for (name, array), head in zip(parameters, heads, strict=True):
        digest.update(f"{name} {array.shape} {array.dtype}".encode())
        digest.update(np.array(head).tobytes())
    return digest.hexdigest()


def save(
    path: Path | str,
    caches: list[Any],
    tokens: list[int],
    fingerprint: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> int:
    """Write the caches, which hold `tokens`; returns the file's bytes. An existing file stays whole until the end.

    `cancelled` is asked every few megabytes; once it says so, SaveCancelled is raised.
    """
    path = Path(path)
    if (held := _held(caches)) - {len(tokens)}:
        raise TurboQuantError(f"The caches hold {sorted(held)} tokens, not {len(tokens)}. Nothing was written.")
    layers, arrays = [], []
    for cache in caches:
        layer, held_arrays = _describe(cache)
        layers.append(layer)
        arrays.extend(held_arrays)
    ours = packable(caches)
    header = {
        "tokens": [int(t) for t in tokens],
        "fingerprint": fingerprint,
        "scheme": ours[0].scheme.name if ours else "none",
        "layers": layers,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in _parts(text, arrays):
                for start in range(0, len(part), _CHUNK):
                    if cancelled():
                        raise SaveCancelled("The cache file was given up before it was whole.")
                    piece = part[start : start + _CHUNK]
                    digest.update(piece)
                    file.write(piece)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path.stat().st_size


def read_header(path: Path | str) -> dict[str, Any]:
    """The header, without reading the arrays or checking the checksum. Raises SnapshotDamaged, SnapshotMismatch."""
    with _opened(Path(path)) as file:
        return _header(file)


def load(
    path: Path | str,
    model: Module,
    fingerprint: str,
    scheme: Scheme | str | None = None,
    max_kv_size: int | None = None,
) -> Snapshot:
    """Caches for `model` from a file whose checksum, fingerprint, scheme (where given) and codecs agree.

    `max_kv_size`: what `make_cache` was given for the caches in the file. Raises SnapshotDamaged or SnapshotMismatch,
    and leaves the file as it is.
    """
    path = Path(path)
    with _opened(path) as file:
        _verify(file, path)
        header = _header(file)
        if header["fingerprint"] != fingerprint:
            raise SnapshotMismatch("The cache file was made by another model.")
        wanted = header["scheme"] if scheme is None else parse(scheme).name
        try:
            caches = _caches(header, make_cache(model, header["scheme"], max_kv_size=max_kv_size), file)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # a sound checksum over nonsense: written by something else, or on purpose
            raise SnapshotDamaged(f"The cache file's header doesn't describe a cache ({error!r}).") from error
    # a model without a layer to pack is under any scheme what it is under none
    if packable(caches) and wanted != header["scheme"]:
        raise SnapshotMismatch(f"The cache file holds {header['scheme']}, not {wanted}.")
    return Snapshot(caches, header["tokens"], wanted)


def _caches(header: dict[str, Any], caches: list[Any], file: BinaryIO) -> list[Any]:
    layers = header["layers"]
    if len(layers) != len(caches):
        raise SnapshotMismatch(f"The cache file has {len(layers)} layers, the model {len(caches)}.")
    restored = [_restore(cache, layer, file) for cache, layer in zip(caches, layers, strict=True)]
    if _held(restored) - {len(header["tokens"])}:
        raise SnapshotMismatch("The cache file's layers don't hold the tokens that it names.")
    return restored


def _held(caches: list[Any]) -> set[int]:
    """How many tokens the caches say they hold; one of mlx-lm's may be there for nothing and stay empty."""
    others = (part for cache in caches for part in parts(cache) if hasattr(part, "offset") and not part.empty())
    return {int(cache.offset) for cache in (*packable(caches), *others)}


def _describe(cache: Any) -> tuple[dict[str, Any], list[mx.array]]:
    if isinstance(cache, CacheList):
        described = [_describe(part) for part in cache.caches]
        joined = {"class": "CacheList", "parts": [part for part, _ in described]}
        return joined, [array for _, arrays in described for array in arrays]
    if isinstance(cache, TurboQuantCache):
        named = cache.arrays()
        layer: dict[str, Any] = {"class": "TurboQuantCache", "cache": cache.describe()}
    else:
        # a model's own kind of cache may tell its state without being able to take one back
        state = cache.state if hasattr(cache, "from_state") else vars(cache)
        flat = [] if cache.empty() else cast(list[tuple[str, Any]], tree_flatten(state))
        named = {name: value for name, value in flat if isinstance(value, mx.array)}
        scalars = {name: value for name, value in flat if not isinstance(value, mx.array)}
        layer = {"class": type(cache).__name__, "scalars": scalars}
    layer["arrays"] = [[name, str(a.dtype).split(".")[-1], list(a.shape)] for name, a in named.items()]
    return layer, list(named.values())


def _restore(fresh: Any, layer: dict[str, Any], file: BinaryIO) -> Any:
    if layer["class"] != type(fresh).__name__:
        raise SnapshotMismatch(f"A layer was stored as {layer['class']}, the model uses {type(fresh).__name__}.")
    if isinstance(fresh, CacheList):
        held = layer.get("parts", ())
        if len(held) != len(fresh.caches):
            raise SnapshotMismatch("A layer's caches were joined in another way, by another version of this program.")
        fresh.caches = tuple(_restore(*both, file) for both in zip(fresh.caches, held, strict=True))
        return fresh
    arrays = {name: _read(file, dtype, shape) for name, dtype, shape in layer["arrays"]}
    if isinstance(fresh, TurboQuantCache):
        if layer["cache"].get("window", [0, 0])[:2] != [fresh.window, fresh.keep]:
            raise SnapshotMismatch("A layer was stored with another sliding window than the model's.")
        fresh.restore(layer["cache"], arrays)
        if fresh.without_bias and fresh.key_bias is None:
            raise SnapshotMismatch("The keys were packed without a key bias, and the model has none.")
        return fresh
    items = [*arrays.items(), *layer["scalars"].items()]
    if not items:
        return fresh
    if not hasattr(fresh, "from_state"):
        vars(fresh).update(tree_unflatten(items))
        return fresh
    restored = type(fresh).from_state(tree_unflatten(items))
    restored.__dict__ = {**fresh.__dict__, **restored.__dict__}  # what isn't state: the window's size, the reason
    return restored


def _parts(header: bytes, arrays: list[mx.array]) -> Iterator[bytes | memoryview]:
    yield _PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header))
    yield header
    for array in arrays:  # one at a time: a cut array is a copy
        yield np.array(_as_bytes(array)).data


def _as_bytes(array: mx.array) -> mx.array:
    return mx.contiguous(array).reshape(-1).view(mx.uint8) if array.size else mx.zeros((0,), dtype=mx.uint8)


def _read(file: BinaryIO, dtype: str, shape: list[int]) -> mx.array:
    kind = getattr(mx, dtype)
    count = int(np.prod(shape, dtype=np.int64)) * kind.size
    if not 0 <= count <= os.fstat(file.fileno()).st_size - file.tell():
        raise SnapshotDamaged("The cache file is shorter than its header says.")
    data = np.frombuffer(file.read(count), np.uint8)
    if kind == mx.bool_:
        return mx.array(data.astype(bool)).reshape(shape)
    return mx.array(data).view(kind).reshape(shape)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise SnapshotDamaged(f"The cache file {path.name} can't be read ({error.strerror}).") from error


def _header(file: BinaryIO) -> dict[str, Any]:
    file.seek(0)
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[:8] != MAGIC:
        raise SnapshotDamaged("This isn't a cache file, or its beginning is damaged.")
    _, version, length, check = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise SnapshotMismatch(f"The cache file has format version {version}; this program reads version {VERSION}.")
    text = file.read(length) if length <= _MAX_HEADER else b""
    if len(text) != length or zlib.crc32(text) != check:
        raise SnapshotDamaged("The cache file's header is damaged.")
    try:
        header = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise SnapshotDamaged("The cache file's header doesn't describe a cache.") from error
    kinds = {"tokens": list, "fingerprint": str, "scheme": str, "layers": list}
    sound = isinstance(header, dict) and all(isinstance(header.get(name), kind) for name, kind in kinds.items())
    if not sound or not all(type(token) is int and token >= 0 for token in header["tokens"]):
        raise SnapshotDamaged("The cache file's header doesn't describe a cache.")
    return header


def _verify(file: BinaryIO, path: Path) -> None:
    left = path.stat().st_size - _DIGEST_BYTES
    if left < _PREFIX.size:
        raise SnapshotDamaged("The cache file is cut short.")
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    while left:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            raise SnapshotDamaged("The cache file is cut short.")
        digest.update(chunk)
        left -= len(chunk)
    if file.read() != digest.digest():
        raise SnapshotDamaged("The cache file's checksum doesn't match: it is damaged or cut short.")


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
