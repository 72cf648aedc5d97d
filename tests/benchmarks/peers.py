"""Other compressed caches for MLX beside this one, in one process on the same tensors: time, measured bytes, error.

    .venv/bin/pip install --no-deps --target build/peers mlx-vlm==0.7.10
    PYTHONPATH=build/peers .venv/bin/python -m tests.benchmarks.peers [--tokens 1024,4096] [--json]

Candidates: MLX's attention over mlx-lm's KVCache, mlx-lm's affine QuantizedKVCache, mlx-vlm's TurboQuantKVCache and
ours. Each one holds the same tokens, random ones or what a model makes of a text; then all take turns in adding a token
and attending from it, in the type that models have on this device. The error is that of the attention's result,
relative to float64 attention over the exact tensors, the mean of all steps. Without mlx-vlm its rows are left out.
Nothing else here needs it, and it isn't imported as a whole: its dependencies (OpenCV, a web server, audio) have
nothing to do with its cache.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from turboquant import backends, bench, measuring, terminal  # before MLX: it loads a BLAS that is several times faster

# isort: split
import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.base import scaled_dot_product_attention
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache
from numpy.typing import NDArray

from turboquant.cache import TurboQuantCache

OURS = ("turbo8", "turbo4", "turbo3", "turbo2", "turbo0v4")
TEXTS = Path(__file__).parents[1] / "data" / "texts"

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Result:
    """`ratio`: bytes of the same tokens in 16 bits over the bytes held; `error`: relative to exact attention."""

    tensors: str
    tokens: int
    candidate: str
    ms: float
    bytes_per_token: float
    ratio: float
    error: float


@dataclass
class Candidate:
    """`step(query, key, value)` adds a token and attends; `used` counts the bytes of the tokens held."""

    name: str
    step: Callable[[mx.array, mx.array, mx.array], mx.array]
    used: Callable[[], float]


class Problem:
    """Keys, values (1, H, T, D) and queries (1, Hq, T, D) of one layer in float32; the last `steps` come one by one."""

    def __init__(self, name: str, keys: F32, values: F32, queries: F32, steps: int) -> None:
        self.name, self.steps = name, steps
        self.tokens = keys.shape[2] - steps
        self.scale = float(keys.shape[-1] ** -0.5)
        self.exact = [self._attention(keys, values, queries, self.tokens + i) for i in range(steps)]
        kind = bench.model_type()
        self.keys, self.values, self.queries = (mx.array(x).astype(kind) for x in (keys, values, queries))
        mx.eval(self.keys, self.values, self.queries)

    def prompt(self) -> tuple[mx.array, mx.array]:
        return self.keys[:, :, : self.tokens], self.values[:, :, : self.tokens]

    def token(self, step: int) -> tuple[mx.array, mx.array, mx.array]:
        at = slice(self.tokens + step, self.tokens + step + 1)
        return self.queries[:, :, at], self.keys[:, :, at], self.values[:, :, at]

    def _attention(self, keys: F32, values: F32, queries: F32, newest: int) -> NDArray[np.float64]:
        k, v = (x[0, :, : newest + 1].astype(np.float64) for x in (keys, values))
        q = queries[0, :, newest].astype(np.float64).reshape(len(k), -1, k.shape[-1])
        scores = self.scale * q @ k.swapaxes(-1, -2)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.asarray(weights / weights.sum(-1, keepdims=True) @ v).reshape(-1)


def normal(shape: bench.Shape, steps: int) -> Problem:
    """Random tensors: every channel is like every other one."""
    random = np.random.RandomState(1)
    rows = 1, shape.kv_heads, shape.tokens + steps, shape.head_dim
    keys, values = (random.standard_normal(rows).astype(np.float32) for _ in range(2))
    queries = 2 * random.standard_normal((1, shape.kv_heads * shape.group, *rows[2:])).astype(np.float32)
    return Problem("normal", keys, values, queries, steps)


class Recorder(KVCache):
    """mlx-lm's cache that keeps the queries too."""

    queries: list[mx.array]

    def attend_fetched(
        self, queries: mx.array, keys: mx.array, values: mx.array, scale: float, mask: Any, sinks: Any
    ) -> mx.array:
        self.queries = [*getattr(self, "queries", []), queries]
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)


def of_model(name: str, tokens: int, steps: int) -> Problem:
    """What the layer in the middle of a model makes of this repository's texts."""
    folder = measuring.model_folder(name)
    model, tokenizer = measuring.load(folder)
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("*.txt")))
    ids = tokenizer.encode(text[: 8 * (tokens + steps)])[: tokens + steps]
    assert len(ids) == tokens + steps, f"The texts have {len(ids)} tokens only."
    caches = make_prompt_cache(model)
    layer = len(caches) // 2
    caches[layer] = recorder = Recorder()
    for start in range(0, len(ids), 512):
        mx.eval(model(mx.array(ids[start : start + 512])[None], cache=caches), recorder.state, recorder.queries)
    held = *recorder.keys_and_values(), mx.concatenate(recorder.queries, axis=2)
    keys, values, queries = (np.asarray(x.astype(mx.float32)) for x in held)
    return Problem(f"{folder.name}, layer {layer}", keys, values, queries, steps)


# ---------------------------------------------------------------------- candidates


