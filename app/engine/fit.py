"""What a model takes on this machine, from its config.json: weights, work and cache under each scheme and length.

Runs in the engine thread: mlx-lm's own model class is built to be asked, though none of its weights is computed. Every
cache grows as the model lets it: windows stay at their width, recurrent states stay as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from turboquant import inspect, schemes, trace  # before MLX: it loads a BLAS that makes prefill several times faster

# isort: split
import mlx.core as mx
import psutil
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import quantize
from mlx.utils import tree_flatten

from app.engine import support
from app.errors import AppError
from app.model_events import ModelFit, SchemeFit
from app.words import number, retold, say, size
from turboquant.errors import UnsupportedModel
from turboquant.trace import CacheTrace, Traces

LENGTHS = (4096, 8192, 32768)
SHORT, USEFUL = 4096, 512  # tokens: a conversation worth loading a model for, and the least that one can offer
_NAMED = "turbo4"  # the scheme that a verdict speaks of: small, and exact enough for any model
_UNSTATED = 1 << 17  # where a config says nothing of its longest sequence
_STEP = 512  # tokens of a prefill step
# Beside the model: the system, other programs and this one. A machine that is filled to the brim stands still.
_RESERVE_BYTES, _RESERVE_SHARE = 2 << 30, 0.1
# mlx-lm's models that make an output layer and let it go when the files hold none, as those of tied embeddings do.
_HEAD_MAY_GO = (".gemma3_text", ".recurrent_gemma")


@dataclass(frozen=True)
class Machine:
    """Bytes: all memory, what models may use of it, and what they may use now, the loaded one given back."""

    total_bytes: int
    usable_bytes: int
    free_bytes: int

    @classmethod
    def now(cls) -> Machine:
        memory, mine = psutil.virtual_memory(), mx.get_active_memory() + mx.get_cache_memory()
        device = mx.device_info()
        total, available = memory.total, memory.available
        if "free_memory" in device:  # a GPU with memory of its own
            total, available = int(device["total_memory"]), int(device["free_memory"])
        return cls.of(total, available + mine, int(device.get("max_recommended_working_set_size", total)))

    @classmethod
    def of(cls, total_bytes: int, available_bytes: int, limit_bytes: int) -> Machine:
        """`limit_bytes`: what the GPU may take at most of memory that it shares."""
        reserve = max(int(total_bytes * _RESERVE_SHARE), min(_RESERVE_BYTES, total_bytes // 4))
        usable = min(total_bytes - reserve, limit_bytes)
        return cls(total_bytes, usable, max(0, min(usable, available_bytes - reserve // 4)))


class Forecast:
    """What one model takes. Raises UnsupportedModel where mlx-lm can't build it."""

    def __init__(self, config: Mapping[str, Any], stored_bytes: int = 0, *, cpu: bool | None = None) -> None:
        """`stored_bytes` of the weight files, where known. `cpu`: whether MLX computes there; as it does by default."""
        self.on_cpu = mx.default_device() == mx.cpu if cpu is None else cpu
        dtype = mx.float32 if self.on_cpu else None  # as the loader does
        model = inspect.build(config, dtype=dtype)
        try:
            traces = trace.examine(model)
            self.layers_total = len(traces)
            # Layers of one kind are alike: each kind is asked once.
            self._kinds = _kinds(traces)
            self.cache_bytes(schemes.NONE.name, SHORT)  # a window that is no number only shows now
        except Exception as error:  # other people's code over other people's numbers: anything may come
            raise UnsupportedModel(f"The model can't run: {error!r}") from error
        self.context_tokens = support.context_tokens(config) or 0
        self.work_bytes = _work_bytes(config, self.on_cpu)
        self.weights_bytes = self._weights_bytes(model, config, stored_bytes)

    def cache_bytes(self, scheme: str, tokens: int) -> int:
        """Allocated bytes of all caches of one conversation of `tokens`."""
        return sum(count * size for count, size in self._sizes(scheme, tokens))

    def needed_bytes(self, scheme: str, tokens: int) -> int:
        """All that a conversation of `tokens` takes: weights, caches, and work, in which a growing cache is copied."""
        sizes = self._sizes(scheme, tokens)
        largest = max((size for _, size in sizes), default=0)
        return self.weights_bytes + self.work_bytes + largest + sum(count * size for count, size in sizes)

    def longest_tokens(self, scheme: str, limit_bytes: int) -> int:
        """The longest conversation that `limit_bytes` hold, at most the model's own; 0 where none."""
        low, high = 0, self.context_tokens or _UNSTATED
        if self.needed_bytes(scheme, high) <= limit_bytes:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.needed_bytes(scheme, middle) <= limit_bytes else (low, middle)
        return low

    def compressed(self, scheme: str) -> int:
        """How many layers `scheme` packs."""
        return sum(count for count, layer in self._layers(scheme, 1) if layer.scheme)

    def reasons(self, scheme: str) -> Counter[str]:
        """Why layers stay uncompressed under `scheme`, and how many."""
        found: Counter[str] = Counter()
        for count, layer in self._layers(scheme, 1):
            if layer.reason:
                found[retold(layer.reason)] += count
        return found

    def _layers(self, scheme: str, tokens: int) -> list[tuple[int, inspect.LayerForecast]]:
        layers = inspect.forecast(tuple(trace for trace, _ in self._kinds), scheme, tokens)
        return [(count, layer) for (_, count), layer in zip(self._kinds, layers, strict=True)]

    def _sizes(self, scheme: str, tokens: int) -> list[tuple[int, int]]:
        return [(count, layer.allocated_bytes) for count, layer in self._layers(scheme, tokens)]

    def _weights_bytes(self, model: Module, config: Mapping[str, Any], stored_bytes: int) -> int:
        """On a CPU weights become float32, so their number counts; a model that also sees keeps its text part only."""
        for module in model.modules():
            if type(module).__module__.endswith(_HEAD_MAY_GO) and config.get("tie_word_embeddings", True):
                module.pop("lm_head", None)
        if self.on_cpu:
            return _bytes(model)
        if stored_bytes and not {"vision_config", "audio_config"} & config.keys():
            return stored_bytes
        if isinstance(quantization := config.get("quantization"), dict):
            _quantise(model, quantization)
        return _bytes(model)


