"""The GPU kernels on a real GPU: right, and how fast beside MLX's own attention in the same run.

    python tests/benchmarks/gpu_kernels.py [check] [decode] [variants] [shapes] [encode] [prefill] [host] [--quick]

from the repository's root with it on PYTHONPATH (no arguments: everything, about five minutes on an H200). Times are
microseconds a layer: 16 layers with buffers of their own, each layer's output the next one's query as in decoding,
24 steps submitted asynchronously, the median of several such runs; MLX's attention takes turns with ours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import product
from statistics import median
from typing import Any

import mlx.core as mx
import numpy as np

from tests.kernels import running, test_results
from turboquant.backends.decoding import Decoder
from turboquant.backends.gpu import GpuBackend
from turboquant.backends.reference import ReferenceBackend
from turboquant.backends.verified import Verified
from turboquant.codec import key_codec, value_codec
from turboquant.kernels import constants, specs
from turboquant.kernels.loader import Launcher
from turboquant.kernels.specs import Geometry, Kernel, Launch, Target
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import AnyCodec, SplitCodec, split_key_codec

LAYERS, STEPS = 16, 24
TARGET: Target = "metal" if mx.metal.is_available() else "cuda"
RUNS = Launcher(TARGET)
QUICK = "--quick" in sys.argv

Step = Callable[[], Any]


class Everything(Verified):
    """Trusts every kernel: times must not hold the check at first use."""

    def __contains__(self, name: str) -> bool:
        return True


# ---------------------------------------------------------------------- correctness


def on_device(
    kernel: Kernel,
    how: Launch,
    inputs: Sequence[Any],
    target: Target,
    schedules: Sequence[int],
    edit: running.Edit = None,
) -> list[Any]:
    """Takes the emulator's place in tests/kernels/running.py."""
    arrays = [
        mx.array(array).view(mx.bfloat16) if dtype == "bfloat16" else mx.array(array)
        for array, dtype in zip(inputs, kernel.types, strict=True)
    ]
    outputs = RUNS(kernel, how, arrays)
    return [np.array(out.view(mx.uint16) if out.dtype == mx.bfloat16 else out) for out in outputs]


def check() -> None:
    """The emulator's cases against float64 NumPy, then larger ones against the reference."""
    running.launch = on_device
    cases: list[tuple[str, Callable[[], Any]]] = [
        (str(case), lambda c=case: c.check(TARGET))
        for case in (*test_results.ENCODE, *test_results.ATTEND, *test_results.DEQUANTISE)
    ]
    cases += [(f"pair {pair}", lambda p=pair: running.check_pair(*p, TARGET)) for pair in test_results.PAIRS]
    wrong = []
    for name, run in cases:
        try:
            run()
        except (AssertionError, RuntimeError, ValueError) as found:
            wrong.append(name)
            print("WRONG", name, str(found)[:600], flush=True)
    print(f"check: {len(cases) - len(wrong)} of {len(cases)} kernels' cases agree with float64 NumPy", flush=True)
    backend, reference = GpuBackend(RUNS, Everything(None)), ReferenceBackend()
    for (keys, values, split), (dim, tokens, dtype) in product(
        (*((k, v, False) for k, v in ((4, 4), (3, 3), (2, 2), (8, 8), (0, 4))), *((b, b, True) for b in (4, 3, 2))),
        ((128, 5000, mx.bfloat16), (64, 40000, mx.float16), (80, 900, mx.float32)),
    ):
        layer = Layer(tokens, dim, keys, values, dtype=dtype, calibration=2 if keys else 0, split=split)
        got = backend.attend(layer.query, layer.stretches, dim**-0.5, None, None)
        want = reference.attend(layer.query.astype(mx.float32), layer.stretches, dim**-0.5, None, None)
        error = float(mx.abs(got.astype(mx.float32) - want).max() / mx.abs(want).max())
        limit = {mx.bfloat16: 1e-2, mx.float16: 2e-3, mx.float32: 1e-4}[dtype]
        verdict = "ok" if error < limit else "WRONG"
        print(
            f"{verdict} attend turbo{keys}v{values}{' split' if split else ''} d={dim} T={tokens} {dtype}: {error:.1e}",
            flush=True,
        )


# ---------------------------------------------------------------------- caches to time


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


