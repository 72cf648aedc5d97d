"""A cache filled by hand, what it holds, and attention over that in float64."""

from itertools import pairwise

import mlx.core as mx
import numpy as np

from turboquant.backends.base import Backend
from turboquant.cache import TurboQuantCache
from turboquant.calibration import Calibration
from turboquant.codec import key_codec, value_codec
from turboquant.segments import Buffer, PackedBuffer, Stretches


def normal(*shape: int, seed: int = 0, dtype: mx.Dtype = mx.float32) -> mx.array:
    return mx.array(np.random.RandomState(seed).standard_normal(shape).astype(np.float32)).astype(dtype)


def attend(cache: TurboQuantCache, queries: mx.array, scale: float = 1.0) -> mx.array:
    """As a model does."""
    mask = "causal" if queries.shape[2] > 1 else None
    return cache.attend_fetched(queries, *cache.keys_and_values(), scale, mask, None)


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


def error_at_a_million(backend: Backend, key_bits: int, value_bits: int, dim: int = 64, rows: int = 1 << 20) -> float:
    """Of attention over so many packed tokens of which all but a few are zero, so that float64 is quick to tell.

    The few lie at the ends and where 16 bits end; half of the weight is theirs.
    """
    places = mx.array([0, 1, 65535, 65536, rows // 2, rows - 1])
    query = normal(1, 1, 1, dim, dtype=mx.float16)
    toward = query.astype(mx.float32) + 0.1 * normal(1, 1, places.size, dim, seed=1)
    buffers, known = [], []
    for codec, vectors in (
        (key_codec(dim, key_bits), toward),
        (value_codec(dim, value_bits), normal(1, 1, places.size, dim, seed=2)),
    ):
        packed, buffer = codec.encode(vectors), PackedBuffer(codec)
        for side, few in ((buffer.words, packed.words), (buffer.norms, packed.norms)):
            array = mx.zeros((1, 1, rows + 256, *few.shape[3:]), few.dtype)
            array[:, :, places] = few
            side.array, side.count = array, rows
        buffers.append(buffer)
        known.append(np.array(codec.decode(packed), np.float64)[0, 0])
    tail = Buffer(), Buffer()
    for side in tail:
        side.append(mx.zeros((1, 1, 12, dim), mx.float16))
    products = known[0] @ np.array(query, np.float64)[0, 0, 0]
    scale = float(np.log(rows / places.size) / products.mean())
    weights = np.exp(scale * products)
    want = weights @ known[1] / (weights.sum() + rows - places.size + tail[0].count)
    got = backend.attend(query, Stretches(Buffer(), Buffer(), *buffers, *tail), scale, None, None)
    return float(np.abs(np.array(got, np.float64)[0, 0, 0] - want).max() / np.abs(want).max())


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
