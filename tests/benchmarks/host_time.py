"""What one layer's decode step costs the processor before anything is computed: Python and MLX's graph.

    python -m tests.benchmarks.host_time [tokens]

Runs anywhere: the graph is built and never evaluated, and in place of a GPU's kernels there is an operation that takes
as many arrays. Microseconds a layer, beside mlx-lm's own cache: alone, and within a step of a model of 28 layers in the
shape of Llama 3.2 3B, where nothing is warm. The fastest of several turns each.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from mlx.nn.layers.quantized import quantize
from mlx_lm.models import llama
from mlx_lm.models.base import scaled_dot_product_attention
from mlx_lm.models.cache import KVCache

from turboquant.backends.gpu import GpuBackend
from turboquant.backends.verified import Verified
from turboquant.bench_model import LLAMA_3B
from turboquant.cache import TurboQuantCache
from turboquant.kernels.specs import Kernel, Launch, Target

LAYERS, HEADS, KV_HEADS, DIM = 28, 24, 8, 128
TAIL = 50  # raw tokens before each step, so that none is packed


class Nothing:
    """Takes the place of a launcher."""

    target: Target = "cuda"

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        return [mx.zeros(s, getattr(mx, d)) for s, d in zip(launch.shapes, launch.dtypes, strict=True)]

    def fuse(self, function: Callable[..., list[mx.array]]) -> Callable[..., list[mx.array]]:
        return mx.compile(function)


class Everything(Verified):
    def __contains__(self, name: str) -> bool:
        return True


def rows(count: int, heads: int = KV_HEADS) -> mx.array:
    return mx.random.normal((1, heads, count, DIM)).astype(mx.bfloat16)


def ours(tokens: int, scheme: str) -> list[Any]:
    first = TurboQuantCache(scheme)
    first.update_and_fetch(rows(tokens), rows(tokens))
    first.calibration.observe(rows(128, HEADS), KV_HEADS)
    first.attended = True
    first.compress()
    backend, made = GpuBackend(Nothing(), Everything(None)), []
    for _ in range(LAYERS):
        made.append(copy.deepcopy(first))
        made[-1].backend = backend
    return made


def mlx_lms(tokens: int) -> list[Any]:
    made = [KVCache() for _ in range(LAYERS)]
    for cache in made:
        cache.update_and_fetch(rows(tokens), rows(tokens))
    return made


def ready(cache: Any) -> None:
    if isinstance(cache, TurboQuantCache) and cache.packing:
        cache.tail_keys.count = cache.tail_values.count = TAIL


def fastest(step: Callable[[], Any], before: Callable[[], None], turns: int = 200) -> float:
    times, kept = [], []
    for _ in range(turns):
        before()
        begin = time.perf_counter()
        kept = [step()]
        times.append(time.perf_counter() - begin)
    del kept
    return min(times) * 1e6


def alone(caches: list[Any]) -> float:
    key, value, query = rows(1), rows(1), rows(1, HEADS)
    mx.eval(key, value, query)

    def step() -> None:
        for cache in caches:
            keys, values = cache.update_and_fetch(key, value)
            scaled_dot_product_attention(query, keys, values, cache, scale=DIM**-0.5, mask=None)

    return fastest(step, lambda: [ready(c) for c in caches] and None) / LAYERS


def within(model: Any, caches: list[Any]) -> float:
    token = mx.zeros((1, 1), mx.int32)
    return fastest(lambda: model(token, cache=caches), lambda: [ready(c) for c in caches] and None, 30) / LAYERS


def main() -> None:
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    model = llama.Model(llama.ModelArgs("llama", rms_norm_eps=1e-5, **LLAMA_3B))
    model.set_dtype(mx.bfloat16)
    quantize(model, group_size=64, bits=4)
    for name in ("mlx-lm", "turbo4", "none") * 2:
        both = [mlx_lms(tokens) if name == "mlx-lm" else ours(tokens, name) for _ in range(2)]
        print(f"{name}: {alone(both[0]):.1f} us alone, {within(model, both[1]):.1f} us of a model's step")


if __name__ == "__main__":
    main()