def race(candidates: dict[str, Step], rounds: int = 7) -> dict[str, float]:
    """Microseconds a layer of each candidate; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for step in candidates.values():
        for _ in range(3):
            mx.eval(step())
    for _ in range(rounds):
        for name, step in candidates.items():
            mx.synchronize()
            begin = time.perf_counter()
            for _ in range(STEPS):
                out = step()
                mx.async_eval(out)
            mx.eval(out)
            mx.synchronize()
            times[name].append((time.perf_counter() - begin) / STEPS / LAYERS * 1e6)
    return {name: median(values) for name, values in times.items()}


def show(title: str, us: dict[str, float], base: str = "mlx") -> None:
    print(f"{title}: " + "  ".join(_cell(name, value, us.get(base)) for name, value in us.items()), flush=True)


def _cell(name: str, value: float, base: float | None) -> str:
    return f"{name} {value:.1f}" + (f" (x{value / base:.2f})" if base and value != base else "")


def attempt(title: str, make: Callable[[], dict[str, Step]]) -> None:
    """One line of the table; a variant that can't be launched says so and the next one follows."""
    try:
        show(title, race(make()))
    except (RuntimeError, ValueError, AssertionError) as error:
        print(f"{title}: FAILED {str(error)[:300]}", flush=True)


# ---------------------------------------------------------------------- tables


def lengths() -> Iterator[int]:
    yield from (1024, 4096, 16384) if QUICK else (1024, 2048, 4096, 16384, 65536, 131072)


def decode() -> None:
    """The issue's table: turbo4, d 128, 32 query heads over 8, bf16, raw tokens in the same dispatch, calibrated."""
    for tokens in lengths():
        given = layers(tokens)
        bare, halves = layers(tokens, calibration=0), layers(tokens, split=True)

        def candidates(
            tokens: int = tokens, given: list[Layer] = given, bare: list[Layer] = bare, halves: list[Layer] = halves
        ) -> dict[str, Step]:
            return {
                "mlx": mlx_attention(tokens),
                "turbo4": prepared(given),
                "split": prepared(halves),
                "uncalibrated": prepared(bare),
                "backend.attend": through_the_backend(given),
            }

        attempt(f"decode T={tokens}", candidates)


def variants() -> None:
    """Other geometries and splits of the same layer."""
    shapes = {
        "8 simdgroups": Geometry(4, 4, 2, 8, 0, 2, (5, 5), 128),
        "8, one group a core": Geometry(4, 4, 2, 8, 0, 1, (5, 5), 128),
        "16": Geometry(4, 4, 2, 16, 0, 1, (5, 5), 128),
        "4": Geometry(4, 4, 2, 4, 0, 4, (5, 5), 128),
        "8, 16 copies": Geometry(4, 4, 2, 8, 0, 2, (4, 4), 128),
        "lanes": Geometry(4, 16, 4, 8, 0, 2),
    }
    for tokens in lengths():
        given = layers(tokens)
        base = mlx_attention(tokens)
        for name, shape in shapes.items():

            def candidates(shape: Geometry = shape, given: list[Layer] = given, base: Step = base) -> dict[str, Step]:
                found = {f"splits={s}": prepared(given, s, override=shape) for s in (5, 9, 17, 33)}
                return {"mlx": base, **found}

            attempt(f"{name} T={tokens}", candidates)


def shapes() -> None:
    """Other schemes, head dims, groups, rows."""
    kinds: list[dict[str, Any]] = [
        {"key_bits": k, "value_bits": v} for k, v in ((4, 4), (3, 3), (2, 2), (4, 2), (8, 8), (8, 4), (0, 4), (0, 2))
    ]
    kinds += [{"key_bits": b, "value_bits": b, "split": True} for b in (4, 3, 2)]
    kinds += [{"dim": d} for d in (64, 80, 96, 112, 192, 256)]
    kinds += [{"dim": 64, "key_bits": 3, "value_bits": 3}, {"dim": 256, "key_bits": 3, "value_bits": 3}]
    kinds += [{"group": 1}, {"group": 7, "kv_heads": 4}, {"group": 8, "kv_heads": 4}, {"length": 4}]
    for kind, tokens in product(kinds, (4096, 16384) if QUICK else (4096, 16384, 65536)):
        calibration = 0 if kind.get("key_bits") == 0 else 2
        given = layers(tokens, calibration=calibration, **kind)
        plain = {name: value for name, value in kind.items() if not name.endswith("bits") and name != "split"}

        def candidates(
            given: list[Layer] = given, tokens: int = tokens, plain: dict[str, Any] = plain
        ) -> dict[str, Step]:
            return {"mlx": mlx_attention(tokens, **plain), "ours": prepared(given)}

        attempt(f"{kind} T={tokens}", candidates)


