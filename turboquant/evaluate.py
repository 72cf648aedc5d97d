"""How far a scheme moves a model's distribution: perplexity, KL divergence and top-1 agreement, on the real cache.

The prompt is prefilled, then every token of the text is fed alone, so that it goes through packing and decode attention
as in a chat. The same text through the uncompressed model is what it is compared with.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx_lm.models.cache import make_prompt_cache

from turboquant import report
from turboquant.errors import TurboQuantError
from turboquant.plan import make_cache
from turboquant.schemes import Scheme, parse

_PREFILL_STEP = 512


@dataclass(frozen=True)
class Evaluation:
    """`kld` in nats a token, KL(uncompressed || scheme); `top1`: share of tokens with the same likeliest next."""

    scheme: str
    ppl: float
    kld: float
    top1: float
    kv_used_bytes: int
    kv_fp16_bytes: int
    seconds: float


def evaluate(
    model: Module,
    ids: Sequence[int],
    prompt: int,
    tokens: int,
    schemes: Sequence[Scheme | str],
    *,
    calibrate: bool = True,
) -> Iterator[Evaluation]:
    """One Evaluation a scheme, over `tokens` tokens behind the first `prompt` of `ids`.

    Raises TurboQuantError where the text is too short, UnknownScheme before any work.
    """
    wanted = [parse(scheme) for scheme in schemes]
    if prompt < 1 or tokens < 1:
        raise TurboQuantError("The prompt and the tokens after it must be at least 1 long each.")
    if len(ids) < prompt + tokens + 1:
        raise TurboQuantError(
            f"The text has {len(ids)} tokens; {prompt} + {tokens} and one to predict are needed. Give a longer text."
        )
    text = mx.array(list(ids[: prompt + tokens + 1]))[None]
    reference = _reference(model, text, prompt)
    for scheme in wanted:
        yield _evaluate(model, text, prompt, scheme, reference, calibrate)


def _reference(model: Module, text: mx.array, prompt: int) -> mx.array:
    """Log probabilities (tokens, vocabulary) of the uncompressed model."""
    cache = make_prompt_cache(model)
    last = text.shape[1] - 1
    rows = []
    for start in range(0, last, _PREFILL_STEP):
        stop = min(start + _PREFILL_STEP, last)
        logits = model(text[:, start:stop], cache=cache)[0]
        if stop > prompt:
            rows.append(_log_softmax(logits[max(prompt - start, 0) :]))
            mx.eval(rows[-1])
        else:
            mx.eval(logits)
    return mx.concatenate(rows)


def _evaluate(
    model: Module, text: mx.array, prompt: int, scheme: Scheme, reference: mx.array, calibrate: bool
) -> Evaluation:
    cache = make_cache(model, scheme, calibrate=calibrate)
    begin = time.perf_counter()
    for start in range(0, prompt, _PREFILL_STEP):
        mx.eval(model(text[:, start : min(start + _PREFILL_STEP, prompt)], cache=cache))
    nll = kld = top1 = 0.0
    tokens = reference.shape[0]
    for i in range(tokens):
        ours = _log_softmax(model(text[:, prompt + i : prompt + i + 1], cache=cache)[0, -1])
        theirs = reference[i]
        divergence = (mx.exp(theirs) * (theirs - ours)).sum()
        agree = mx.argmax(theirs) == mx.argmax(ours)
        loss = -ours[text[0, prompt + i + 1]]
        mx.eval(divergence, agree, loss)
        nll, kld, top1 = nll + float(loss), kld + float(divergence), top1 + float(agree)
    measured = report.measure(cache)
    return Evaluation(
        scheme.name,
        math.exp(nll / tokens),
        kld / tokens,
        top1 / tokens,
        measured.used_bytes,
        measured.fp16_bytes,
        time.perf_counter() - begin,
    )


def _log_softmax(logits: mx.array) -> mx.array:
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)
