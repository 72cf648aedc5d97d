"""A cache filled by hand, what it holds, and attention over that in float64."""

from itertools import pairwise

import mlx.core as mx
import numpy as np

from turboquant.cache import TurboQuantCache
from turboquant.calibration import Calibration
from turboquant.segments import Buffer, PackedBuffer


def normal(*shape: int, seed: int = 0, dtype: mx.Dtype = mx.float32) -> mx.array:
    return mx.array(np.random.RandomState(seed).standard_normal(shape).astype(np.float32)).astype(dtype)


def attend(cache: TurboQuantCache, queries: mx.array, scale: float = 1.0) -> mx.array:
    """As a model does, but for the keys: those matter by their shape alone."""
    rows = queries.shape[2]
    fetched = mx.zeros((1, cache.tail_keys.view().shape[1], cache.offset, queries.shape[-1]))
    return cache.attend_fetched(queries, fetched, fetched, scale, "causal" if rows > 1 else None, None)


def decoded(cache: TurboQuantCache) -> tuple[np.ndarray, np.ndarray]:
    """Every key and value that the cache holds, (B, H, T, D) float64."""
    sides = []
    for first, body, tail in (
        (cache.first_keys, cache.body_keys, cache.tail_keys),
        (cache.first_values, cache.body_values, cache.tail_values),
    ):
        parts = [first.view()] if first.count else []
        if isinstance(body, PackedBuffer) and body.count:
            starts = cache.calibration.segment_starts if body is cache.body_keys else ()
            offsets = cache.calibration.offsets if body is cache.body_keys else None
            statistics = cache.calibration if body is cache.body_keys else Calibration()
            scale, order = statistics.channel_scale, statistics.channel_order
            bounds = [*(starts or (0,)), body.count]
            for g, (start, stop) in enumerate(pairwise(bounds)):
                offset = None if offsets is None else offsets[:, :, g]
                parts.append(body.codec.decode(body.view(start, stop), offset, scale, order))
        elif isinstance(body, Buffer) and body.count:
            parts.append(body.view())
        parts += [tail.view()] if tail.count else []
        sides.append(np.concatenate([np.array(p.astype(mx.float32), np.float64) for p in parts], axis=2))
    return sides[0], sides[1]


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, sinks: np.ndarray | None = None) -> np.ndarray:
    """Float64; the L queries are the newest tokens."""
    group, length, tokens = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = scale * q @ k.swapaxes(-1, -2)
    scores[..., np.arange(tokens) > np.arange(tokens - length, tokens)[:, None]] = -np.inf
    top = scores.max(-1, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks[None, :, None, None])
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[None, :, None, None] - top)
    return weights / total @ v