def encode() -> None:
    """A flushed block of 64 tokens, keys and values of 8 heads; and a whole prompt at the transition."""
    for (key_bits, value_bits), trials, dim in product(((4, 4), (3, 3), (2, 2), (8, 8)), (1, 8), (128,)):
        for tokens in (64, 16384):
            if (key_bits == 8 and trials > 1) or (tokens > 64 and QUICK):
                continue
            parts = (
                replace(constants.part(key_codec(dim, key_bits)), trials=trials),
                replace(constants.part(value_codec(dim, value_bits)), trials=trials),
            )
            kernel = specs.encode_pair(*parts, "bfloat16", 2)
            how = specs.encode_pair_launch(*parts, 8 * tokens)
            rows = [mx.random.normal((1, 8, tokens, dim)).astype(mx.bfloat16) for _ in range(2 * LAYERS)]
            calibration = [mx.random.uniform(0.5, 1, (1, 8, dim)).astype(mx.float16) for _ in range(2)]
            fixed = [
                constants.integers(8 * tokens, tokens),
                constants.encoding_array(key_codec(dim, key_bits)),
                constants.encoding_array(value_codec(dim, value_bits)),
                *calibration,
            ]
            mx.eval(rows, fixed)

            def step(
                kernel: Kernel = kernel, how: Launch = how, rows: list[mx.array] = rows, fixed: list[mx.array] = fixed
            ) -> list[mx.array]:
                return [RUNS(kernel, how, [rows[2 * i], rows[2 * i + 1], *fixed])[0] for i in range(LAYERS)]

            attempt(f"encode turbo{key_bits} trials={trials} {tokens} tokens", lambda s=step: {"K+V": s})


def prefill() -> None:
    """A later turn: 512 new tokens over 8k packed ones, beside the same over plain keys and values."""
    tokens, rows, dim, kv_heads, group = 8192, 512, 128, 8, 4
    for key_bits, value_bits in ((4, 4), (3, 3), (0, 4)):
        given = [
            Layer(tokens, dim, key_bits, value_bits, calibration=2 if key_bits else 0, tail=rows) for _ in range(LAYERS)
        ]
        query = mx.random.normal((1, kv_heads * group, rows, dim)).astype(mx.bfloat16)
        keys, values = (
            [mx.random.normal((1, kv_heads, tokens, dim)).astype(mx.bfloat16) for _ in range(LAYERS)] for _ in range(2)
        )
        mx.eval(query, keys, values)
        backend = GpuBackend(RUNS, Everything(None))

        def ours(given: list[Layer] = given, query: mx.array = query, backend: GpuBackend = backend) -> mx.array:
            out = query
            for layer in given:
                out = backend.attend(out, layer.stretches, dim**-0.5, "causal", None)
            return out

        def plain(query: mx.array = query, keys: list[mx.array] = keys, values: list[mx.array] = values) -> mx.array:
            out = query
            for k, v in zip(keys, values, strict=True):
                out = mx.fast.scaled_dot_product_attention(out, k, v, scale=dim**-0.5, mask="causal")
            return out

        attempt(f"prefill 512 over 8k turbo{key_bits}v{value_bits}", lambda p=plain, o=ours: {"mlx": p, "ours": o})


def host() -> None:
    """What building a step costs the processor, nothing evaluated."""
    given = layers(1024)
    for name, step in (("prepared", prepared(given)), ("backend.attend", through_the_backend(given))):
        mx.eval(step())
        begin = time.perf_counter()
        kept = [step() for _ in range(20)]
        print(f"host, {name}: {(time.perf_counter() - begin) / 20 / LAYERS * 1e6:.1f} us a layer", flush=True)
        mx.eval(kept)


def main() -> None:
    mx.set_default_device(mx.gpu)
    mx.random.seed(1)
    tables = {f.__name__: f for f in (check, decode, host, encode, prefill, shapes, variants)}
    wanted = [name for name in sys.argv[1:] if name in tables] or list(tables)
    print(f"{mx.device_info().get('device_name')}, MLX {mx.__version__}, {TARGET}", flush=True)  # type: ignore[attr-defined]
    for name in wanted:
        begin = time.perf_counter()
        tables[name]()
        print(f"-- {name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
