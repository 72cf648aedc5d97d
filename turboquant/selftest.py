"""Every operation of the backend at hand against the reference, on this machine: errors and times.

On a GPU also the kernels against results that float64 NumPy found once (kernels/golden.py). A kernel is compiled for
each width, head dim and type, which takes most of the time: some shapes stand for all of them.
"""

from __future__ import annotations

import math
import os
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
from turboquant.segments import Policy
from turboquant.split import WIDTHS, AnyCodec, SplitCodec, can_split, split_key_codec

Result = TypeVar("Result", mx.array, Packed)

# (head dim, bits). On a GPU each takes kernels of its own, which take seconds to compile: what is first stands for all.
CODECS = ((128, 4), (80, 3))
MORE_CODECS = ((64, 2), (64, 4), (112, 2), (128, 3), (128, 8), (192, 4), (256, 8), (512, 3))
SPLIT_CODECS = ((64, 2),)
MORE_SPLIT_CODECS = ((128, 3), (80, 4))
HEAD_DIMS = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512)
BITS = (2, 3, 4, 8)
# A code next to a boundary may round either way; more than this share of them is a mistake.
CODES_THAT_MAY_DIFFER = 1e-3
ATTENTION_ERROR = {mx.float32: 1e-3, mx.float16: 4e-3, mx.bfloat16: 3e-2}
GPUS = ("metal", "cuda")
GOLDEN_STEP = 3


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


@dataclass(frozen=True)
class Attention:
    """The newest `rows` of `tokens` tokens attend; `group` query heads a kv head. More than 8 rows are prefill."""

    scheme: str
    dim: int
    group: int = 4
    rows: int = 1
    dtype: mx.Dtype = mx.float16
    tokens: int = 1000
    split: bool = False
    sinks: bool = False
    window: int = 0

    def __str__(self) -> str:
        dtype = str(self.dtype).rsplit(".", maxsplit=1)[-1]
        words = f"{self.scheme} d={self.dim} group={self.group} rows={self.rows} T={self.tokens} {dtype}"
        more = ("split", self.split), ("sinks", self.sinks), (f"window={self.window}", self.window)
        return " ".join([words, *(name for name, present in more if present)])


ATTENTION = (
    Attention("turbo4", 128, tokens=5000),
    Attention("turbo4", 128, rows=64),
    Attention("turbo4", 80, group=1, rows=8, dtype=mx.bfloat16, tokens=257),
    Attention("turbo3", 128, split=True),
    Attention("turbo4", 64, group=8, dtype=mx.bfloat16, sinks=True),
    Attention("none", 128),
)
MORE_ATTENTION = (
    Attention("turbo8", 128, dtype=mx.bfloat16),
    Attention("turbo3", 64, group=3, dtype=mx.float32, tokens=300),
    Attention("turbo2", 256, group=8),
    Attention("turbo2", 64, group=7, rows=3, dtype=mx.bfloat16, split=True),
    Attention("turbo4v2", 128, rows=5),
    Attention("turbo4", 128, window=512),
    Attention("turbo0v4", 96, tokens=5000),
    Attention("turbo0v2", 64, group=3, dtype=mx.float32, tokens=300),
)


def run(full: bool = False, seconds: float = math.inf) -> Iterator[Check]:
    """The checks of `backends.choose()`; a reference backend is compared with itself and only timed.

    `full`: all head dims and widths, and schemes at several head dims. After `seconds` no other check begins.
    """
    os.environ["MLX_ENABLE_TF32"] = "0"  # read at MLX's first product: the reference must not multiply with 10 bits
    mx.random.seed(7)
    begin = time.monotonic()
    for checks in _checks(full):
        if time.monotonic() - begin > seconds:
            break
        yield from checks
    if backends.choose().name in GPUS:
        # a kernel that was refused has been replaced by what it is compared with
        notice = backends.choose().notice
        yield Check("kernels", notice or "all of them serve", float(bool(notice)), 0.0, 0.0)


def _checks(full: bool) -> Iterator[Iterator[Check]]:
    """What counts most first: they may be broken off."""
    for case in _all_attention() if full else ATTENTION:
        yield _attention(case)
    for dim, bits in product(HEAD_DIMS, BITS) if full else CODECS:
        yield _codec(key_codec(dim, bits))
    for dim, bits in product(HEAD_DIMS, WIDTHS) if full else SPLIT_CODECS:
        if can_split(dim):
            yield _codec(split_key_codec(dim, bits))
    if backends.choose().name in GPUS:
        yield _golden(1 if full else GOLDEN_STEP)