def judge(config_json: str, stored_bytes: int = 0, machine: Machine | None = None) -> ModelFit:
    """What the model of this config.json takes on `machine` (this one). Raises AppError with the reason why nobody
    can say.
    """
    try:
        config = json.loads(config_json)
    except (ValueError, RecursionError) as error:
        raise AppError(say("Its config.json can't be read."), detail=repr(error)) from error
    if not isinstance(config, dict):
        raise AppError(say("Its config.json isn't an object."))
    if reason := support.unsupported(config):
        raise AppError(reason)
    try:
        forecast = Forecast(config, stored_bytes)
    except UnsupportedModel as error:
        raise AppError(say("mlx-lm can't build a model from its config.json."), detail=str(error)) from error
    return fit(forecast, machine or Machine.now())


def fit(forecast: Forecast, machine: Machine) -> ModelFit:
    """The forecast against the machine."""
    context = forecast.context_tokens
    lengths = tuple(n for n in LENGTHS if n < (context or _UNSTATED)) + ((context,) if context else ())
    found = tuple(
        SchemeFit(
            scheme.name,
            tuple(forecast.cache_bytes(scheme.name, tokens) for tokens in lengths),
            forecast.longest_tokens(scheme.name, machine.free_bytes),
            forecast.compressed(scheme.name),
        )
        for scheme in schemes.SCHEMES
    )
    verdict, words = _verdict(forecast, machine, found)
    packing = next(scheme.name for scheme in schemes.SCHEMES if scheme.key_bits and scheme.value_bits)
    return ModelFit(
        weights_bytes=forecast.weights_bytes,
        work_bytes=forecast.work_bytes,
        total_bytes=machine.total_bytes,
        usable_bytes=machine.usable_bytes,
        free_bytes=machine.free_bytes,
        context_tokens=context,
        lengths=lengths,
        schemes=found,
        layers_total=forecast.layers_total,
        verdict=verdict,
        words=words,
        notes=tuple(
            say("{0} of {1} layers stay uncompressed: {2}", count, forecast.layers_total, reason)
            for reason, count in forecast.reasons(packing).items()
        ),
    )


