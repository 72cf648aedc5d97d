"""The backend in plain MLX operations: runs everywhere, and says what the others must compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from turboquant.backends import tiles
from turboquant.codec import MAX_NORM, Codec, Packed
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import AnyCodec

Part = Literal["keys", "values"]

WORKING_BYTES = 64 << 20  # what one layer's keys and values may take while they are dequantised

ENCODED_AT_ONCE = 1 << 18  # coordinates: every trial of theirs is held in float32


class ReferenceBackend:
    """Encodes through `Codec`; attends by dequantising a few kv heads at a time and calling MLX's fast attention."""

    name = "reference"
    notice = ""
    leaves_raw = False  # on a CPU MLX lays all scores out at once

    def encode(
        self,
        x: mx.array,
        codec: AnyCodec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed:
        """Packed rows of x (B, H, T, dim); `offset`, `channel_scale`, `channel_order` (B, H, dim) as in the codecs."""
        step = max(ENCODED_AT_ONCE // (x.size // x.shape[2]), 1) if x.shape[2] else 1
        if x.shape[2] <= step:
            return codec.encode(x, offset, channel_scale, channel_order)
        blocks = []
        for row in range(0, x.shape[2], step):
            blocks.append(codec.encode(x[:, :, row : row + step], offset, channel_scale, channel_order))
            mx.eval(blocks[-1])  # the trials of one block are gone before the next one's begin
        return Packed(
            mx.concatenate([b.words for b in blocks], axis=2), mx.concatenate([b.norms for b in blocks], axis=2)
        )

    def encode_pair(
        self,
        keys: mx.array,
        key_codec: AnyCodec,
        values: mx.array,
        value_codec: Codec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> tuple[Packed, Packed]:
        """Keys and values of the same tokens; `offset`, `channel_scale` and `channel_order` are the keys'."""
        key_rows = self.encode(keys, key_codec, offset, channel_scale, channel_order)
        return key_rows, self.encode(values, value_codec)

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array:
        """(B, H, T, dim) in rotated space."""
        return codec.decode_rotated(packed, dtype)

    def attend(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        """softmax(scale * q k^T + mask) v over what is visible, (B, Hq, L, Dv) in the queries' dtype.

        With a `soft_cap` c, scores s are c tanh(s / c) before the mask.

        `mask`: None, "causal" (the L queries are the newest tokens), or an array that broadcasts to (B, Hq, L,
        visible).
        """
        batch, query_heads = queries.shape[:2]
        tail = kv.tail_keys.array
        assert tail is not None
        kv_heads = tail.shape[1]
        raw = kv.body_values.count == 0 and tail.dtype == queries.dtype
        if raw and not soft_cap and not kv.hidden and not kv.first_keys.count:  # where they lie: nothing to lay out
            return _attend_laid_out(queries, kv.tail_keys.view(), kv.tail_values.view(), scale, mask, sinks)
        group = query_heads // kv_heads
        per_head = 2 * batch * kv.visible * queries.shape[-1] * self._laid_out_size(kv, queries.dtype)
        step = max(1, min(kv_heads, WORKING_BYTES // max(per_head, 1)))
        outputs = []
        for h in range(0, kv_heads, step):
            heads = slice(h, min(h + step, kv_heads))
            rows = slice(heads.start * group, heads.stop * group)
            outputs.append(
                self._attend_heads(
                    queries[:, rows],
                    kv,
                    heads,
                    scale,
                    _heads_of(mask, rows),
                    None if sinks is None else sinks[rows],
                    soft_cap,
                )
            )
        return outputs[0] if len(outputs) == 1 else mx.concatenate(outputs, axis=1)

    def _laid_out_size(self, kv: Stretches, dtype: mx.Dtype) -> int:
        """Bytes that a coordinate takes while it is laid out."""
        return mx.float32.size

    def _attend_heads(
        self,
        queries: mx.array,
        kv: Stretches,
        heads: slice,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float,
    ) -> mx.array:
        dtype = queries.dtype
        keys, values = kv.body_keys, kv.body_values
        if isinstance(keys, PackedBuffer) and keys.count:
            queries = self._rotated_queries(queries, kv, heads)
        queries = queries.astype(dtype)

        def rows(begin: int, end: int) -> tuple[mx.array, mx.array]:
            return visible("keys", begin, end), visible("values", begin, end)

        def visible(part: Part, begin: int, end: int) -> mx.array:
            parts = [self._rows(kv, part, heads, low, high, dtype) for low, high in _held(kv, begin, end)]
            return parts[0] if len(parts) == 1 else mx.concatenate(parts, axis=2)

        assert kv.tail_values.array is not None
        value_dim = kv.tail_values.array.shape[-1]
        row_bytes = queries.shape[0] * (heads.stop - heads.start) * (queries.shape[-1] + value_dim) * dtype.size
        if row_bytes * kv.visible <= WORKING_BYTES and not soft_cap:
            out = _attend_laid_out(queries, *rows(0, kv.visible), scale, mask, sinks)
        else:
            column_bytes = 3 * mx.float32.size * queries.size // queries.shape[-1]  # scores, weights, mask
            tile = max(WORKING_BYTES // (row_bytes + column_bytes), 1)
            out = tiles.attend(queries, rows, kv.visible, tile, scale, mask, sinks, soft_cap).astype(dtype)
        if isinstance(values, PackedBuffer) and values.count:
            assert isinstance(values.codec, Codec)
            out = self._unrotated(out, values.codec).astype(dtype)
        return out

    def _rotated_queries(self, queries: mx.array, kv: Stretches, heads: slice) -> mx.array:
        """Queries of some kv heads' groups, in the space of packed keys."""
        assert isinstance(kv.body_keys, PackedBuffer)
        scale_of, order = _channels(kv, heads)
        reciprocal = None if scale_of is None else 1 / scale_of.astype(mx.float32)
        group = queries.shape[1] // (heads.stop - heads.start)
        return kv.body_keys.codec.rotate(queries, *_for_group(group, reciprocal, order))

    def _unrotated(self, out: mx.array, codec: Codec) -> mx.array:
        """What attention made of packed values, out of their space."""
        return codec.rotation.inverse(out)

    def _rows(self, kv: Stretches, part: Part, heads: slice, begin: int, end: int, dtype: mx.Dtype) -> mx.array:
        """Keys or values of some heads and tokens, (B, heads, end - begin, dim): rotated where they are packed."""
        stretches = stretches_of(kv, part)
        if isinstance(stretches[1], PackedBuffer) and stretches[1].count:
            return self._rotated(kv, part, heads, begin, end, dtype)
        parts = [
            buffer.view(low, high)[:, heads]
            for buffer, low, high in _within(stretches, begin, end)
            if isinstance(buffer, Buffer)
        ]
        return mx.concatenate(parts, axis=2).astype(dtype)

    def _rotated(self, kv: Stretches, part: Part, heads: slice, begin: int, end: int, dtype: mx.Dtype) -> mx.array:
        """As `_rows`, of packed keys or values: raw tokens are rotated to lie beside the packed ones."""
        stretches = stretches_of(kv, part)
        body = stretches[1]
        assert isinstance(body, PackedBuffer)
        codec = body.codec
        channels = _channels(kv, heads) if part == "keys" else (None, None)
        parts = []
        for buffer, low, high in _within(stretches, begin, end):
            if isinstance(buffer, Buffer):
                parts.append(codec.rotate(buffer.view(low, high)[:, heads], *channels))
                continue
            rows = self.dequantise(_heads_of_packed(buffer.view(low, high), heads), codec, mx.float32)
            if part == "keys" and kv.offsets is not None:
                lifted = codec.rotate(kv.offsets[:, heads], *channels)
                rows = rows + lifted[:, :, _segment_of_row(kv.segment_starts, body.count)[low:high]]
            if part == "keys" and kv.key_bias is not None:
                start = kv.position
                bias = kv.key_bias.rows(start + low, start + high, kv.tail_keys.view().shape[1])[:, heads]
                rows = rows + codec.rotate(mx.broadcast_to(bias, rows.shape), *channels)
            parts.append(rows)
        rotated = mx.concatenate(parts, axis=2)
        if dtype == mx.float16:  # a rotation may gather a whole vector's length in one coordinate
            rotated = mx.clip(rotated, -MAX_NORM, MAX_NORM)
        return rotated.astype(dtype)


def stretches_of(kv: Stretches, part: Part) -> tuple[Buffer, Buffer | PackedBuffer, Buffer]:
    """First tokens, body and tail of the keys or of the values."""
    if part == "keys":
        return kv.first_keys, kv.body_keys, kv.tail_keys
    return kv.first_values, kv.body_values, kv.tail_values


def _channels(kv: Stretches, heads: slice) -> tuple[mx.array | None, mx.array | None]:
    """The keys' channel scale and order, of some kv heads."""
    scale, order = kv.channel_scale, kv.channel_order
    return None if scale is None else scale[:, heads], None if order is None else order[:, heads]


def _for_group(group: int, *arrays: mx.array | None) -> Iterator[mx.array | None]:
    """What belongs to kv heads (B, H, D), for their query heads (B, H * group, D)."""
    return (None if array is None else mx.repeat(array, group, axis=1) for array in arrays)


def _attend_laid_out(
    queries: mx.array, keys: mx.array, values: mx.array, scale: float, mask: mx.array | str | None, sinks: Any
) -> mx.array:
    """MLX's attention; on a CPU, where it lays all scores out, for so many queries at a time as there is room for."""
    batch, heads, length, _ = queries.shape
    tokens = keys.shape[2]
    step = length
    if mx.default_device() == mx.cpu:
        step = max(WORKING_BYTES // (2 * mx.float32.size * batch * heads * tokens), 1)
    if step >= length:
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)
    outputs = []
    for row in range(0, length, step):
        stop = min(row + step, length)
        seen, part = tokens, mask
        if isinstance(mask, str):
            seen = tokens - (length - stop)
        elif mask is not None and mask.ndim > 1 and mask.shape[-2] > 1:
            part = mask[..., row:stop, :]
        outputs.append(
            mx.fast.scaled_dot_product_attention(
                queries[:, :, row:stop], keys[:, :, :seen], values[:, :, :seen], scale=scale, mask=part, sinks=sinks
            )
        )
        mx.eval(outputs[-1])  # the scores of one step are gone before the next one's are there
    return mx.concatenate(outputs, axis=2)


def _held(kv: Stretches, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Which tokens held the visible ones begin..end are: those before and those behind the hidden ones."""
    first = kv.first_keys.count if kv.hidden else kv.tokens
    for low, high, hidden in ((begin, min(end, first), 0), (max(begin, first), end, kv.hidden)):
        if low < high:
            yield low + hidden, high + hidden


def _within(
    stretches: tuple[Buffer | PackedBuffer, ...], begin: int, end: int
) -> Iterator[tuple[Buffer | PackedBuffer, int, int]]:
    """Which rows of which stretch the tokens begin..end are, in order."""
    start = 0
    for buffer in stretches:
        low, high = max(begin - start, 0), min(end - start, buffer.count)
        if low < high:
            yield buffer, low, high
        start += buffer.count


def _heads_of_packed(packed: Packed, heads: slice) -> Packed:
    return Packed(packed.words[:, heads], packed.norms[:, heads])


def _heads_of(mask: mx.array | str | None, rows: slice) -> mx.array | str | None:
    if isinstance(mask, mx.array) and mask.ndim == 4 and mask.shape[1] > 1:
        return mask[:, rows]
    return mask


def _segment_of_row(starts: tuple[int, ...], rows: int) -> mx.array:
    return mx.array(np.repeat(np.arange(len(starts)), np.diff([*starts, rows])))
