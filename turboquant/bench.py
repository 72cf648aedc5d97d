"""How long the work on a compressed cache takes, side by side with MLX's own in the same run.

Layers with buffers of their own follow one another as in a model, each one's output the next one's query, so that
nothing stays in a processor's cache. Candidates take turns in a changing order, so that a busy machine slows all of
them alike; the median of their times is reported. On a GPU several such steps are submitted before one is waited for.
"""

from __future__ import annotations

import platform
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import mlx.core as mx
import psutil
from mlx_lm.models.base import quantized_scaled_dot_product_attention
from mlx_lm.models.cache import KVCache

from turboquant import backends
from turboquant.cache import TurboQuantCache
from turboquant.codec import Codec, key_codec, value_codec
from turboquant.schemes import Scheme, parse
from turboquant.segments import Policy
from turboquant.split import AnyCodec, can_split, split_key_codec

GPU_LAYERS, CPU_LAYERS = 16, 4
ASYNC_STEPS = 8  # on a GPU: submitted together
CPU_BYTES = 256 << 20  # of float32 keys and values that the layers share; on a GPU a 16th of what is free
SECONDS = 15.0  # after which a race takes no further turn
TILE = 4096  # tokens that are dequantised together
LATER = 512  # tokens of a later turn's prompt

Step = Callable[[], Any]
Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Shape:
    """One layer's cache: `group` query heads share a kv head; keys and values have `head_dim` channels."""

    tokens: int
    head_dim: int = 128
    kv_heads: int = 8
    group: int = 4

    @property
    def fp32_bytes(self) -> int:
        return 2 * mx.float32.size * self.kv_heads * self.tokens * self.head_dim

    @property
    def layers(self) -> int:
        """How many such layers a race takes, so that they are large together and fit nevertheless."""
        most, buffer = (CPU_LAYERS, CPU_BYTES) if on_cpu() else (GPU_LAYERS, free_bytes() // 16)
        return max(1, min(most, buffer // self.fp32_bytes))


@dataclass(frozen=True)
class Row:
    """Milliseconds of one layer's decode attention over T tokens; None where it wasn't timed."""

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
    """Milliseconds of one layer's `operation`, keys and values together, and of MLX's counterpart.

    encode: `tokens` tokens are packed (MLX: affine, 4 bits). dequantise: `tokens` packed ones are laid out (likewise).
    step: a whole decode step behind `tokens` tokens: one is added, attended from, and packed when its turn comes
    (mlx-lm's KVCache and MLX's attention, in the type that models have on this device). prefill: the attention of a
    later prompt of LATER tokens behind `tokens` packed ones (MLX: behind plain ones).
    """

    operation: str
    tokens: int
    head_dim: int
    kv_heads: int
    group: int
    scheme: str
    ours_ms: float
    mlx_ms: float | None


def machine() -> str:
    name = mx.device_info().get("device_name", platform.processor())
    return f"{platform.system()} {platform.machine()}, {name}, {mx.default_device()}"


def on_cpu() -> bool:
    return bool(mx.default_device() == mx.cpu)


def model_type() -> mx.Dtype:
    """What models compute in on this device: on a CPU, MLX's float16 attention is several times slower."""
    return mx.float32 if on_cpu() else mx.float16


def free_bytes() -> int:
    """Memory that may still be taken on the device that MLX uses."""
    return int(mx.device_info().get("free_memory", 0)) or int(psutil.virtual_memory().available)


def needed_bytes(shape: Shape, schemes: Sequence[str]) -> int:
    """What `attention` and `steps` take for their candidates, roughly."""
    return int(shape.layers * shape.fp32_bytes * (2.5 + 0.5 * len(schemes)))


# ---------------------------------------------------------------------- attention


def attention(
    shape: Shape, schemes: Sequence[str], *, repeats: int = 15, affine: bool = True, statistic: Statistic = median
) -> list[Row]:
    """A Row a scheme, all measured together with MLX's attention.

    `statistic` of each candidate's times: the median, or `min` on a machine that others use as well.
    """
    layers, scale = shape.layers, shape.head_dim**-0.5
    query, keys, values = _random(shape, layers)

    def plain(dtype: mx.Dtype) -> Step:
        q, k, v = query.astype(dtype), [x.astype(dtype) for x in keys], [x.astype(dtype) for x in values]
        mx.eval(q, k, v)
        return _chained(q, layers, lambda q, i: mx.fast.scaled_dot_product_attention(q, k[i], v[i], scale=scale))

    def affine4() -> Step:
        k, v = ([mx.quantize(x.astype(model_type()), bits=4) for x in side] for side in (keys, values))
        q = query.astype(model_type())
        mx.eval(q, k, v)
        attend = quantized_scaled_dot_product_attention
        return _chained(q, layers, lambda q, i: attend(q * 1, k[i], v[i], scale, None, bits=4))

    def compressed(scheme: str) -> Step:
        caches = [_packed(scheme, query, k, v) for k, v in zip(keys, values, strict=True)]
        return _chained(query.astype(model_type()), layers, lambda q, i: caches[i].attend(q, scale))

    candidates = {"fp16": plain(mx.float16), "fp32": plain(mx.float32)}
    if affine and _has_affine(shape):
        candidates["affine4"] = affine4()
    ms = _race(candidates | {scheme: compressed(scheme) for scheme in schemes}, layers, repeats, statistic)
    mlx = ms["fp16"], ms["fp32"], ms.get("affine4")
    return [Row(shape.tokens, shape.head_dim, shape.kv_heads, shape.group, s, ms[s], *mlx) for s in schemes]


# ---------------------------------------------------------------------- whole steps


def steps(shape: Shape, schemes: Sequence[str], *, repeats: int = 3, statistic: Statistic = median) -> list[Operation]:
    """Whole decode steps: the mean over a block of tokens, so that each cache packs once. The caches grow meanwhile."""
    layers, scale, block = shape.layers, shape.head_dim**-0.5, Policy().block
    query, keys, values = _random(shape, layers, model_type())
    key, value = keys[0][:, :, :1] * 1, values[0][:, :, :1] * 1
    mx.eval(key, value)

    def over_a_block(advance: Callable[[mx.array, int], mx.array]) -> Step:
        step = _chained(query, layers, advance)

        def run() -> mx.array:
            out = query
            for _ in range(block):
                out = step()
                mx.async_eval(out)
            return out

        return run

    def ours(scheme: str) -> Step:
        caches = [_packed(scheme, query, k, v) for k, v in zip(keys, values, strict=True)]

        def advance(q: mx.array, i: int) -> mx.array:
            caches[i].update_and_fetch(key, value)
            return caches[i].attend(q, scale)

        return over_a_block(advance)

    def mlx() -> Step:
        caches = [KVCache() for _ in range(layers)]
        for cache, k, v in zip(caches, keys, values, strict=True):
            mx.eval(cache.update_and_fetch(k, v))

        def advance(q: mx.array, i: int) -> mx.array:
            return mx.fast.scaled_dot_product_attention(q, *caches[i].update_and_fetch(key, value), scale=scale)

        return over_a_block(advance)

    candidates = {"mlx": mlx()} | {scheme: ours(scheme) for scheme in schemes}
    ms = _race(candidates, layers * block, repeats, statistic, calls=1)
    return [_operation("step", shape, scheme, ms[scheme], ms["mlx"]) for scheme in schemes]


def prefill(
    shape: Shape, schemes: Sequence[str], *, repeats: int = 5, statistic: Statistic = median
) -> list[Operation]:
    """A later turn's prompt: `shape.tokens` are packed, LATER more are raw and attend to all."""
    scale, kind = shape.head_dim**-0.5, model_type()
    query, (keys,), (values,) = _random(replace(shape, tokens=shape.tokens + LATER), 1, kind)
    queries = mx.random.normal((1, query.shape[1], LATER, shape.head_dim)).astype(kind)
    mx.eval(queries)

    def ours(scheme: str) -> Step:
        first, rest = slice(0, shape.tokens), slice(shape.tokens, None)
        cache = _packed(scheme, query, keys[:, :, first], values[:, :, first])
        cache.update_and_fetch(keys[:, :, rest], values[:, :, rest])
        return lambda: cache.attend(queries, scale, "causal")

    def mlx() -> Any:
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask="causal")

    ms = _race({"mlx": mlx} | {scheme: ours(scheme) for scheme in schemes}, 1, repeats, statistic)
    return [_operation("prefill", shape, scheme, ms[scheme], ms["mlx"]) for scheme in schemes]


def seconds_of_steps(shape: Shape, rows: Sequence[Row]) -> float:
    """How long one turn of `steps` takes, from what `attention` found."""
    mlx = (rows[0].mlx_fp32_ms if on_cpu() else rows[0].mlx_fp16_ms) or 0.0
    return (sum(row.ours_ms for row in rows) + mlx) / 1e3 * shape.layers * Policy().block


# ---------------------------------------------------------------------- encode, dequantise


def operations(shape: Shape, schemes: Sequence[str], *, repeats: int = 15) -> list[Operation]:
    """Packing a block of tokens, and laying out a tile of packed ones; of schemes that pack keys and values."""
    found = []
    for scheme in map(parse, schemes):
        if scheme.key_bits and scheme.value_bits:
            found.append(_encode(replace(shape, tokens=Policy().block), scheme, repeats))
            found.append(_dequantise(replace(shape, tokens=TILE), scheme, repeats))
    return found


def _encode(shape: Shape, scheme: Scheme, repeats: int) -> Operation:
    _, keys, values = _random(shape, shape.layers, mx.float16)

    def ours() -> Any:
        return [_encoded(scheme, k, v) for k, v in zip(keys, values, strict=True)]

    def mlx() -> Any:
        return [mx.quantize(x, bits=4) for x in (*keys, *values)]

    ms = _race({"ours": ours} | ({"mlx": mlx} if _has_affine(shape) else {}), shape.layers, repeats)
    return _operation("encode", shape, scheme.name, ms["ours"], ms.get("mlx"))


def _dequantise(shape: Shape, scheme: Scheme, repeats: int) -> Operation:
    _, keys, values = _random(shape, shape.layers, mx.float16)
    codecs = _codecs(scheme, shape.head_dim)
    packed = [_encoded(scheme, k, v) for k, v in zip(keys, values, strict=True)]
    affine = [mx.quantize(x.astype(model_type()), bits=4) for x in (*keys, *values)] if _has_affine(shape) else []
    mx.eval(packed, affine)

    def ours() -> Any:
        return [
            backends.choose().dequantise(p, c, model_type())
            for pair in packed
            for p, c in zip(pair, codecs, strict=True)
        ]

    def mlx() -> Any:
        return [mx.dequantize(*x, bits=4) for x in affine]

    ms = _race({"ours": ours} | ({"mlx": mlx} if affine else {}), shape.layers, repeats)
    return _operation("dequantise", shape, scheme.name, ms["ours"], ms.get("mlx"))


# ---------------------------------------------------------------------- shared


def _random(shape: Shape, layers: int, dtype: mx.Dtype = mx.float32) -> tuple[mx.array, list[mx.array], list[mx.array]]:
    """A query, and keys and values a layer."""
    query = mx.random.normal((1, shape.kv_heads * shape.group, 1, shape.head_dim)).astype(dtype)
    rows = 1, shape.kv_heads, shape.tokens, shape.head_dim
    keys, values = ([mx.random.normal(rows).astype(dtype) for _ in range(layers)] for _ in range(2))
    mx.eval(query, keys, values)
    return query, keys, values


def _packed(scheme: str, query: mx.array, keys: mx.array, values: mx.array) -> TurboQuantCache:
    cache = TurboQuantCache(scheme)
    # in the width that a model's keys have here
    cache.update_and_fetch(keys.astype(model_type()), values.astype(model_type()))
    cache.calibration.observe(query, keys.shape[1])
    cache.compress()
    mx.eval(cache.all_arrays())
    return cache


def _codecs(scheme: Scheme, dim: int) -> tuple[AnyCodec, Codec]:
    """As a cache has them whose statistics are known."""
    split = scheme.key_bits in Policy().split and can_split(dim)
    return (split_key_codec if split else key_codec)(dim, scheme.key_bits), value_codec(dim, scheme.value_bits)


def _encoded(scheme: Scheme, keys: mx.array, values: mx.array) -> Any:
    """Keys and values packed with statistics, as a cache does it."""
    heads, dim = keys.shape[1], keys.shape[-1]
    offset, scale = mx.zeros((1, heads, dim), mx.float16), mx.ones((1, heads, dim), mx.float16)
    order = mx.broadcast_to(mx.arange(dim, dtype=mx.uint16), offset.shape)
    key, value = _codecs(scheme, dim)
    return backends.choose().encode_pair(keys, key, values, value, offset, scale, order)


def _has_affine(shape: Shape) -> bool:
    return shape.head_dim % 64 == 0  # MLX's groups are of 64 channels


def _chained(query: mx.array, layers: int, attend: Callable[[mx.array, int], mx.array]) -> Step:
    def step() -> mx.array:
        out = query
        for layer in range(layers):
            out = attend(out, layer)
        return out

    return step


def _operation(name: str, shape: Shape, scheme: str, ours_ms: float, mlx_ms: float | None) -> Operation:
    return Operation(name, shape.tokens, shape.head_dim, shape.kv_heads, shape.group, scheme, ours_ms, mlx_ms)


def _race(
    candidates: Mapping[str, Step], layers: int, repeats: int, statistic: Statistic = median, calls: int = 0
) -> dict[str, float]:
    """Milliseconds a layer of each candidate, of which so many `calls` are submitted together (0: as usual)."""
    calls = calls or (1 if on_cpu() else ASYNC_STEPS)

    def seconds(run: Step) -> float:
        mx.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            out = run()
            mx.async_eval(out)
        mx.eval(out)
        mx.synchronize()
        return (time.perf_counter() - begin) / calls

    for run in candidates.values():
        seconds(run)  # compiles
    times: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    shuffle = random.Random(0).shuffle
    end = time.perf_counter() + SECONDS
    for turn in range(repeats):
        if turn and time.perf_counter() > end:
            break
        shuffle(order)  # who comes after a large one finds cold caches and sleeping threads
        for name in order:
            times[name].append(seconds(candidates[name]) / layers * 1e3)
    return {name: statistic(values) for name, values in times.items()}