def _all_attention() -> Iterator[Attention]:
    schemes = ("none", "turbo8", "turbo4", "turbo3", "turbo2", "turbo4v2", "turbo0v4", "turbo0v2")
    shapes = ((64, 3, 1, mx.float32, 300), (128, 4, 5, mx.float16, 1000), (80, 1, 8, mx.bfloat16, 257))
    for scheme, shape in product(schemes, shapes):
        yield Attention(scheme, *shape)
    for scheme, shape in product(("turbo4", "turbo3", "turbo2"), shapes):
        yield Attention(scheme, *shape, split=True)
    yield from (*ATTENTION, *MORE_ATTENTION)


def _golden(step: int) -> Iterator[Check]:
    from turboquant.kernels import golden
    from turboquant.kernels.loader import Launcher
    from turboquant.kernels.specs import Target

    target: Target = "metal" if backends.choose().name == "metal" else "cuda"
    begin = time.perf_counter()
    try:
        for found in golden.checks(Launcher(target), target, step):
            now = time.perf_counter()
            yield Check("golden", found.name, found.error, found.limit, (now - begin) * 1e3)
            begin = now
    except RuntimeError as error:  # MLX's, of a compiler or a driver
        yield Check("golden", str(error).strip().splitlines()[0], float("inf"), 0.0, 0.0)


def _codec(codec: AnyCodec) -> Iterator[Check]:
    backend, reference = backends.choose(), ReferenceBackend()
    dim, bits, split = codec.dim, codec.bits, isinstance(codec, SplitCodec)
    x = mx.random.normal((1, 2, 33, dim)) / dim**0.5 + 0.1
    offset, scale = 0.1 * mx.random.normal((1, 2, dim)), mx.random.uniform(0.5, 2, (1, 2, dim))
    order = mx.random.permutation(dim).astype(mx.uint16)
    given = offset, scale, mx.stack([order, order[::-1]])[None]
    expected = reference.encode(x, codec, *given)
    case = f"d={dim} {bits} bit{' split' if split else ''}"

    def codes(packed: Packed) -> mx.array:
        return unpack(packed.words, 2 * bits, dim // 2) if split else unpack(packed.words, bits, dim)

    packed, ms = _timed(lambda: backend.encode(x, codec, *given))
    differ = (codes(packed) != codes(expected)).mean()
    yield Check("encode", case, float(differ), CODES_THAT_MAY_DIFFER, ms)
    got, ms = _timed(lambda: backend.dequantise(expected, codec, mx.float32))
    error = mx.abs(got - reference.dequantise(expected, codec, mx.float32)).max()
    yield Check("dequantise", case, float(error), 1e-5, ms)


def _attention(case: Attention) -> Iterator[Check]:
    cache, queries, newest = attention_case(case)
    mask, scale = "causal" if case.rows > 1 else None, case.dim**-0.5
    sinks = mx.random.normal((queries.shape[1],)).astype(case.dtype) if case.sinks else None

    def attend() -> mx.array:
        cache.trim(case.rows)  # as at each step: the newest rows have just come
        cache.update_and_fetch(*newest)
        return cache.backend.attend(queries, cache.stretches(), scale, mask, sinks)

    got, ms = _timed(attend)
    exact = ReferenceBackend().attend(queries.astype(mx.float32), cache.stretches(), scale, mask, sinks)
    error = mx.abs(got.astype(mx.float32) - exact).max()
    yield Check("attend", str(case), float(error), ATTENTION_ERROR[case.dtype], ms)


def attention_case(case: Attention, kv_heads: int = 2) -> tuple[TurboQuantCache, mx.array, tuple[mx.array, mx.array]]:
    """A packed cache of random tokens, the newest of them just added, their queries, and their keys and values."""
    cache = TurboQuantCache(case.scheme, policy=Policy(split=WIDTHS if case.split else ()), window=case.window)
    prompt = case.tokens - case.rows

    def add(tokens: int) -> tuple[mx.array, mx.array]:
        shape = 1, kv_heads, tokens, case.dim
        keys, values = ((mx.random.normal(shape) + mean).astype(case.dtype) for mean in (1, 0))
        cache.update_and_fetch(keys, values)
        return keys, values

    add(prompt)
    cache.calibration.observe(mx.random.normal((1, kv_heads * case.group, prompt, case.dim)), kv_heads)
    cache.compress()
    newest = add(case.rows)
    return cache, mx.random.normal((1, kv_heads * case.group, case.rows, case.dim)).astype(case.dtype), newest


def _timed(operation: Callable[[], Result]) -> tuple[Result, float]:
    mx.eval(operation())  # the first call may compile
    begin = time.perf_counter()
    result = operation()
    mx.eval(result)
    return result, (time.perf_counter() - begin) * 1e3
