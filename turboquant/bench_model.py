"""Tokens a second of whole generation over caches of several schemes, beside mlx-lm's own cache.

What a cache holds doesn't change how long attention takes, so a cache is filled with random keys and values behind a
short real prompt: even 128k tokens are there at once, and any weights will do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, cast

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import quantize
from mlx.utils import tree_flatten
from mlx_lm.generate import generate_step
from mlx_lm.models import llama
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import dequantize_model

from turboquant.bench import free_bytes, on_cpu
from turboquant.errors import TurboQuantError
from turboquant.inspect import raw_bytes
from turboquant.plan import make_cache
from turboquant.trace import examine, parts

PROMPT = 64  # tokens that the model reads itself, so that a cache knows its queries
MLX_LM = "mlx-lm"  # the row that the others are compared with

# Llama 3.2 3B but for the weights.
LLAMA_3B = {
    **{"hidden_size": 3072, "num_hidden_layers": 28, "intermediate_size": 8192, "vocab_size": 128_256},
    **{"num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128, "rope_theta": 500_000.0},
}


@dataclass(frozen=True)
class Speed:
    """Generation behind `tokens` tokens. `relative`: to mlx-lm's own cache; bytes as the caches allocate them."""

    tokens: int
    scheme: str
    tokens_per_s: float
    relative: float
    kv_bytes: int


def random_model(**changes: Any) -> Module:
    """A Llama of random weights, 3B-shaped but for the `changes`: 4-bit, float32 where MLX runs on the CPU.

    Raises TurboQuantError where it doesn't fit in memory.
    """
    args = llama.ModelArgs("llama", rms_norm_eps=1e-5, **{**LLAMA_3B, **changes})
    model = llama.Model(args)
    weights = sum(array.size for array in _parameters(model))
    needed = int(weights * (4 if on_cpu() else 0.6))
    if needed > 0.9 * free_bytes():
        raise TurboQuantError(
            f"The random model takes {needed / 1e9:.1f} GB, {free_bytes() / 1e9:.1f} are free. Give a model's folder."
        )
    if not on_cpu():
        model.set_dtype(mx.bfloat16)
        quantize(model, group_size=64, bits=4)
    for array in _parameters(model):
        mx.eval(array)  # one at a time: the unquantised model may not fit
    return model


def for_this_device(model: Module) -> Module:
    """On a CPU in float32, as the application has it: MLX's quantised product takes 47 times as long there."""
    if on_cpu():
        model = dequantize_model(model)
        model.set_dtype(mx.float32)
        mx.eval(model.parameters())
    return model


def needed_bytes(model: Module, tokens: int) -> int:
    """What mlx-lm's own caches take, with as much again for making them."""
    return 2 * sum(raw_bytes(part, tokens)[1] for group in examine(model) for part in group)


def generation(
    model: Module, tokens: int, schemes: Sequence[str], *, new_tokens: int = 32, rounds: int = 3
) -> list[Speed]:
    """A Speed a scheme, mlx-lm's own cache first: the medians of `rounds` rounds in which all take turns."""
    names = (MLX_LM, *schemes)
    rates: dict[str, list[float]] = {name: [] for name in names}
    sizes: dict[str, int] = {}
    for _ in range(rounds):
        for name in names:
            caches = _filled(model, name, tokens)
            rates[name].append(_rate(model, caches, new_tokens))
            sizes[name] = sum(cache.nbytes for cache in caches)
            del caches
            mx.clear_cache()
    base = median(rates[MLX_LM])
    return [Speed(tokens, name, median(rates[name]), median(rates[name]) / base, sizes[name]) for name in names]


def _filled(model: Module, scheme: str, tokens: int) -> list[Any]:
    """Caches of that many tokens; states hold what the prompt left them.

    Raises TurboQuantError where a model's own kind of cache can't be filled.
    """
    caches = make_prompt_cache(model) if scheme == MLX_LM else make_cache(model, scheme)
    prompt = min(PROMPT, tokens)
    mx.eval(model(mx.random.randint(0, 256, (1, prompt)), cache=caches))
    for part in (part for cache in caches for part in parts(cache)):
        more = tokens - prompt
        if more and hasattr(part, "keys_and_values") and not part.empty():
            part.update_and_fetch(*(_more(x, more) for x in part.keys_and_values()))
            mx.eval(part.state)
        if getattr(part, "offset", tokens) != tokens:
            raise TurboQuantError(
                f"This model keeps tokens in a {type(part).__name__} of its own, which can't be filled at once: its "
                "generation can't be timed behind a long context."
            )
    return caches


def _more(like: mx.array, rows: int) -> mx.array:
    return mx.random.normal((*like.shape[:2], rows, like.shape[-1])).astype(like.dtype)


def _rate(model: Module, caches: list[Any], new_tokens: int) -> float:
    """Tokens a second behind the first one, at which the caches are packed."""
    steps = generate_step(mx.array([1]), model, max_tokens=new_tokens + 1, prompt_cache=caches)
    next(steps)
    begin = time.perf_counter()
    for _ in steps:
        end = time.perf_counter()
    return new_tokens / (end - begin)


def _parameters(model: Module) -> list[mx.array]:
    return [array for _, array in cast(list[tuple[str, mx.array]], tree_flatten(model.parameters()))]
