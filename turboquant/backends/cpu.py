"""The backend for machines without a GPU: numba loops over the packed arrays in place, on every core.

MLX's own attention on a CPU streams 16 or 32 bits a coordinate; reading 2 to 8 is what makes this one faster.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import mlx.core as mx
import numba
import numpy as np
from numpy.typing import NDArray

from turboquant.backends.cpu_kernels.attention import LOWEST, TOKENS, attend
from turboquant.backends.cpu_kernels.codec import dequantise, encode
from turboquant.backends.cpu_kernels.lanes import table
from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import TRIALS, Codec, Packed
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import AnyCodec, SplitCodec

MAX_ROWS = 8  # query rows a kv head's tokens are unpacked for at once; longer steps are prefill, where BLAS wins
LOG2_E = 1.4426950408889634  # the loops count scores in bits

F32 = NDArray[np.float32]
_NO_WORDS = np.zeros((1, 1, 1), np.uint32)
_NO_HALVES = np.zeros((1, 1, 1), np.uint16)
_NO_TABLE = np.zeros((1, 1), np.float32)


class NumbaBackend(ReferenceBackend):
    """Encode, dequantise and decode attention in numba; longer queries as the reference attends."""

    name = "numba"

    def encode(
        self,
        x: mx.array,
        codec: AnyCodec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed:
        if isinstance(codec, SplitCodec):
            return super().encode(x, codec, offset, channel_scale, channel_order)
        batch, heads, rows, dim = x.shape
        constants = _constants(codec)
        data = _floats(x).reshape(batch * heads, rows, dim)
        fold = np.tile(constants.signs, (batch * heads, 1))
        if channel_scale is not None:
            fold *= _floats(channel_scale).reshape(batch * heads, dim)
        shift = np.zeros((batch * heads, dim), np.float32)
        if offset is not None:
            shift = _floats(offset).reshape(batch * heads, dim)
        octets = np.zeros((batch * heads, rows, 4 * codec.words), np.uint8)
        norms = np.zeros((batch * heads, rows), np.float32)
        encode(
            data,
            shift,
            fold,
            constants.mixer,
            constants.centroids,
            constants.boundaries,
            codec.bits,
            np.array(TRIALS[: codec.trials], np.float32),
            codec.norm == "matched",
            octets,
            norms,
        )
        return Packed(
            mx.array(octets.view(np.uint32).reshape(batch, heads, rows, -1)),
            mx.array(norms.reshape(batch, heads, rows)).astype(mx.float16),
        )

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array:
        if isinstance(codec, SplitCodec):
            return super().dequantise(packed, codec, dtype)
        *lead, words = packed.words.shape
        out = np.empty((int(np.prod(lead)), codec.dim), np.float32)
        dequantise(
            np.ascontiguousarray(np.asarray(packed.words)).reshape(-1, words),
            _floats(packed.norms).reshape(-1),
            _constants(codec).centroids,
            codec.bits,
            out,
        )
        return mx.array(out.reshape(*lead, codec.dim)).astype(dtype)

    def attend(
        self, queries: mx.array, kv: Stretches, scale: float, mask: mx.array | str | None, sinks: mx.array | None
    ) -> mx.array:
        batch, query_heads, length, key_dim = queries.shape
        sixteen = kv.tail_keys.array is not None and kv.tail_keys.array.dtype.size == 2
        split = isinstance(kv.body_keys, PackedBuffer) and isinstance(kv.body_keys.codec, SplitCodec)
        if length > MAX_ROWS or isinstance(mask, mx.array) or not sixteen or split:
            return super().attend(queries, kv, scale, mask, sinks)
        assert kv.tail_keys.array is not None
        assert kv.tail_values.array is not None
        heads, value_dim = kv.tail_keys.array.shape[1], kv.tail_values.array.shape[-1]
        group = query_heads // heads
        rows = group * length
        # numba reads the arrays where they lie, so they must be computed first
        mx.eval(queries, *[a for b in _buffers(kv) for a in b.arrays()])
        q = _floats(queries).reshape(batch * heads, rows, key_dim) * np.float32(scale * LOG2_E)
        keys, values = kv.body_keys, kv.body_values
        key_mixer, fold = _rotation(keys)
        value_mixer, value_signs = _rotation(values)
        packed_keys = isinstance(keys, PackedBuffer) and keys.count
        if packed_keys and kv.channel_scale is not None:
            fold = fold / _floats(kv.channel_scale).reshape(batch * heads, key_dim)
        lifted, starts = np.zeros((batch * heads, rows, 1), np.float32), [0]
        if packed_keys and kv.offsets is not None:
            offsets = _floats(kv.offsets).reshape(batch * heads, -1, key_dim)
            lifted, starts = np.ascontiguousarray(q @ offsets.transpose(0, 2, 1)), list(kv.segment_starts)
        sink = np.full((batch * heads, rows), LOWEST, np.float32)
        if sinks is not None:
            per_head = _floats(sinks).reshape(heads, group) * np.float32(LOG2_E)
            sink = np.ascontiguousarray(np.tile(np.repeat(per_head, length, axis=1), (batch, 1)))
        newest = np.arange(length - 1, -1, -1) if mask == "causal" else np.zeros(1, np.int64)
        counts = np.array([[kv.first_keys.count], [kv.tail_keys.count], [values.count]])
        begins = np.array([[0], [kv.tokens - kv.tail_keys.count], [kv.first_keys.count]])
        limits = np.minimum(kv.tokens - newest - begins, counts)
        # enough pieces for every core, and none shorter than a few blocks
        pieces = max(1, min(-(-2 * numba.get_num_threads() // (batch * heads)), kv.tokens // (4 * TOKENS)))
        out = np.zeros((batch * heads, rows, value_dim), np.float32)
        attend(
            q,
            fold,
            key_mixer,
            lifted,
            np.array([*starts, values.count], np.int64),
            *map(_stretch, _buffers(kv)),
            value_mixer,
            value_signs[0],
            kv.tail_keys.array.dtype == mx.bfloat16,
            limits,
            sink,
            np.full((batch * heads, pieces, rows), LOWEST, np.float32),
            np.zeros((batch * heads, pieces, rows), np.float32),
            _room(batch * heads, pieces, rows + 4, key_dim),
            _room(batch * heads, pieces, 2 * rows + 4, value_dim),
            _room(batch * heads, pieces, rows + 1, TOKENS),
            out,
        )
        return mx.array(out.reshape(batch, query_heads, length, value_dim)).astype(queries.dtype)


def _buffers(kv: Stretches) -> list[Any]:
    return [kv.first_keys, kv.first_values, kv.body_keys, kv.body_values, kv.tail_keys, kv.tail_values]


def _stretch(buffer: Buffer | PackedBuffer) -> tuple[Any, Any, Any, F32, int]:
    """(raw, words, norms, table, bits) where they lie: the bit patterns of 16-bit numbers, the capacity as stride."""
    if buffer.count == 0:
        return _NO_HALVES, _NO_WORDS, _NO_HALVES[0], _NO_TABLE[0], 0
    if isinstance(buffer, Buffer):
        assert buffer.array is not None
        array = buffer.array
        bits = np.asarray(array).view(np.uint16) if array.dtype == mx.float16 else np.asarray(array.view(mx.uint16))
        return bits.reshape(-1, *array.shape[2:]), _NO_WORDS, _NO_HALVES[0], _NO_TABLE[0], 0
    words, norms = buffer.words.array, buffer.norms.array
    assert words is not None
    assert norms is not None
    return (
        _NO_HALVES,
        np.asarray(words).reshape(-1, *words.shape[2:]),
        np.asarray(norms).view(np.uint16).reshape(-1, norms.shape[2]),
        _constants(buffer.codec).centroids,
        buffer.codec.bits,
    )


def _rotation(buffer: Buffer | PackedBuffer) -> tuple[F32, F32]:
    """(mixer, signs (1, dim)) of packed vectors; of one entry each where there are none."""
    if isinstance(buffer, Buffer) or buffer.count == 0:
        return _NO_TABLE, _NO_TABLE
    constants = _constants(buffer.codec)
    return constants.mixer, constants.signs


def _room(*shape: int) -> F32:
    """Zeros that begin where a cache line does: rows that straddle two take twice as long."""
    memory = np.zeros(math.prod(shape) + 16, np.float32)
    start = -memory.__array_interface__["data"][0] % 64 // memory.itemsize
    return memory[start : start + math.prod(shape)].reshape(shape)


def _floats(array: mx.array) -> F32:
    """As float32; NumPy converts float16, because a computation of MLX costs more than a small array is worth."""
    if array.dtype == mx.bfloat16:
        array = array.astype(mx.float32)
    return np.ascontiguousarray(np.asarray(array), np.float32)


class _Constants(NamedTuple):
    """A codec's arrays as the loops want them; signs (1, dim)."""

    mixer: F32
    signs: F32
    centroids: F32
    boundaries: F32


@cache
def _constants(codec: Codec) -> _Constants:
    return _Constants(
        _floats(codec.rotation.mixer),
        _floats(codec.rotation.signs)[None],
        table(_floats(codec.centroids)),
        table(_floats(codec.boundaries), fill=float(np.finfo(np.float32).max)),
    )
