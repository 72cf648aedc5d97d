"""Attention over more tokens than may be laid out at once: tile by tile, merged by log-sum-exp."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx

LOWEST = -1e30  # below every score, and finite, so that a row that sees nothing of a tile stays a number


def attend(
    queries: mx.array,
    rows: Callable[[int, int], tuple[mx.array, mx.array]],
    tokens: int,
    tile: int,
    scale: float,
    mask: mx.array | str | None,
    sinks: mx.array | None,
    soft_cap: float = 0.0,
) -> mx.array:
    """softmax(scale * q k^T + mask) v as mx.fast.scaled_dot_product_attention has it, (B, Hq, L, Dv) float32.

    With a `soft_cap` c, scores s are c tanh(s / c) before the mask.
    `rows(begin, end)` gives the keys and values (B, H, end - begin, D) of those tokens. Each tile is evaluated before
    the next one is laid out, so that no two exist at a time.
    """
    batch, query_heads, length, _ = queries.shape
    acc: mx.array | None = None
    for begin in range(0, tokens, tile):
        end = min(begin + tile, tokens)
        keys, values = rows(begin, end)
        heads = keys.shape[1]
        grouped = (batch, heads, query_heads // heads, length)
        if acc is None:
            q = queries.astype(mx.float32).reshape(*grouped, -1) * scale
            acc = mx.zeros((*grouped, values.shape[-1]))
            if sinks is None:
                top, total = mx.full((*grouped, 1), LOWEST), mx.zeros((*grouped, 1))
            else:
                top = mx.broadcast_to(sinks.astype(mx.float32).reshape(1, heads, -1, 1, 1), (*grouped, 1))
                total = mx.ones((*grouped, 1))
        scores = q @ keys.astype(mx.float32)[:, :, None].swapaxes(-1, -2)
        if soft_cap:
            scores = soft_cap * mx.tanh(scores / soft_cap)
        scores = _masked(scores, mask, begin, end, tokens)
        risen = mx.maximum(top, scores.max(axis=-1, keepdims=True))
        weights = mx.exp(scores - risen)
        kept = mx.exp(top - risen)
        acc = acc * kept + weights @ values.astype(mx.float32)[:, :, None]
        total = total * kept + weights.sum(axis=-1, keepdims=True)
        top = risen
        mx.eval(acc, total, top)
    assert acc is not None
    return (acc / total).reshape(batch, query_heads, length, -1)


def _masked(scores: mx.array, mask: mx.array | str | None, begin: int, end: int, tokens: int) -> mx.array:
    """`scores` (B, H, group, L, end - begin) under the columns begin..end of `mask`."""
    if mask is None:
        return scores
    batch, heads, group, length, _ = scores.shape
    if isinstance(mask, str):
        newest = mx.arange(tokens - length, tokens)[:, None]
        return mx.where(mx.arange(begin, end) <= newest, scores, LOWEST)
    part = mx.broadcast_to(mask, (batch, heads * group, length, tokens))[..., begin:end].reshape(scores.shape)
    return mx.where(part, scores, LOWEST) if part.dtype == mx.bool_ else mx.maximum(scores + part, LOWEST)
