"""Families with windows, sinks, shared keys and values, states, latents and soft caps in mlx-lm's batch generation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.generate import batch_generate

from tests.contract import families
from turboquant import plan
from turboquant.segments import Policy

POLICY = Policy(first=2, tail=4, block=8)
PROMPTS = [[i * 7 % 61 for i in range(length)] for length in (5, 70, 1)]
COUNTS = [10, 20, 15]
TOKENIZER: Any = SimpleNamespace(eos_token_ids=[], decode=str)


@pytest.mark.parametrize(
    "name", ["gemma2", "gemma3n", "gemma4_text", "gpt_oss", "mimo_v2_flash", "qwen3_next", "falcon_h1", "deepseek_v3"]
)
def test_a_batch_answers_as_each_alone(name: str) -> None:
    model = families.tiny(name)

    def caches() -> list[Any]:
        return plan.make_cache(model, "turbo4", policy=POLICY)

    batch = batch_generate(
        model, TOKENIZER, PROMPTS, [caches() for _ in PROMPTS], COUNTS, return_token_ids=True, prefill_step_size=32
    )
    for prompt, got in zip(PROMPTS, batch.token_ids, strict=True):
        alone = caches()
        for start in range(0, len(prompt) - 1, 32):
            model(mx.array(prompt[start : min(start + 32, len(prompt) - 1)])[None], cache=alone)
        for fed, token in zip([prompt[-1], *got], got, strict=False):
            logits = model(mx.array([[fed]]), cache=alone)[0, -1]
            # the same token, or one as good: products of several rows round otherwise than those of one
            assert logits.max() - logits[token] < 0.02 * (logits.max() - logits.min())
