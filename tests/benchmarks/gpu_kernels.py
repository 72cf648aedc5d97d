"""The GPU kernels on a real GPU: right, and how fast beside MLX's own attention in the same run.

    python -m tests.benchmarks.gpu_kernels [check] [decode] [goals] [variants] [shapes] [encode] [prefill] [host]
        [--quick]

No table named: all of them, which takes some ten minutes on an H200. Times are microseconds a layer: 16 layers with
buffers of their own, each layer's output the next one's query as in decoding, 24 steps submitted asynchronously, the
median of several such runs; MLX's attention takes turns with ours. gpu_time.py adds what the GPU itself takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import mlx.core as mx
import numpy as np

from tests.benchmarks.gpu_steps import (
    LAYERS,
    RUNS,
    TARGET,
    Everything,
    Layer,
    Step,
    later_prompts,
    layers,
    mlx_attention,
    packing,
    prepared,
    through_the_backend,
)
from tests.kernels import running, test_results
from turboquant.backends.gpu import GpuBackend
from turboquant.backends.reference import ReferenceBackend
from turboquant.kernels.specs import Geometry, Kernel, Launch, Target

STEPS = 24
QUICK = "--quick" in sys.argv


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


MEASURES: dict[str, Callable[[dict[str, Step]], dict[str, float]]] = {"": race}


def attempt(title: str, make: Callable[[], dict[str, Step]]) -> None:
    """A line of the table for each measure; a variant that can't be launched says so and the next one follows."""
    try:
        steps = make()
        for name, measure in MEASURES.items():
            print(f"{title}{name}: {_cells(measure(steps))}", flush=True)
    except (RuntimeError, ValueError, AssertionError) as error:
        print(f"{title}: FAILED {str(error)[:300]}", flush=True)


def _cells(us: dict[str, float]) -> str:
    base = us.get("mlx")
    return "  ".join(
        f"{name} {value:.1f}" + (f" (x{value / base:.2f})" if base and name != "mlx" else "")
        for name, value in us.items()
    )


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


def goals() -> None:
    """What is promised of other schemes and head dims, relative to turbo4 with 128; keys as a cache has them, too."""
    kinds: list[dict[str, Any]] = [
        {"key_bits": b, "value_bits": b, "split": s} for b in (4, 3, 2) for s in (False, True)
    ]
    kinds += [{"key_bits": 0, "calibration": 0}, {"dim": 64}, {"dim": 256}]
    for tokens, kind in product((16384, 65536, 131072), kinds):
        attempt(f"{kind} T={tokens}", partial(beside_mlx, tokens, kind))


def shapes() -> None:
    """Other schemes, head dims, groups, rows."""
    kinds: list[dict[str, Any]] = [{"key_bits": k, "value_bits": v} for k, v in ((4, 2), (8, 8), (8, 4))]
    kinds += [{"key_bits": 0, "value_bits": 2, "calibration": 0}]
    kinds += [{"dim": d} for d in (80, 96, 112, 192)]
    kinds += [{"dim": 64, "key_bits": 3, "value_bits": 3}, {"dim": 256, "key_bits": 3, "value_bits": 3}]
    kinds += [{"group": 1}, {"group": 7, "kv_heads": 4}, {"group": 8, "kv_heads": 4}, {"length": 4}]
    for kind, tokens in product(kinds, (4096, 16384) if QUICK else (4096, 16384, 65536)):
        attempt(f"{kind} T={tokens}", partial(beside_mlx, tokens, kind))


def beside_mlx(tokens: int, kind: dict[str, Any]) -> dict[str, Step]:
    plain = {name: value for name, value in kind.items() if name in ("dim", "kv_heads", "group", "length")}
    return {"mlx": mlx_attention(tokens, **plain), "ours": prepared(layers(tokens, **kind))}


def encode() -> None:
    """A flushed block of 64 tokens, keys and values of 8 heads; and a whole prompt at the transition."""
    kinds = [(bits, split) for bits in (4, 3, 2, 8) for split in (False, True) if not (split and bits == 8)]
    for tokens in (64,) if QUICK else (64, 16384):
        steps = {f"{bits} bits{' split' if split else ''}": packing(tokens, bits, split) for bits, split in kinds}
        attempt(f"encode {tokens} tokens", steps.copy)


def prefill() -> None:
    """A later turn: 512 new tokens over 8k packed ones, beside the same over plain keys and values."""
    kinds = [(4, 4, False), (4, 4, True), (3, 3, False), (2, 2, True), (0, 4, False)]
    attempt("prefill 512 over 8k", partial(later_prompts, 8192, 512, kinds))


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
    tables = {f.__name__: f for f in (check, decode, goals, host, encode, prefill, shapes, variants)}
    wanted = [name for name in sys.argv[1:] if name in tables] or list(tables)
    print(f"{mx.device_info().get('device_name')}, MLX {mx.__version__}, {TARGET}", flush=True)  # type: ignore[attr-defined]
    for name in wanted:
        begin = time.perf_counter()
        tables[name]()
        print(f"-- {name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
