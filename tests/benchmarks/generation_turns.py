"""Tokens a second of whole generation, caches taking turns of a few steps: for machines whose speed drifts.

    python -m tests.benchmarks.generation_turns [tokens,...] [scheme,...]

The random model of `bench --model`. `bench` gives each scheme whole rounds, between which a shared processor may
change its pace by half. All caches are held at once. A step is what the processor builds, submits to MLX, and how long
it then waits for the step before.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import mlx.core as mx
import numpy as np

from turboquant import bench_model

TURNS, TURN = 16, 8


class Generation:
    def __init__(self, model: Any, scheme: str, tokens: int) -> None:
        self.model, self.caches = model, bench_model._filled(model, scheme, tokens)
        self.token = self._next(mx.array([[1]]))
        self.times: list[tuple[float, float, float]] = []  # seconds: build, submit, wait

    def _next(self, token: mx.array) -> mx.array:
        return mx.argmax(self.model(token, cache=self.caches)[:, -1], axis=-1)[None]

    def steps(self, count: int) -> None:
        for _ in range(count):
            begin = time.perf_counter()
            token = self._next(self.token)
            built = time.perf_counter()
            mx.async_eval(token)
            submitted = time.perf_counter()
            self.token.item()
            self.times.append((built - begin, submitted - built, time.perf_counter() - submitted))
            self.token = token
        mx.eval(self.token)


def main() -> None:
    lengths = [int(n) for n in (sys.argv[1] if len(sys.argv) > 1 else "512,8192,32768").split(",")]
    schemes = (sys.argv[2] if len(sys.argv) > 2 else "turbo4,turbo2,none").split(",")
    model = bench_model.random_model()
    for tokens in lengths:
        runs = {name: Generation(model, name, tokens) for name in (bench_model.MLX_LM, *schemes)}
        for run in runs.values():
            run.steps(4)
            run.times.clear()
        for _ in range(TURNS):
            for run in runs.values():
                run.steps(TURN)
        base = np.array(runs[bench_model.MLX_LM].times).sum(axis=1)
        for name, run in runs.items():
            times = np.array(run.times)
            whole, parts = times.sum(axis=1), np.median(times, axis=0) * 1e6
            print(
                f"{tokens} tokens, {name}: {1 / whole.mean():.1f} tokens/s, relative {base.mean() / whole.mean():.3f}, "
                f"of the median {np.median(base) / np.median(whole):.3f}; build, submit, wait {parts.round()} us",
                flush=True,
            )


if __name__ == "__main__":
    main()
