"""Decode attention on the CPU against MLX's own: prints the promised ratios, exits 1 where one isn't reached.

One layer of 8 kv heads, 3 query heads each, d = 128, float32 queries; one run in which all take turns, as in
`python -m turboquant bench`. Each one's fastest turn counts, MLX's as well as ours: what another program takes of the
machine meanwhile says nothing of either.

    python -m tests.benchmarks.cpu_attention [TURNS]
"""

from __future__ import annotations

import sys
from time import perf_counter

import turboquant  # noqa: F401  (loads OpenBLAS, which must come before the first import of mlx)

# isort: split
import mlx.core as mx

from turboquant import bench
from turboquant.backends.cpu import NumbaBackend
from turboquant.codec import KEY_SEED, codec, key_codec

SCHEMES = ("turbo4", "turbo3", "turbo2", "turbo0v4")
# at least so many times faster than MLX's attention in (float32, float16)
PROMISED = {
    4096: {"turbo4": (3.0, 10.0), "turbo3": (2.0, 0.0), "turbo2": (2.0, 0.0), "turbo0v4": (2.0, 0.0)},
    16384: {"turbo4": (4.0, 10.0), "turbo3": (2.0, 0.0), "turbo2": (2.0, 0.0), "turbo0v4": (2.0, 0.0)},
}
PREFILL_COST = (
    1.3  # a later prompt of 512 tokens behind 8,192 packed ones, at most so many times MLX's behind plain ones
)
ENCODE_COST = 2.5  # the search over 8 trial scales, at most so many times the plain encoding


def main() -> int:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    if mx.default_device() != mx.cpu:
        print("This benchmark is about the CPU backend; MLX's default device here isn't the CPU.")
        return 1
    reached = True
    for tokens, promises in PROMISED.items():
        rows = bench.attention(bench.Shape(tokens, group=3), SCHEMES, affine=False, repeats=turns, statistic=min)
        for row, promise in zip(rows, promises.values(), strict=True):
            assert row.mlx_fp32_ms is not None
            assert row.mlx_fp16_ms is not None
            ratios = row.mlx_fp32_ms / row.ours_ms, row.mlx_fp16_ms / row.ours_ms
            ok = all(ratio >= least for ratio, least in zip(ratios, promise, strict=True))
            reached &= ok
            print(
                f"T={tokens} {row.scheme}: {row.ours_ms:.2f} ms; "
                f"MLX float32 {row.mlx_fp32_ms:.2f} ms, x{ratios[0]:.1f} (at least {promise[0]:g}); "
                f"float16 {row.mlx_fp16_ms:.1f} ms, x{ratios[1]:.1f} (at least {promise[1]:g})"
                f"{'' if ok else '  NOT REACHED'}"
            )
        for step in bench.steps(bench.Shape(tokens, group=3), SCHEMES, statistic=min):
            assert step.mlx_ms is not None
            ratio, least = step.mlx_ms / step.ours_ms, promises[step.scheme][0]
            reached &= ratio >= least
            print(
                f"T={tokens} {step.scheme}, a whole step (one token more, packing included): {step.ours_ms:.2f} ms; "
                f"MLX float32 {step.mlx_ms:.2f} ms, x{ratio:.1f} (at least {least:g})"
                f"{'' if ratio >= least else '  NOT REACHED'}",
                flush=True,
            )
    for found in bench.prefill(bench.Shape(8192, group=3), SCHEMES, repeats=max(turns // 10, 1), statistic=min):
        assert found.mlx_ms is not None
        ratio = found.ours_ms / found.mlx_ms
        reached &= ratio <= PREFILL_COST
        print(
            f"{bench.LATER} tokens behind {found.tokens}, {found.scheme}: {found.ours_ms:.0f} ms, x{ratio:.2f} MLX's "
            f"(at most {PREFILL_COST}){'' if ratio <= PREFILL_COST else '  NOT REACHED'}"
        )
    for bits in (3, 4):
        ratio = encode_cost(bits, turns)
        reached &= ratio <= ENCODE_COST
        print(
            f"encode 64 tokens, {bits} bits, 8 trial scales: x{ratio:.2f} the plain one (at most {ENCODE_COST})"
            f"{'' if ratio <= ENCODE_COST else '  NOT REACHED'}"
        )
    return 0 if reached else 1


def encode_cost(bits: int, turns: int) -> float:
    """How many times longer the search takes for 64 tokens of 8 heads; fastest turns of both."""
    backend, x = NumbaBackend(), mx.random.normal((1, 8, 64, 128))
    ways = codec(128, bits, KEY_SEED), key_codec(128, bits)
    times: list[list[float]] = [[], []]
    for turn in range(turns + 2):
        for way, taken in zip(ways, times, strict=True):
            begin = perf_counter()
            mx.eval(backend.encode(x, way))
            if turn > 1:
                taken.append(perf_counter() - begin)
    return min(times[1]) / min(times[0])


if __name__ == "__main__":
    sys.exit(main())
