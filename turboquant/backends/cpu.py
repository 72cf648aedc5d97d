"""The backend for machines without a GPU: numba loops over the packed arrays in place, on every core.

MLX's own attention on a CPU streams 16 or 32 bits a coordinate; reading 2 to 8 is what makes this one faster.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from turboquant.backends.cpu_kernels.layout import LOWEST, TOKENS, table
from turboquant.backends.cpu_kernels.loops import attend, dequantise, encode, threads
from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import TRIALS, Packed
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import STEPS, UNIT, AnyCodec, SplitCodec

MAX_ROWS = 8  # query rows a kv head's tokens are unpacked for at once; longer steps are prefill, where BLAS wins
LOG2_E = 1.4426950408889634  # the loops count scores in bits

F32 = NDArray[np.float32]
_NO_WORDS = np.zeros((1, 1, 1), np.uint32)
_NO_HALVES = np.zeros((1, 1, 1), np.uint16)
_NO_TABLE = np.zeros((1, 1, 1), np.float32)
_NO_ORDER = np.zeros((1, 1), np.int64)


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
        batch, heads, rows, dim = x.shape
        constants = _constants(codec)
        order = _order(codec, channel_order, batch * heads)
        fold = np.tile(constants.signs, (batch * heads, 1))
        if channel_scale is not None:
            fold *= _in_slots(channel_scale, order)
        shift = np.zeros((batch * heads, dim), np.float32) if offset is None else _in_slots(offset, order)
        octets = np.zeros((batch * heads, rows, 4 * codec.words), np.uint8)
        norms = np.zeros((batch * heads, rows, len(constants.mixers)), np.float32)
        encode(
            _floats(x).reshape(batch * heads, rows, dim),
            order,
            shift,
            fold,
            constants.mixers,
            constants.centroids,
            constants.boundaries,
            constants.widths,
            np.array(TRIALS, np.float32),
            constants.counts,
            constants.matched,
            octets,
            norms,
        )
        stored = _norm_bytes(norms) if isinstance(codec, SplitCodec) else norms[..., 0].astype(np.float16)
        return Packed(
            mx.array(octets.view(np.uint32).reshape(batch, heads, rows, -1)),
            mx.array(stored.reshape(batch, heads, rows)),
        )

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array:
        *lead, words = packed.words.shape
        out = np.empty((math.prod(lead), codec.dim), np.float32)
        dequantise(
            np.ascontiguousarray(np.asarray(packed.words)).reshape(-1, words),
            np.ascontiguousarray(np.asarray(packed.norms)).view(np.uint16).reshape(-1),
            _constants(codec).entries,
            codec.bits,
            isinstance(codec, SplitCodec),
            out,
        )
        return mx.array(out.reshape(*lead, codec.dim)).astype(dtype)

    def attend(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        batch, query_heads, length, key_dim = queries.shape
        sixteen = kv.tail_keys.array is not None and kv.tail_keys.array.dtype.size == 2
        if length > MAX_ROWS or isinstance(mask, mx.array) or not sixteen:
            return super().attend(queries, kv, scale, mask, sinks, soft_cap)
        assert kv.tail_keys.array is not None
        assert kv.tail_values.array is not None
        heads, value_dim = kv.tail_keys.array.shape[1], kv.tail_values.array.shape[-1]
        group = query_heads // heads
        rows = group * length
        # numba reads the arrays where they lie, so they must be computed first
        mx.eval(queries, *[a for b in _buffers(kv) for a in b.arrays()])
        bias = np.zeros((batch * heads, rows, 0), np.float32)
        if kv.key_bias is not None and kv.body_keys.count:
            start = kv.position
            scores = _floats(kv.key_bias.scores(queries, start, start + kv.body_keys.count, heads))
            bias = scores.reshape(batch * heads, rows, -1) * np.float32(scale * LOG2_E)
        q = _floats(queries).reshape(batch * heads, rows, key_dim) * np.float32(scale * LOG2_E)
        keys, values = kv.body_keys, kv.body_values
        key_mixers, fold = _rotation(keys)
        value_mixers, value_signs = _rotation(values)
        order = _NO_ORDER
        lifted, starts = np.zeros((batch * heads, rows, 1), np.float32), [0]
        if isinstance(keys, PackedBuffer) and keys.count:
            order = _order(keys.codec, kv.channel_order, batch * heads)
            if kv.channel_scale is not None:
                fold = fold / _in_slots(kv.channel_scale, order)
            if kv.offsets is not None:
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
        hidden = min(kv.hidden, values.count)
        # enough pieces for every core, and none shorter than a few blocks
        pieces = max(1, min(-(-2 * threads() // (batch * heads)), kv.tokens // (4 * TOKENS)))
        out = np.zeros((batch * heads, rows, value_dim), np.float32)
        attend(
            q,
            order,
            fold,
            key_mixers,
            lifted,
            np.array([*starts, values.count], np.int64),
            bias,
            *map(_stretch, _buffers(kv)),
            value_mixers[0],
            value_signs[0],
            kv.tail_keys.array.dtype == mx.bfloat16,
            limits,
            np.array([0, kv.hidden - hidden, hidden]),
            np.float32(soft_cap * LOG2_E),
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


def _stretch(buffer: Buffer | PackedBuffer) -> tuple[Any, Any, Any, F32, int, bool]:
    """(raw, words, norms, table, bits, split) where they lie: the patterns of 16-bit numbers, capacity as stride."""
    if buffer.count == 0:
        return _NO_HALVES, _NO_WORDS, _NO_HALVES[0], _NO_TABLE[0, 0], 0, False
    if isinstance(buffer, Buffer):
        assert buffer.array is not None
        array = buffer.array
        bits = np.asarray(array).view(np.uint16) if array.dtype == mx.float16 else np.asarray(array.view(mx.uint16))
        return bits.reshape(-1, *array.shape[2:]), _NO_WORDS, _NO_HALVES[0], _NO_TABLE[0, 0], 0, False
    words, norms = buffer.words.array, buffer.norms.array
    assert words is not None
    assert norms is not None
    return (
        _NO_HALVES,
        np.asarray(words).reshape(-1, *words.shape[2:]),
        np.asarray(norms).view(np.uint16).reshape(-1, norms.shape[2]),
        _constants(buffer.codec).entries,
        buffer.codec.bits,
        isinstance(buffer.codec, SplitCodec),
    )


def _rotation(buffer: Buffer | PackedBuffer) -> tuple[F32, F32]:
    """(mixers, signs (1, dim)) of packed vectors; of one entry each where there are none."""
    if isinstance(buffer, Buffer) or buffer.count == 0:
        return _NO_TABLE, _NO_TABLE[0]
    constants = _constants(buffer.codec)
    return constants.mixers, constants.signs


def _order(codec: AnyCodec, channel_order: mx.array | None, heads: int) -> NDArray[np.int64]:
    """The channel (heads, dim) that each of the loops' slots takes: of split keys the upper half's come first."""
    if not isinstance(codec, SplitCodec):
        return np.tile(np.arange(codec.dim), (heads, 1))
    assert channel_order is not None, "split keys need the order of their channels"
    pairs = np.asarray(channel_order).astype(np.int64).reshape(heads, -1, 2)
    return np.ascontiguousarray(pairs.transpose(0, 2, 1)).reshape(heads, -1)


def _norm_bytes(norms: F32) -> NDArray[np.uint16]:
    """Norms (..., 2) of halves as split keys store them, see turboquant/split.py."""
    octets = np.clip(np.rint(np.log2(np.maximum(norms, 1e-30)) * STEPS) + UNIT, 1, 255).astype(np.uint16)
    return np.where(norms.any(axis=-1), octets[..., 0] << 8 | octets[..., 1], 0).astype(np.uint16)


def _in_slots(channels: mx.array, order: NDArray[np.int64]) -> F32:
    """Channels (B, H, dim) in the loops' order, (B * H, dim)."""
    return np.take_along_axis(_floats(channels).reshape(order.shape), order, axis=1)


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
    """A codec's arrays as the loops want them: signs (1, dim) by slot, entries for reading, the rest by part."""

    signs: F32
    entries: F32
    mixers: F32
    centroids: F32
    boundaries: F32
    widths: NDArray[np.int64]
    counts: NDArray[np.int64]
    matched: bool


@cache
def _constants(codec: AnyCodec) -> _Constants:
    parts = (codec.upper, codec.lower) if isinstance(codec, SplitCodec) else (codec,)
    centroids = [_floats(part.centroids) for part in parts]
    size = max(values.size for values in centroids)
    highest = float(np.finfo(np.float32).max)
    return _Constants(
        np.concatenate([_floats(part.rotation.signs) for part in parts])[None],
        # an upper half's up to 5 bits before the rest
        np.concatenate([*(table(values, size=32) for values in centroids[:-1]), table(centroids[-1])]),
        np.stack([_floats(part.rotation.mixer) for part in parts]),
        np.stack([table(values, size=max(size, 16)) for values in centroids]),
        np.stack([table(_floats(part.boundaries), fill=highest, size=max(size, 16)) for part in parts]),
        np.array([part.bits for part in parts]),
        np.array([part.trials for part in parts]),
        parts[0].norm == "matched",
    )
