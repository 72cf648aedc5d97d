"""What the GPU benchmarks time: layers of random caches, and steps over them, MLX's own attention beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import mlx.core as mx
import numpy as np

from turboquant.backends.decoding import Decoder
from turboquant.backends.gpu import GpuBackend
from turboquant.backends.verified import Verified
from turboquant.codec import key_codec, value_codec
from turboquant.kernels.loader import Launcher
from turboquant.kernels.specs import Target
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import AnyCodec, SplitCodec, split_key_codec

LAYERS = 16
TARGET: Target = "metal" if mx.metal.is_available() else "cuda"
RUNS = Launcher(TARGET)

Step = Callable[[], Any]


class Everything(Verified):
    """Trusts every kernel: times must not hold the check at first use."""

    def __contains__(self, name: str) -> bool:
        return True


class Layer:
    """One layer's random cache (a uniform random code is a valid one), as the library would hold it, and a query."""

    def __init__(
        self,
        tokens: int,
        dim: int = 128,
        key_bits: int = 4,
        value_bits: int = 4,
        *,
        kv_heads: int = 8,
        group: int = 4,
        length: int = 1,
        dtype: mx.Dtype = mx.bfloat16,
        calibration: int = 2,
        tail: int = 64,
        split: bool = False,
        query: mx.array | None = None,
    ) -> None:
        raw = mx.float16 if dtype == mx.float32 else dtype
        body = tokens - tail - 4

        def plain(rows: int, capacity: int) -> Buffer:
            return _buffer(mx.random.normal((1, kv_heads, capacity, dim)).astype(raw), rows)

        def packed(codec: AnyCodec) -> PackedBuffer:
            found, capacity = PackedBuffer(codec), body // 256 * 256 + 256
            words = mx.random.randint(-(2**31), 2**31 - 1, (1, kv_heads, capacity, codec.words)).view(mx.uint32)
            norms = mx.random.uniform(1, 2, (1, kv_heads, capacity)).astype(mx.float16)
            if isinstance(codec, SplitCodec):
                high, low = (mx.random.randint(110, 150, norms.shape) for _ in range(2))
                norms = ((high << 8) | low).astype(mx.uint16)
            found.words, found.norms = _buffer(words, body), _buffer(norms, body)
            return found

        starts = tuple(range(0, body, max(512, body // 40))) if calibration else ()
        self.stretches = Stretches(
            plain(4, 4),
            plain(4, 4),
            packed((split_key_codec if split else key_codec)(dim, key_bits))
            if key_bits
            else plain(body, body // 256 * 256 + 256),
            packed(value_codec(dim, value_bits)),
            plain(tail, tail // 128 * 128 + 128),
            plain(tail, tail // 128 * 128 + 128),
            mx.random.normal((1, kv_heads, len(starts), dim)).astype(mx.float16) if calibration else None,
            starts,
            mx.random.uniform(0.5, 2, (1, kv_heads, dim)).astype(mx.float16) if calibration > 1 else None,
            mx.argsort(mx.random.uniform(shape=(1, kv_heads, dim)), axis=-1).astype(mx.uint16) if split else None,
        )
        self.query = mx.random.normal((1, kv_heads * group, length, dim)).astype(dtype) if query is None else query
        held = [getattr(self.stretches, field.name) for field in fields(self.stretches)]
        mx.eval(self.query, *[a for a in held if isinstance(a, mx.array)])
        mx.eval(*[a for b in held if isinstance(b, Buffer | PackedBuffer) for a in b.arrays()])


def _buffer(array: mx.array, count: int) -> Buffer:
    found = Buffer()
    found.array, found.count = array, count
    return found


def layers(tokens: int, **kind: Any) -> list[Layer]:
    first = Layer(tokens, **kind)
    return [first, *(Layer(tokens, query=first.query, **kind) for _ in range(LAYERS - 1))]


def prepared(given: Sequence[Layer], splits: int = 0, **changes: Any) -> Step:
    """A decode step over the layers with inputs at hand: what the GPU and MLX take, nothing of our own Python."""
    decoder = Decoder(RUNS)
    calls = []
    for layer in given:
        found = decoder.prepare(layer.query, layer.stretches, layer.query.shape[-1] ** -0.5, None)
        assert found is not None
        call, inputs = found
        spec = replace(call.spec, **changes)
        named = dict(zip(call.inputs, inputs, strict=True))
        count = 1 if spec.single else splits or spec.splits(1, layer.stretches.body_values.count)
        values = np.array(named["dims"])
        values[6] = count
        named["dims"] = mx.array(values)
        if spec.joined:
            named["tickets"] = mx.zeros((max(spec.tickets(1), 64),), mx.int32)
        built = decoder.call(spec, 1, count)
        calls.append((built.function, [named[name] for name in built.inputs]))
    mx.eval(*[inputs for _, inputs in calls])

    def step() -> mx.array:
        query = given[0].query
        for function, inputs in calls:
            query = function(query, *inputs[1:])[0]
        return query

    return step


def through_the_backend(given: Sequence[Layer]) -> Step:
    """The same step as a model would take it, GpuBackend.attend and all."""
    backend = GpuBackend(RUNS, Everything(None))
    scale = given[0].query.shape[-1] ** -0.5

    def step() -> mx.array:
        query = given[0].query
        for layer in given:
            query = backend.attend(query, layer.stretches, scale, None, None)
        return query

    return step


def mlx_attention(tokens: int, dim: int = 128, kv_heads: int = 8, group: int = 4, length: int = 1) -> Step:
    query = mx.random.normal((1, kv_heads * group, length, dim)).astype(mx.bfloat16)
    mask = "causal" if length > 1 else None
    keys, values = (
        [mx.random.normal((1, kv_heads, tokens, dim)).astype(mx.bfloat16) for _ in range(LAYERS)] for _ in range(2)
    )
    mx.eval(query, keys, values)

    def step() -> mx.array:
        out = query
        for k, v in zip(keys, values, strict=True):
            out = mx.fast.scaled_dot_product_attention(out, k, v, scale=dim**-0.5, mask=mask)
        return out

    return step


def packing(tokens: int, bits: int, split: bool, dim: int = 128, kv_heads: int = 8) -> Step:
    """Keys and values of `tokens` tokens a layer encoded, as a flush has it."""
    codec = (split_key_codec if split else key_codec)(dim, bits)
    shape = 1, kv_heads, tokens, dim
    rows = [mx.random.normal(shape).astype(mx.bfloat16) for _ in range(2 * LAYERS)]
    offset, scale = (mx.random.uniform(0.5, 1, (1, kv_heads, dim)).astype(mx.float16) for _ in range(2))
    order = mx.argsort(mx.random.uniform(shape=offset.shape), axis=-1).astype(mx.uint16)
    mx.eval(rows, offset, scale, order)
    backend = GpuBackend(RUNS, Everything(None))

    def step() -> list[Any]:
        return [
            backend.encode_pair(keys, codec, values, value_codec(dim, bits), offset, scale, order)
            for keys, values in zip(rows[::2], rows[1::2], strict=True)
        ]

    return step


def later_prompts(tokens: int, rows: int, kinds: Sequence[tuple[int, int, bool]], dim: int = 128) -> dict[str, Step]:
    """The attention of `rows` new tokens over `tokens` in all: MLX's over plain ones, and each kind of cache's."""
    given = {
        f"turbo{k}v{v}{' split' if split else ''}": [
            Layer(tokens, dim, k, v, calibration=2 if k else 0, tail=rows, split=split) for _ in range(LAYERS)
        ]
        for k, v, split in kinds
    }
    query = mx.random.normal((1, 32, rows, dim)).astype(mx.bfloat16)
    mx.eval(query)
    backend = GpuBackend(RUNS, Everything(None))

    def over(layers: list[Layer]) -> Step:
        def step() -> mx.array:
            out = query
            for layer in layers:
                out = backend.attend(out, layer.stretches, dim**-0.5, "causal", None)
            return out

        return step

    return {"mlx": mlx_attention(tokens, dim, length=rows), **{name: over(held) for name, held in given.items()}}
