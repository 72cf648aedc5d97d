"""How long attention over a compressed cache takes, side by side with MLX's own in the same run.

One decode step of one layer: rotation of the query, scores, weighted values, rotation of the result. Candidates take
turns in a changing order, so that a busy machine slows all of them alike, over several caches in rotation, so that none
stays in a processor's cache; the median of their times is reported.
"""

from __future__ import annotations

import platform
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import mlx.core as mx
from mlx_lm.models.base import quantized_scaled_dot_product_attention

from turboquant.cache import TurboQuantCache
from turboquant.codec import key_codec, value_codec

_BUFFER_BYTES = 256 << 20  # of keys and values to rotate over


@dataclass(frozen=True)
class Row:
    """Milliseconds of one layer's decode step over T tokens; None where it wasn't timed."""

    T: int
    head_dim: int
    kv_heads: int
    group: int
    scheme: str
    ours_ms: float
    mlx_fp16_ms: float | None
    mlx_fp32_ms: float | None
    mlx_affine4_ms: float | None


@dataclass(frozen=True)
class Operation:
    """Milliseconds to encode (keys and values) or dequantise `tokens` tokens of one layer."""

    operation: str
    tokens: int
    head_dim: int
    kv_heads: int
    scheme: str
    ms: float


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {mx.default_device()}"


def attention(
    tokens: int,
    schemes: Sequence[str],
    *,
    head_dim: int = 128,
    kv_heads: int = 8,
    group: int = 3,
    repeats: int = 15,
    affine: bool = True,
    statistic: Callable[[Sequence[float]], float] = median,
) -> list[Row]:
    """A Row a scheme at `tokens` tokens, all measured together with MLX's attention.

    `statistic` of each candidate's times: the median, or `min` on a machine that others use as well.
    """
    one = 2 * 4 * kv_heads * tokens * head_dim
    copies = max(1, min(4, _BUFFER_BYTES // one))
    scale = head_dim**-0.5
    query = mx.random.normal((1, kv_heads * group, 1, head_dim))
    keys = [mx.random.normal((1, kv_heads, tokens, head_dim)) for _ in range(copies)]
    values = [mx.random.normal((1, kv_heads, tokens, head_dim)) for _ in range(copies)]
    mx.eval(query, keys, values)

    def plain(dtype: mx.Dtype) -> Callable[[int], mx.array]:
        q, k, v = query.astype(dtype), [x.astype(dtype) for x in keys], [x.astype(dtype) for x in values]
        mx.eval(q, k, v)
        return lambda i: mx.fast.scaled_dot_product_attention(q, k[i], v[i], scale=scale)

    def affine4() -> Callable[[int], mx.array]:
        k, v = [mx.quantize(x, bits=4) for x in keys], [mx.quantize(x, bits=4) for x in values]
        mx.eval(k, v)
        return lambda i: quantized_scaled_dot_product_attention(query * 1, k[i], v[i], scale, None, bits=4)

    def compressed(scheme: str) -> Callable[[int], mx.array]:
        caches = [TurboQuantCache(scheme) for _ in range(copies)]
        for cache, k, v in zip(caches, keys, values, strict=True):
            cache.update_and_fetch(k, v)
            cache.calibration.observe(query, kv_heads)
            cache.compress()
        # in the width the cache's raw tokens have, as a model's queries are on a GPU
        q = query if mx.default_device() == mx.cpu else query.astype(mx.float16)
        return lambda i: caches[i].attend(q, scale)

    candidates = {"fp16": plain(mx.float16), "fp32": plain(mx.float32)}
    if affine and head_dim % 64 == 0:
        candidates["affine4"] = affine4()
    candidates |= {scheme: compressed(scheme) for scheme in schemes}
    ms = _race(candidates, copies, repeats, statistic)
    return [
        Row(tokens, head_dim, kv_heads, group, s, ms[s], ms["fp16"], ms["fp32"], ms.get("affine4")) for s in schemes
    ]


def operations(
    schemes: Sequence[str], *, head_dim: int = 128, kv_heads: int = 8, tokens: int = 64
) -> Iterator[Operation]:
    """Encoding a flushed block and dequantising it, per scheme that packs keys and values."""
    x = mx.random.normal((1, kv_heads, tokens, head_dim))
    backend = TurboQuantCache("turbo4").backend
    for name in schemes:
        scheme = TurboQuantCache(name).scheme
        if not (scheme.key_bits and scheme.value_bits):
            continue
        k, v = key_codec(head_dim, scheme.key_bits), value_codec(head_dim, scheme.value_bits)
        packed = backend.encode(x, k), backend.encode(x, v)
        ms = _race(
            {
                "encode": lambda i, k=k, v=v: (backend.encode(x, k), backend.encode(x, v)),  # type: ignore[misc]
                "dequantise": lambda i, k=k, v=v, p=packed: (  # type: ignore[misc]
                    backend.dequantise(p[0], k, mx.float32),
                    backend.dequantise(p[1], v, mx.float32),
                ),
            },
            1,
            15,
        )
        for operation, time_ms in ms.items():
            yield Operation(operation, tokens, head_dim, kv_heads, name, time_ms)


def _race(
    candidates: Mapping[str, Callable[[int], object]],
    copies: int,
    repeats: int,
    statistic: Callable[[Sequence[float]], float] = median,
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        mx.eval(run(0))  # compile and warm up
    order = list(candidates)
    shuffle = random.Random(0).shuffle
    for turn in range(repeats):
        shuffle(order)  # who comes after a large one finds cold caches and sleeping threads
        for name in order:
            begin = time.perf_counter()
            mx.eval(candidates[name](turn % copies))
            times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistic(values) for name, values in times.items()}