def candidates(problem: Problem) -> list[Candidate]:
    kinds: list[Callable[[], Candidate]] = [lambda: _mlx(problem, KVCache(), f"MLX {_name(bench.model_type())}")]
    if bench.on_cpu():
        kinds.append(lambda: _mlx(problem, KVCache(), "MLX float16", mx.float16))
    for bits in (8, 4):
        kinds.append(lambda b=bits: _mlx(problem, QuantizedKVCache(64, b), f"mlx-lm affine {b} bit"))  # type: ignore[misc]
    if peer := mlx_vlm():
        for bits in (4, 3.5, 3, 2):
            kinds.append(lambda b=bits: _mlx_vlm(problem, peer.TurboQuantKVCache(b), f"mlx-vlm {b:g} bit"))  # type: ignore[misc]
    for scheme in OURS:
        kinds.append(lambda s=scheme: _ours(problem, s))  # type: ignore[misc]
    return [make() for make in kinds]


def mlx_vlm() -> Any:
    """mlx-vlm's module of that name, None where it isn't installed."""
    spec = importlib.util.find_spec("mlx_vlm")
    if spec is None:
        return None
    sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))  # the package's own code isn't run
    return importlib.import_module("mlx_vlm.turboquant")


def _mlx(problem: Problem, cache: Any, name: str, dtype: mx.Dtype | None = None) -> Candidate:
    kind = dtype or bench.model_type()
    mx.eval(cache.update_and_fetch(*(x.astype(kind) for x in problem.prompt())))

    def step(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        held = cache.update_and_fetch(key.astype(kind), value.astype(kind))
        return scaled_dot_product_attention(query.astype(kind), *held, cache=cache, scale=problem.scale, mask=None)

    def used() -> float:
        arrays = [array for _, array in tree_flatten([cache.keys, cache.values])]  # type: ignore[misc]
        return sum(array.nbytes / array.shape[2] for array in arrays) * cache.offset

    return Candidate(name, step, used)


def _mlx_vlm(problem: Problem, cache: Any, name: str) -> Candidate:
    mx.eval(cache.update_and_fetch(*problem.prompt())[:0], _arrays(cache))

    def step(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        keys, values = cache.update_and_fetch(key, value)
        return cache.decode_attention(query, keys_state=keys, values_state=values, scale=problem.scale, mask=None)

    def used() -> float:
        return sum(array.nbytes / array.shape[2] for array in _arrays(cache)) * cache.offset

    return Candidate(name, step, used)


def _ours(problem: Problem, scheme: str) -> Candidate:
    cache = TurboQuantCache(scheme)
    cache.update_and_fetch(*problem.prompt())
    # as a model's own attention does while it reads a prompt
    cache.calibration.observe(problem.queries[:, :, : problem.tokens], problem.keys.shape[1])
    cache.compress()

    def step(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        cache.update_and_fetch(key, value)
        return cache.attend(query, problem.scale)

    return Candidate(scheme, step, lambda: float(cache.used_bytes))


def _arrays(cache: Any) -> list[mx.array]:
    """What mlx-vlm's cache holds of its tokens, (B, H, T, ...)."""
    held = tree_flatten([cache.keys, cache.values])
    return [array for _, array in held if isinstance(array, mx.array)]  # type: ignore[misc]


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).rsplit(".", maxsplit=1)[-1]


# ---------------------------------------------------------------------- the race


def race(problem: Problem) -> list[Result]:
    taking_part = candidates(problem)
    times: dict[str, list[float]] = {c.name: [] for c in taking_part}
    errors: dict[str, list[float]] = {c.name: [] for c in taking_part}
    for i in range(problem.steps):
        token, exact = problem.token(i), problem.exact[i]
        mx.eval(token)
        for candidate in taking_part[i % len(taking_part) :] + taking_part[: i % len(taking_part)]:
            mx.synchronize()
            begin = time.perf_counter()
            out = candidate.step(*token)
            mx.eval(out)
            times[candidate.name].append((time.perf_counter() - begin) * 1e3)
            difference = np.asarray(out.astype(mx.float32), np.float64).reshape(-1) - exact
            errors[candidate.name].append(float(np.linalg.norm(difference) / np.linalg.norm(exact)))
    held = problem.tokens + problem.steps
    sixteen = 2 * 2 * problem.keys.shape[1] * problem.keys.shape[-1]
    return [
        Result(
            tensors=problem.name,
            tokens=problem.tokens,
            candidate=c.name,
            ms=median(times[c.name][1:]),  # the first may compile
            bytes_per_token=c.used() / held,
            ratio=sixteen * held / c.used(),
            error=float(np.mean(errors[c.name])),
        )
        for c in taking_part
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=terminal.lengths, default=[1024, 4096])
    parser.add_argument("--steps", type=terminal.positive, default=40)
    parser.add_argument("--model", default="starter", help="'starter', a folder with an MLX model, or 'none'")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if mlx_vlm() is None:
        print("mlx-vlm isn't installed, so its rows are left out; see the first lines of this file.", file=sys.stderr)
    results = []
    for tokens in options.tokens:
        results += race(normal(bench.Shape(tokens, kv_heads=4), options.steps))
        if options.model != "none":
            results += race(of_model(options.model, tokens, options.steps))
    rows = [asdict(result) for result in results]
    terminal.show(options, {"machine": bench.machine(), "backend": backends.choose().name, "rows": rows}, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
