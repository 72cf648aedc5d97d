"""The backend in plain MLX operations: runs everywhere, and says what the others must compute."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from turboquant.codec import Codec, Packed
from turboquant.segments import Buffer, PackedBuffer, Stretches

WORKING_BYTES = 64 << 20  # what one layer's keys and values may take while they are dequantised


class ReferenceBackend:
    """Encodes through `Codec`; attends by dequantising a few kv heads at a time and calling MLX's fast attention."""

    name = "reference"
    notice = ""

    def encode(
        self, x: mx.array, codec: Codec, offset: mx.array | None = None, channel_scale: mx.array | None = None
    ) -> Packed:
        """Packed rows of x (B, H, T, dim); `offset`, `channel_scale` (B, H, dim) as in Codec.encode."""
        return codec.encode(x, offset, channel_scale)

    def dequantise(self, packed: Packed, codec: Codec, dtype: mx.Dtype) -> mx.array:
        """(B, H, T, dim) in rotated space."""
        return codec.decode_rotated(packed, dtype)

    def attend(
        self, queries: mx.array, kv: Stretches, scale: float, mask: mx.array | str | None, sinks: mx.array | None
    ) -> mx.array:
        """softmax(scale * q k^T + mask) v over all stretches, (B, Hq, L, Dv) in the queries' dtype.

        `mask`: None, "causal" (the L queries are the newest tokens), or an array that broadcasts to (B, Hq, L, tokens).
        """
        batch, query_heads = queries.shape[:2]
        kv_heads = kv.tail_keys.view().shape[1]
        group = query_heads // kv_heads
        per_head = 2 * batch * kv.tokens * queries.shape[-1] * mx.float32.size
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
                )
            )
        return outputs[0] if len(outputs) == 1 else mx.concatenate(outputs, axis=1)

    def _attend_heads(
        self,
        queries: mx.array,
        kv: Stretches,
        heads: slice,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
    ) -> mx.array:
        dtype = queries.dtype
        keys, values = kv.body_keys, kv.body_values
        fold = None
        if isinstance(keys, PackedBuffer) and keys.count:
            codec = keys.codec
            signs = codec.rotation.signs
            if kv.channel_scale is not None:
                scales = kv.channel_scale[:, heads].astype(mx.float32)[:, :, None]
                fold, unfold = signs * scales, signs / scales
            else:
                fold, unfold = signs, signs
            body = self.dequantise(_rows(keys.view(), heads), codec, mx.float32)
            if kv.offsets is not None:
                lifted = codec.rotation.forward(kv.offsets[:, heads], fold)
                body = body + lifted[:, :, _segment_of_row(kv.segment_starts, keys.count)]
            group = queries.shape[1] // body.shape[1]
            queries = codec.rotation.forward(queries, mx.repeat(unfold, group, axis=1) if unfold.ndim == 4 else unfold)
            raw = [codec.rotation.forward(b.view()[:, heads], fold) for b in (kv.first_keys, kv.tail_keys) if b.count]
            all_keys = _ordered(raw, body, bool(kv.first_keys.count))
        else:
            stretches = [b for b in (kv.first_keys, keys, kv.tail_keys) if b.count]
            all_keys = mx.concatenate([b.view()[:, heads] for b in stretches if isinstance(b, Buffer)], axis=2)
        if isinstance(values, PackedBuffer) and values.count:
            rotation = values.codec.rotation
            body = self.dequantise(_rows(values.view(), heads), values.codec, mx.float32)
            raw = [rotation.forward(b.view()[:, heads]) for b in (kv.first_values, kv.tail_values) if b.count]
            all_values = _ordered(raw, body, bool(kv.first_values.count))
        else:
            rotation = None
            stretches = [b for b in (kv.first_values, values, kv.tail_values) if b.count]
            all_values = mx.concatenate([b.view()[:, heads] for b in stretches if isinstance(b, Buffer)], axis=2)
        out = mx.fast.scaled_dot_product_attention(
            queries.astype(dtype),
            all_keys.astype(dtype),
            all_values.astype(dtype),
            scale=scale,
            mask=mask,
            sinks=sinks,
        )
        return out if rotation is None else rotation.inverse(out).astype(dtype)


def _rows(packed: Packed, heads: slice) -> Packed:
    return Packed(packed.words[:, heads], packed.norms[:, heads])


def _ordered(raw: list[mx.array], body: mx.array, has_first: bool) -> mx.array:
    return mx.concatenate([*raw[:has_first], body, *raw[has_first:]], axis=2)


def _heads_of(mask: mx.array | str | None, rows: slice) -> mx.array | str | None:
    if isinstance(mask, mx.array) and mask.ndim == 4 and mask.shape[1] > 1:
        return mask[:, rows]
    return mask


def _segment_of_row(starts: tuple[int, ...], rows: int) -> mx.array:
    return mx.array(np.repeat(np.arange(len(starts)), np.diff([*starts, rows])))
