"""Variants side by side in one batch: each sees what it would alone, and the figures are those of the real cache."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.contract.families import VOCABULARY, tiny
from turboquant import make_cache, report
from turboquant.errors import TurboQuantError
from turboquant.evaluate import Evaluation, evaluate
from turboquant.schemes import parse
from turboquant.segments import Policy
from turboquant.side_by_side import Variant

PROMPT, TOKENS = 150, 40


def texts(count: int, length: int = PROMPT + TOKENS + 1, vocabulary: int = 512) -> list[list[int]]:
    mx.random.seed(11)
    ids: list[list[int]] = mx.random.randint(0, vocabulary, (count, length)).tolist()  # type: ignore[assignment]
    return ids


def variants(*names: str, **options: Any) -> list[Variant]:
    return [Variant(parse(name), **options) for name in names]


def alone(model: Any, text: list[int], scheme: str) -> tuple[float, report.CacheReport]:
    """Perplexity and bytes, one sequence through mlx-lm's way."""
    cache = make_prompt_cache(model) if scheme == "none" else make_cache(model, scheme)
    mx.eval(model(mx.array(text[:PROMPT])[None], cache=cache))
    loss = 0.0
    for at in range(PROMPT, len(text) - 1):
        logits = model(mx.array([[text[at]]]), cache=cache)[0, -1].astype(mx.float32)
        loss += float(mx.logsumexp(logits) - logits[text[at + 1]])
    return math.exp(loss / (len(text) - 1 - PROMPT)), report.measure(cache)


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "gemma3n", "qwen3_next", "falcon_h1", "deepseek_v3"])
def test_a_row_of_the_batch_equals_the_same_cache_alone(family: str) -> None:
    """Plain layers, windows, layers that share another's keys, recurrent states, latents."""
    model, both = tiny(family), texts(2, vocabulary=VOCABULARY)
    found = evaluate(model, both, PROMPT, TOKENS, variants("none", "turbo4", "turbo0v2"))
    assert [(e.text, e.scheme) for e in found] == [(t, s) for t in (0, 1) for s in ("none", "turbo4", "turbo0v2")]
    for one in found:
        perplexity, size = alone(model, both[one.text], one.scheme)
        # Gemma 3's random layers make much of how a batch rounds
        assert one.ppl == pytest.approx(perplexity, rel=1e-2 if family == "gemma3_text" else 1e-3)
        if one.scheme != "none":
            assert (one.kv_used_bytes, one.kv_fp16_bytes) == (size.used_bytes, size.fp16_bytes)
            assert one.packed_bytes == size.packed_bytes
    of = {e.scheme: e for e in found if e.text == 0}
    assert abs(of["none"].kld) < 1e-6
    assert of["none"].top1 == 1
    if family != "deepseek_v3":  # whose latents stay raw
        assert 1e-6 < of["turbo4"].kld < of["turbo0v2"].kld
        assert of["turbo4"].packed_bytes > 0


def test_lengths_on_the_way_and_the_newest_tokens(tiny_llama: Any) -> None:
    length = PROMPT + 96
    found = evaluate(
        tiny_llama, texts(1, length + 1), PROMPT, 1, variants("turbo4"), contexts=[length, PROMPT + 20], last=24
    )
    assert [(e.context, e.tokens) for e in found] == [(PROMPT + 20, 20), (length, 24)]
    assert found[0].kv_fp16_bytes * length == found[1].kv_fp16_bytes * (PROMPT + 20)


def test_variants_are_what_they_say(tiny_llama: Any) -> None:
    wanted = [*variants("turbo3"), *variants("turbo3", calibrate=False), *variants("turbo3", policy=Policy(tail=80))]
    on, off, tail = evaluate(tiny_llama, texts(1), PROMPT, TOKENS, wanted)
    assert on.statistics_bytes > off.statistics_bytes == 0
    assert tail.raw_tokens == Policy(tail=80).raw_tokens(PROMPT) + TOKENS > on.raw_tokens
    for one in (on, off, tail):
        assert one.kv_used_bytes == one.packed_bytes + one.raw_bytes + one.statistics_bytes


def test_what_leaves_nothing_to_measure_is_refused(tiny_llama: Any) -> None:
    for prompt, tokens in ((0, 10), (10, 0)):
        with pytest.raises(TurboQuantError, match="nothing to measure"):
            evaluate(tiny_llama, texts(1), prompt, tokens, variants("turbo4"))
    with pytest.raises(TurboQuantError, match="longer text"):
        evaluate(tiny_llama, texts(1), PROMPT, TOKENS + 1, variants("turbo4"))


def test_an_evaluation_holds_plain_values(tiny_llama: Any) -> None:
    (found,) = evaluate(tiny_llama, texts(1), PROMPT, 3, variants("turbo2"))
    assert isinstance(found, Evaluation)
    assert {type(value) for value in vars(found).values()} == {str, bool, int, float}
