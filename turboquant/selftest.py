"""Every operation of the backend at hand against the reference, on this machine: errors and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import mlx.core as mx

from turboquant import backends
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache
from turboquant.codec import Packed, key_codec, unpack

Result = TypeVar("Result", mx.array, Packed)

HEAD_DIMS = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512)
BITS = (2, 3, 4, 8)
# A code next to a boundary may round either way; more than this share of them is a mistake.
CODES_THAT_MAY_DIFFER = 1e-3
ATTENTION_ERROR = {mx.float32: 1e-3, mx.float16: 4e-3, mx.bfloat16: 3e-2}


@dataclass(frozen=True)
class Check:
    """`error` is the share of differing codes for encode, else the largest difference."""

    operation: str
    case: str
    error: float
    limit: float
    ms: float

    @property
    def ok(self) -> bool:
        return self.error <= self.limit


def run() -> Iterator[Check]:
    """All checks of `backends.choose()`; a reference backend is compared with itself and only timed."""
    backend, reference = backends.choose(), ReferenceBackend()
    mx.random.seed(7)
    for dim, bits in product(HEAD_DIMS, BITS):
        codec = key_codec(dim, bits)
        x = mx.random.normal((1, 2, 33, dim)) + 1
        offset, scale = mx.random.normal((1, 2, dim)), mx.random.uniform(0.5, 2, (1, 2, dim))
        expected = reference.encode(x, codec, offset, scale)
        packed, ms = _timed(lambda b=backend, x=x, c=codec, o=offset, s=scale: b.encode(x, c, o, s))  # type: ignore[misc]
        differ = unpack(packed.words, bits, dim) != unpack(expected.words, bits, dim)
        yield Check("encode", f"d={dim} {bits} bit", float(differ.mean()), CODES_THAT_MAY_DIFFER, ms)
        got, ms = _timed(lambda b=backend, p=expected, c=codec: b.dequantise(p, c, mx.float32))  # type: ignore[misc]
        error = float(mx.abs(got - reference.dequantise(expected, codec, mx.float32)).max())
        yield Check("dequantise", f"d={dim} {bits} bit", error, 1e-4, ms)
    for scheme, (dim, group, rows, dtype, tokens) in product(
        ("none", "turbo8", "turbo4", "turbo3", "turbo2", "turbo4v2", "turbo0v4", "turbo0v2"),
        ((64, 3, 1, mx.float32, 300), (128, 4, 5, mx.float16, 1000), (80, 1, 8, mx.bfloat16, 257)),
    ):
        cache, queries = attention_case(scheme, dim, group, rows, dtype, tokens)
        mask = "causal" if rows > 1 else None
        stretches = cache.stretches()
        got, ms = _timed(
            lambda b=backend, q=queries, s=stretches, m=mask, d=dim: b.attend(q, s, d**-0.5, m, None)  # type: ignore[misc]
        )
        exact = reference.attend(queries.astype(mx.float32), stretches, dim**-0.5, mask, None)
        error = float(mx.abs(got.astype(mx.float32) - exact).max())
        case = f"{scheme} d={dim} group={group} rows={rows} T={tokens} {str(dtype).split('.')[-1]}"
        yield Check("attend", case, error, ATTENTION_ERROR[dtype], ms)


def attention_case(
    scheme: str, dim: int, group: int, rows: int, dtype: mx.Dtype, tokens: int, kv_heads: int = 2
) -> tuple[TurboQuantCache, mx.array]:
    """A packed cache of `tokens` random tokens, the newest `rows` of them just added, and queries for those rows."""
    cache = TurboQuantCache(scheme)
    prompt = tokens - rows
    shape = (1, kv_heads, prompt, dim)
    cache.update_and_fetch((mx.random.normal(shape) + 1).astype(dtype), mx.random.normal(shape).astype(dtype))
    cache.calibration.observe(mx.random.normal((1, kv_heads * group, prompt, dim)), kv_heads)
    cache.compress()
    shape = (1, kv_heads, rows, dim)
    cache.update_and_fetch((mx.random.normal(shape) + 1).astype(dtype), mx.random.normal(shape).astype(dtype))
    return cache, mx.random.normal((1, kv_heads * group, rows, dim)).astype(dtype)


def _timed(operation: Callable[[], Result]) -> tuple[Result, float]:
    mx.eval(operation())  # the first call may compile
    begin = time.perf_counter()
    result = operation()
    mx.eval(result)
    return result, (time.perf_counter() - begin) * 1e3
