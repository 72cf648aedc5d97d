"""The backend for machines without a GPU: numba loops over the packed arrays in place, on every core.

MLX's own attention on a CPU streams 16 or 32 bits a coordinate; reading 2 to 8 is what makes this one faster.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numba
import numpy as np
from numpy.typing import NDArray

from turboquant.backends import cpu_kernels as kernels
from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import TRIALS, Codec, Packed
from turboquant.rotation import Rotation, factors
from turboquant.segments import Buffer, PackedBuffer, Stretches

MAX_ROWS = 8  # query rows a kv head's tokens are unpacked for at once; longer steps are prefill, where BLAS wins

F32 = NDArray[np.float32]
_NO_WORDS = np.zeros((1, 1, 1), np.uint32)
_NO_HALVES = np.zeros((1, 1, 1), np.uint16)
_NO_TABLE = np.zeros(1, np.float32)


class NumbaBackend(ReferenceBackend):
    """Encode, dequantise and decode attention in numba; longer queries as the reference attends."""

    name = "numba"

    def encode(
        self, x: mx.array, codec: Codec, offset: mx.array | None = None, channel_scale: mx.array | None = None
    ) -> Packed:
        batch, heads, rows, dim = x.shape
        data = _numpy(x.astype(mx.float32)).reshape(batch * heads, rows, dim)
        fold = np.broadcast_to(_numpy(codec.rotation.signs), (batch * heads, dim))
        if channel_scale is not None:
            fold = fold * _numpy(channel_scale.astype(mx.float32)).reshape(batch * heads, dim)
        shift = np.zeros((batch * heads, dim), np.float32)
        if offset is not None:
            shift = _numpy(offset.astype(mx.float32)).reshape(batch * heads, dim)
        words = np.zeros((batch * heads, rows, codec.words), np.uint32)
        norms = np.zeros((batch * heads, rows), np.float32)
        kernels.encode(
            data,
            shift,
            np.ascontiguousarray(fold),
            *_rotation(codec.rotation),
            _numpy(codec.centroids),
            _numpy(codec.boundaries),
            codec.bits,
            np.array(TRIALS[: codec.trials], np.float32),
            codec.norm == "matched",
            words,
            norms,
        )
        return Packed(
            mx.array(words.reshape(batch, heads, rows, -1)),
            mx.array(norms.reshape(batch, heads, rows)).astype(mx.float16),
        )

    def dequantise(self, packed: Packed, codec: Codec, dtype: mx.Dtype) -> mx.array:
        *lead, words = packed.words.shape
        out = np.empty((int(np.prod(lead)), codec.dim), np.float32)
        kernels.dequantise(
            _numpy(packed.words).reshape(-1, words),
            _numpy(packed.norms.astype(mx.float32)).reshape(-1),
            _numpy(codec.centroids),
            codec.bits,
            out,
        )
        return mx.array(out.reshape(*lead, codec.dim)).astype(dtype)

    def attend(
        self, queries: mx.array, kv: Stretches, scale: float, mask: mx.array | str | None, sinks: mx.array | None
    ) -> mx.array:
        batch, query_heads, length, key_dim = queries.shape
        sixteen = kv.tail_keys.array is not None and kv.tail_keys.array.dtype.size == 2
        if length > MAX_ROWS or isinstance(mask, mx.array) or not sixteen:
            return super().attend(queries, kv, scale, mask, sinks)
        assert kv.tail_keys.array is not None
        assert kv.tail_values.array is not None
        heads, value_dim = kv.tail_keys.array.shape[1], kv.tail_values.array.shape[-1]
        group = query_heads // heads
        rows = group * length
        # numba reads the arrays where they lie, so they must be computed first
        q = _numpy(queries.astype(mx.float32) * scale).reshape(batch * heads, rows, key_dim)
        mx.eval(*[a for b in _buffers(kv) for a in b.arrays()])
        rotated, lifted = _rotated_queries(q, kv)
        keys, values = kv.body_keys, kv.body_values
        key_words, key_norms, key_table, key_bits = _packed(keys)
        value_words, value_norms, value_table, value_bits = _packed(values)
        raw_body = keys.array if isinstance(keys, Buffer) and keys.count else None
        sink = np.full((batch * heads, rows), -np.inf, np.float32)
        if sinks is not None:
            per_head = _numpy(sinks.astype(mx.float32)).reshape(heads, group)
            sink = np.ascontiguousarray(np.tile(np.repeat(per_head, length, axis=1), (batch, 1)))
        plain = np.zeros((batch * heads, rows, value_dim), np.float32)
        packed_sum = np.zeros_like(plain)
        total = np.zeros((batch * heads, rows), np.float32)
        kernels.attend(
            q,
            rotated,
            lifted,
            np.array([*kv.segment_starts, values.count] if kv.offsets is not None else [0, values.count], np.int64),
            _halves(kv.first_keys.array),
            _halves(kv.first_values.array),
            _halves(raw_body),
            key_words,
            key_norms,
            key_table,
            key_bits,
            value_words,
            value_norms,
            value_table,
            value_bits,
            _halves(kv.tail_keys.array),
            _halves(kv.tail_values.array),
            np.array([kv.first_keys.count, values.count, kv.tail_keys.count], np.int64),
            kv.tail_keys.array.dtype == mx.bfloat16,
            length if mask == "causal" else 1,
            numba.get_num_threads(),
            sink,
            plain,
            packed_sum,
            total,
        )
        if isinstance(values, PackedBuffer) and values.count:
            signs = _numpy(values.codec.rotation.signs)
            kernels.unrotate(packed_sum, *_rotation(values.codec.rotation), signs)
            plain += packed_sum
        plain /= total[..., None]
        return mx.array(plain.reshape(batch, query_heads, length, value_dim)).astype(queries.dtype)


def _rotated_queries(q: F32, kv: Stretches) -> tuple[F32, F32]:
    """Queries as packed keys want them (BH, rows, dim), and q . offset (BH, rows, segments); empty where not needed."""
    keys = kv.body_keys
    if not (isinstance(keys, PackedBuffer) and keys.count):
        return np.zeros((q.shape[0], q.shape[1], 1), np.float32), np.zeros((q.shape[0], q.shape[1], 1), np.float32)
    fold = _numpy(keys.codec.rotation.signs)
    if kv.channel_scale is not None:
        fold = fold / _numpy(kv.channel_scale.astype(mx.float32)).reshape(q.shape[0], 1, -1)
    rotated = np.ascontiguousarray(q * fold)
    kernels.rotate(rotated, *_rotation(keys.codec.rotation))
    if kv.offsets is None:
        return rotated, np.zeros((q.shape[0], q.shape[1], 1), np.float32)
    offsets = _numpy(kv.offsets.astype(mx.float32)).reshape(q.shape[0], -1, q.shape[2])
    return rotated, np.ascontiguousarray(q @ offsets.transpose(0, 2, 1))


def _rotation(rotation: Rotation) -> tuple[int, F32]:
    return factors(rotation.dim)[0], _numpy(rotation.mixer)


def _buffers(kv: Stretches) -> list[Any]:
    return [kv.first_keys, kv.first_values, kv.body_keys, kv.body_values, kv.tail_keys, kv.tail_values]


def _packed(buffer: Buffer | PackedBuffer) -> tuple[Any, Any, F32, int]:
    """(words, norms as uint16, centroids, bits) with the capacity as stride; bits 0 where nothing is packed."""
    if isinstance(buffer, Buffer) or not buffer.count:
        return _NO_WORDS, _NO_HALVES[0], _NO_TABLE, 0
    words, norms = buffer.words.array, buffer.norms.array
    assert words is not None
    assert norms is not None
    return (
        np.asarray(words).reshape(-1, *words.shape[2:]),
        np.asarray(norms).view(np.uint16).reshape(-1, norms.shape[2]),
        _numpy(buffer.codec.centroids),
        buffer.codec.bits,
    )


def _halves(array: mx.array | None) -> NDArray[np.uint16]:
    """(BH, capacity, dim) of the bit patterns, not copied."""
    if array is None:
        return _NO_HALVES
    return np.asarray(array.view(mx.uint16)).reshape(-1, *array.shape[2:])


def _numpy(array: mx.array) -> Any:
    return np.ascontiguousarray(np.asarray(array))
