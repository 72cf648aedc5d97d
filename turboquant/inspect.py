"""A model's caches before its weights are there: per layer what it holds, the verdict under a scheme, the bytes.

Built from config.json through mlx-lm's own model class. MLX is lazy: neither the random weights nor the traced steps
are ever computed, so a model of any size takes milliseconds and no memory.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx_lm.utils import _get_classes

from turboquant import plan
from turboquant.errors import UnsupportedModel
from turboquant.report import layer_bytes
from turboquant.schemes import NONE, Scheme, parse
from turboquant.split import uniform_note
from turboquant.trace import LENGTHS, CacheTrace, Traces, examine

PREFILL_STEP = 2048  # tokens that mlx-lm prefills at once


@dataclass(frozen=True)
class LayerForecast:
    """One cache: what it holds, what packs it or why nothing does, and its bytes at the tokens asked for.

    `kind`: attention, sliding window, latents or state; joined by " + " where one layer has several. `kv_heads`,
    `key_dim`, `value_dim`: 0 without keys and values. `window`: how many of the newest tokens it keeps, 0 for all.
    `used_bytes` counts the tokens held, `allocated_bytes` their buffers with capacity. `note`: what isn't as usual in
    how it packs, as far as its shape says.
    """

    index: int
    kind: str
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int
    scheme: str | None
    reason: str
    used_bytes: int
    allocated_bytes: int
    note: str = ""


def inspect_config(
    config: Mapping[str, Any], scheme: Scheme | str, tokens: int, *, dtype: mx.Dtype | None = None
) -> list[LayerForecast]:
    """The caches of the model that `config` (config.json) describes, at `tokens` of one sequence under `scheme`.

    `dtype`: what the model computes in; by default what the config names. Raises UnknownScheme, UnsupportedModel.
    """
    return forecast(examine_config(config, dtype=dtype), scheme, tokens)


def examine_config(config: Mapping[str, Any], *, dtype: mx.Dtype | None = None) -> Traces:
    """What `forecast` needs to know of a model, for any scheme and length. Raises UnsupportedModel."""
    model = build(config, dtype=dtype)
    try:
        return examine(model)
    except Exception as error:  # other people's code over other people's numbers: anything may come
        raise UnsupportedModel(f"A model of this configuration can't run: {error!r}") from error


def build(config: Mapping[str, Any], *, dtype: mx.Dtype | None = None) -> Module:
    """mlx-lm's model of this config, its random weights not computed. Raises UnsupportedModel.

    Code that comes with a model isn't run.
    """
    kind = config.get("model_type") if isinstance(config, Mapping) else None
    if not isinstance(kind, str):
        raise UnsupportedModel("The config names no model_type.")
    if config.get("model_file"):
        raise UnsupportedModel(f"The model brings its own code ({config['model_file']!r}), which isn't run.")
    key: Any = mx.random.state[0].tolist()  # type: ignore[index]
    try:
        model_class, arguments_class = _get_classes(dict(config))
        model: Module = model_class(arguments_class.from_dict(dict(config)))
    except (Exception, SystemExit) as error:  # as above; and a module of mlx-lm exits where its package is missing
        why = error if isinstance(error, TypeError | ValueError) else repr(error)
        raise UnsupportedModel(f"mlx-lm can't build a model of type {kind!r} from this config: {why}") from error
    finally:
        mx.random.seed(key[0] << 32 | key[1])  # the caller's random numbers go on as if nothing had been built
    model.set_dtype(dtype or config_dtype(config))
    return model


def config_dtype(config: Mapping[str, Any]) -> mx.Dtype:
    """The type that the config names for its weights; bfloat16 where it names none that MLX has."""
    for part in (config, config.get("text_config")):
        if isinstance(part, Mapping):
            name = part.get("torch_dtype") or part.get("dtype")
            if name in ("float16", "bfloat16", "float32"):
                return getattr(mx, name)
    return mx.bfloat16


def forecast(traces: Traces, scheme: Scheme | str, tokens: int) -> list[LayerForecast]:
    """Verdict and bytes of each cache at `tokens` of one sequence, once packed. Raises UnknownScheme."""
    wanted = parse(scheme)
    return [_layer(index, group, wanted, max(tokens, 0)) for index, group in enumerate(traces)]


def _layer(index: int, group: tuple[CacheTrace, ...], scheme: Scheme, tokens: int) -> LayerForecast:
    main, raw = plan.attended(group), plan.obstacle(group)
    reason = raw or plan.dimension_obstacle(main, scheme)
    sizes = [raw_bytes(part, tokens) for part in group if raw or part is not main]
    if not raw:
        shape, keep = (1, main.kv_heads, main.key_dim, main.value_dim), getattr(main.fresh, "keep", 0)
        sizes.append(layer_bytes(shape, NONE if reason else scheme, tokens, window=main.window, keep=keep))
    used, allocated = (sum(size) for size in zip(*sizes, strict=True))
    return LayerForecast(
        index,
        " + ".join(plan.kind(part) for part in group),
        main.kv_heads,
        main.key_dim,
        main.value_dim,
        main.window,
        scheme.name if scheme.compresses and not reason else None,
        reason if scheme.compresses else "",
        used,
        allocated,
        "" if reason else uniform_note(main.key_dim, scheme.key_bits),
    )


def raw_bytes(part: CacheTrace, tokens: int) -> tuple[int, int]:
    """Used and allocated bytes of one of mlx-lm's own caches: it is filled with zeros that are never computed."""
    if tokens == 0:
        return 0, 0
    if not part.kv_heads or part.dtype is None:
        first, last = part.state_bytes[0], part.state_bytes[-1]
        grown = first + (last - first) * (tokens - LENGTHS[0]) // (LENGTHS[1] - LENGTHS[0])
        return grown, grown
    cache = copy.copy(part.fresh)
    steps = [PREFILL_STEP] * ((tokens - 1) // PREFILL_STEP) + [(tokens - 1) % PREFILL_STEP, 1]
    for rows in filter(None, steps):
        if hasattr(cache, "maybe_trim_front"):
            cache.maybe_trim_front()
        cache.update_and_fetch(
            *(mx.zeros((1, part.kv_heads, rows, dim), part.dtype) for dim in (part.key_dim, part.value_dim))
        )
    row = part.kv_heads * (part.key_dim + part.value_dim) * part.dtype.size
    return row * min(tokens, part.window or tokens), cache.nbytes
