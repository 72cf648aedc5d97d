"""How far schemes move a model's distribution: perplexity, KL divergence and top-1 agreement, on the real cache.

The prompt is prefilled, then every token of the text is fed alone, so that it goes through packing and decode attention
as in a chat. All texts and variants are rows of one batch (side_by_side.py), and so is the uncompressed cache
that they are compared with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
import numpy as np
from mlx.nn.layers.base import Module
from numpy.typing import NDArray

from turboquant import report
from turboquant.errors import TurboQuantError
from turboquant.schemes import NONE
from turboquant.side_by_side import SideBySide, Variant, prefill
from turboquant.trace import parts

Floats = NDArray[np.float64]
REFERENCE = Variant(NONE)
STRIDE = 16  # tokens fed at once where they aren't measured; few enough to be decoding and not a prompt


@dataclass(frozen=True)
class Evaluation:
    """`kld` in nats a token, KL(uncompressed || scheme); `top1`: share of tokens with the same likeliest next.

    `text`: index of the text; `context`: tokens in the cache at the end. The three figures are means over the `tokens`
    newest tokens. kv_used = packed + raw + statistics + other layers; `raw_tokens` of a packed layer. `seconds`: this
    row's share of the run's time.
    """

    scheme: str
    calibrate: bool
    text: int
    context: int
    tokens: int
    ppl: float
    kld: float
    top1: float
    kv_used_bytes: int
    kv_fp16_bytes: int
    packed_bytes: int
    raw_bytes: int
    statistics_bytes: int
    raw_tokens: int
    seconds: float


def evaluate(
    model: Module,
    texts: Sequence[Sequence[int]],
    prompt: int,
    tokens: int,
    variants: Sequence[Variant],
    *,
    contexts: Sequence[int] = (),
    last: int = 0,
    progress: Callable[[int], None] = lambda fed: None,
) -> list[Evaluation]:
    """An Evaluation a text, context and variant, over `tokens` tokens behind the first `prompt` of each of `texts`.

    `contexts`: lengths, prompt included, at which to measure on the way; by default the end. `last`: how many of the
    tokens before that to take the mean of, by default all; others are fed several at a time. `progress` gets the number
    of tokens fed. Raises TurboQuantError where a text is too short or a number doesn't fit.
    """
    stops = sorted(set(contexts or (prompt + tokens,)))
    _check(texts, prompt, stops, last)
    begin = time.perf_counter()
    rows = mx.array([list(text[: stops[-1] + 1]) for text in texts])
    caches = prefill(model, rows[:, :prompt], [REFERENCE, *variants])
    figures: dict[int, Floats] = {}
    sizes: dict[int, list[report.CacheReport]] = {}
    at = prompt
    while at < stops[-1]:
        stop = next(stop for stop in stops if stop > at)
        unmeasured = stop - last - at if last else 0
        fed = min(unmeasured, STRIDE) if unmeasured > 0 else 1
        logits = model(mx.tile(rows[:, at : at + fed], (1 + len(variants), 1)), cache=caches)
        at += fed
        if unmeasured > 0:
            mx.eval(logits)
        else:
            figures[at] = _figures(logits[:, -1].reshape(1 + len(variants), len(texts), -1), rows[:, at])
        if at == stop:
            sizes[stop] = _measure(caches, len(texts), len(variants))
        progress(at - prompt)
    seconds = (time.perf_counter() - begin) / (len(texts) * len(variants))
    evaluations: list[Evaluation] = []
    for stop in stops:
        window = [figures[n] for n in range(max(stop - last, prompt) + 1 if last else prompt + 1, stop + 1)]
        means = np.mean(window, axis=0)  # (figure, variant, text)
        for text in range(len(texts)):
            loss, divergence, agree = means[:, :, text]
            evaluations += [
                Evaluation(
                    scheme=variant.scheme.name,
                    calibrate=variant.calibrate,
                    text=text,
                    context=stop,
                    tokens=len(window),
                    ppl=float(np.exp(loss[i])),
                    kld=float(divergence[i]),
                    top1=float(agree[i]),
                    kv_used_bytes=size.used_bytes,
                    kv_fp16_bytes=size.fp16_bytes,
                    packed_bytes=size.packed_bytes,
                    raw_bytes=size.raw_bytes,
                    statistics_bytes=size.statistics_bytes,
                    raw_tokens=size.raw_tokens,
                    seconds=seconds,
                )
                for i, (variant, size) in enumerate(zip(variants, sizes[stop], strict=True))
            ]
    return evaluations


def _check(texts: Sequence[Sequence[int]], prompt: int, stops: Sequence[int], last: int) -> None:
    if prompt < 1 or stops[0] <= prompt or last < 0:
        raise TurboQuantError(f"A prompt of {prompt} tokens and a length of {stops[0]} leave nothing to measure.")
    short = min(len(text) for text in texts)
    if short < stops[-1] + 1:
        raise TurboQuantError(
            f"The text has {short} tokens; {stops[-1]} and one to predict are needed. Give a longer text."
        )


def _figures(logits: mx.array, following: mx.array) -> Floats:
    """Loss, KL divergence and top-1 agreement (3, variants, texts) of logits (1 + variants, texts, vocabulary)."""
    log = logits.astype(mx.float32)
    log = log - mx.logsumexp(log, axis=-1, keepdims=True)
    reference, ours = log[:1], log[1:]
    loss = -mx.take_along_axis(ours, following[None, :, None], axis=-1).squeeze(-1)
    divergence = (mx.exp(reference) * (reference - ours)).sum(axis=-1)
    agree = mx.argmax(reference, axis=-1) == mx.argmax(ours, axis=-1)
    return np.array(mx.stack([loss, divergence, agree.astype(mx.float32)]), dtype=np.float64)


def _measure(caches: Sequence[Any], texts: int, variants: int) -> list[report.CacheReport]:
    """The bytes of one text under each variant."""
    flat = [part for cache in caches for part in parts(cache)]
    ours = [part.caches[1:] for part in flat if isinstance(part, SideBySide)]
    others = report.measure([part for part in flat if not isinstance(part, SideBySide)]).used_bytes
    others //= 1 + variants
    sizes = [report.measure([layer[i] for layer in ours]) for i in range(variants)]
    return [
        replace(
            size,
            used_bytes=(size.used_bytes + others) // texts,
            fp16_bytes=(size.fp16_bytes + others) // texts,
            packed_bytes=size.packed_bytes // texts,
            raw_bytes=size.raw_bytes // texts,
            statistics_bytes=size.statistics_bytes // texts,
        )
        for size in sizes
    ]
