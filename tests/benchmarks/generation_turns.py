"""Tokens a second of whole generation, caches taking turns of a few steps: for machines whose speed drifts.

    python -m tests.benchmarks.generation_turns [tokens,...] [scheme,...] [turns] [prompts]

The random model of `bench --model`. `bench` gives each scheme whole rounds, between which a shared processor may
change its pace by half. All caches are held at once. A step is what the processor builds, submits to MLX, and how long
it then waits for the step before; those that pack stand by themselves. Then a later turn's prompt of 512 tokens.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import mlx.core as mx
import numpy as np

from turboquant import bench_model
from turboquant.segments import Buffer

TURNS, TURN = 16, 8
PROMPT, PROMPTS = mx.zeros((1, 512), mx.int32), 5
NOTHING = Buffer()


class Generation:
    def __init__(self, model: Any, scheme: str, tokens: int) -> None:
        self.model, self.caches = model, bench_model._filled(model, scheme, tokens)
        self.token = self._next(mx.array([[1]]))
        self.times: list[tuple[float, float, float]] = []  # seconds: build, submit, wait
        self.packed: list[bool] = []  # whether a step packed
        self.prompts: list[tuple[float, float, float]] = []  # likewise

    def _next(self, token: mx.array) -> mx.array:
        return mx.argmax(self.model(token, cache=self.caches)[:, -1], axis=-1)[None]

    def _body(self) -> int:
        return getattr(self.caches[0], "body_values", NOTHING).count

    def steps(self, count: int) -> None:
        for _ in range(count):
            body, begin = self._body(), time.perf_counter()
            token = self._next(self.token)
            built = time.perf_counter()
            mx.async_eval(token)
            submitted = time.perf_counter()
            self.token.item()
            self.times.append((built - begin, submitted - built, time.perf_counter() - submitted))
            self.packed.append(self._body() > body)
            self.token = token
        mx.eval(self.token)

    def prompt(self) -> None:
        begin = time.perf_counter()
        logits = self.model(PROMPT, cache=self.caches)
        built = time.perf_counter()
        mx.async_eval(logits)
        submitted = time.perf_counter()
        mx.eval(logits)
        self.prompts.append((built - begin, submitted - built, time.perf_counter() - submitted))
        for cache in self.caches:
            cache.trim(PROMPT.shape[1])


def main() -> None:
    lengths = [int(n) for n in (sys.argv[1] if len(sys.argv) > 1 else "512,8192,32768").split(",")]
    schemes = (sys.argv[2] if len(sys.argv) > 2 else "turbo4,turbo2,none").split(",")
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else TURNS
    prompts = max(int(sys.argv[4]), 1) if len(sys.argv) > 4 else PROMPTS
    model = bench_model.random_model()
    for tokens in lengths:
        runs = {name: Generation(model, name, tokens) for name in (bench_model.MLX_LM, *schemes)}
        for run in runs.values():
            run.steps(4)
            run.times.clear()
            run.packed.clear()
        for _ in range(turns):
            for run in runs.values():
                run.steps(TURN)
        for _ in range(prompts):
            for run in runs.values():
                run.prompt()
        base = runs[bench_model.MLX_LM]
        plain, prompt = np.array(base.times).sum(axis=1), np.median(np.array(base.prompts).sum(axis=1))
        for name, run in runs.items():
            times, packed, asked = np.array(run.times), np.array(run.packed), np.array(run.prompts)
            whole = times.sum(axis=1)
            print(
                f"{tokens} tokens, {name}: {1 / whole.mean():.1f} tokens/s, x{plain.mean() / whole.mean():.3f}, "
                f"of the median x{np.median(plain) / np.median(whole):.3f}; {_parts(times)} ms; "
                f"packing {(whole[packed] * 1e3).round(1)} ms; "
                f"a prompt x{np.median(asked.sum(axis=1)) / prompt:.2f}; {_parts(asked)} ms",
                flush=True,
            )


def _parts(times: np.ndarray) -> str:
    return "build, submit, wait " + ", ".join(f"{part:.2f}" for part in np.median(times, axis=0) * 1e3)


if __name__ == "__main__":
    main()