def _verdict(
    forecast: Forecast, machine: Machine, found: tuple[SchemeFit, ...]
) -> tuple[Literal["fits", "tight", "too large"], str]:
    context = forecast.context_tokens or _UNSTATED
    short = min(SHORT, context)
    named = next(scheme for scheme in found if scheme.scheme == _NAMED)
    if named.longest_tokens < short:
        named = max(found, key=lambda scheme: scheme.longest_tokens)
    least = min(forecast.needed_bytes(scheme.scheme, short) for scheme in found)
    weights = size(forecast.weights_bytes)
    if forecast.on_cpu:
        weights = say("{0} (as float32)", weights)
    if least > machine.usable_bytes:
        return "too large", say(
            "Too large for this computer: the model and a short conversation take {0}, and models can use {1} of "
            "its {2}.",
            size(least),
            size(machine.usable_bytes),
            size(machine.total_bytes),
        )
    if named.longest_tokens < short:
        return "tight", say(
            "Fits only when other programs give memory back: it takes at least {0}, and {1} are free now.",
            size(least),
            size(machine.free_bytes),
        )
    longest = number(named.longest_tokens)
    if named.longest_tokens < min(context, LENGTHS[1]):
        return "tight", say("Fits for short conversations: up to {0} tokens with {1}.", longest, named.scheme)
    raw = found[0].longest_tokens
    if raw >= named.longest_tokens:
        return "fits", say(
            "Fits: the model takes {0}, and conversations can reach {1} tokens even without compression.",
            weights,
            number(raw),
        )
    return "fits", say(
        "Fits: the model takes {0}. Conversations can reach {1} tokens with {2}, {3} without compression.",
        weights,
        longest,
        named.scheme,
        number(raw),
    )


def _kinds(traces: Traces) -> list[tuple[tuple[CacheTrace, ...], int]]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for group in traces:
        key = tuple((type(part.fresh), part.window, *_described(part)) for part in group)
        found.setdefault(key, [group, 0])[1] += 1
    return [(group, count) for group, count in found.values()]


def _described(part: CacheTrace) -> tuple[Any, ...]:
    return tuple(getattr(part, field.name) for field in fields(part) if field.name != "fresh")


def _bytes(model: Module) -> int:
    flat: list[tuple[str, Any]] = tree_flatten(model.parameters())  # type: ignore[assignment]  # a list by default
    return sum(array.nbytes for _, array in flat)


def _quantise(model: Module, quantization: Mapping[str, Any]) -> None:
    """As mlx-lm does with the weights at hand: a layer takes its own entry, or the usual one where it divides."""

    def wanted(path: str, module: Module) -> bool | dict[str, Any]:
        if path in quantization:
            return quantization[path]
        weight = getattr(module, "weight", None)
        return hasattr(module, "to_quantized") and weight is not None and weight.shape[-1] % group == 0

    group = quantization["group_size"]
    mode = quantization.get("mode", "affine")
    try:
        quantize(model, group_size=group, bits=quantization["bits"], mode=mode, class_predicate=wanted)
    except (ValueError, TypeError, KeyError) as error:
        raise UnsupportedModel(f"Its quantisation can't be: {error}") from error


def _work_bytes(config: Mapping[str, Any], cpu: bool) -> int:
    """What a step of prefill holds at its widest: a layer's inputs and its inner products, and a token's logits."""
    hidden, inner, vocabulary = (_largest(config, key) for key in ("hidden_size", "intermediate_size", "vocab_size"))
    return _STEP * (4 * hidden + 3 * max(inner, hidden)) * (4 if cpu else 2) + 8 * vocabulary


def _largest(config: Mapping[str, Any], key: str) -> int:
    """A number of the config; of one a layer, the largest. 0 where it isn't there."""
    values = [part.get(key) for part in support.parts(config)]
    flat = [number for value in values for number in (value if isinstance(value, list) else [value])]
    return max((number for number in flat if isinstance(number, int)), default=0)
