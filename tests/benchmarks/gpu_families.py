"""Tiny models of families that aren't shaped like Llama, on a real GPU: this machine's backend beside the reference.

    python -m tests.benchmarks.gpu_families [family ...]

Both are fed the same tokens. `steps`: the largest difference of logits, relative to their range, in a conversation of a
prompt, decoding, drafts that are trimmed, and a later prompt. `batch`, `drafts`: tokens that batched generation with left
padding and speculative decoding choose, by how much less likely the reference finds the worst of them than its own.
Exit code 1 where that can't be rounding.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
from mlx_lm.generate import batch_generate, speculative_generate_step
from mlx_lm.models.cache import trim_prompt_cache

from tests.contract import families
from turboquant import backends, plan
from turboquant.backends.gpu import GpuBackend
from turboquant.backends.reference import ReferenceBackend
from turboquant.segments import Policy

FAMILIES = {
    "gemma3_text": "sliding windows",
    "gemma2": "soft caps",
    "gpt_oss": "sinks",
    "mimo_v2_flash": "Dk 48, Dv 32, sinks, windows",
    "qwen2": "a key bias",
    "llama": "as usual",
}
SCHEMES = ("turbo4", "turbo2")
POLICY = Policy(first=2, tail=4, block=8)  # so that windows of 32 tokens are packed
STEPS = (20, 30, *[1] * 30, 5, *[1] * 12, 70, *[1] * 5)
PROMPTS = [[i * 7 % 61 for i in range(length)] for length in (5, 70, 20)]
NEW = 20  # tokens
TOKENIZER: Any = SimpleNamespace(eos_token_ids=[], decode=str)
LIMIT = 0.05  # of the logits' range; a wrong mask, sink or position is ten times that


def caches(model: Any, scheme: str, reference: bool) -> list[Any]:
    made = plan.make_cache(model, scheme, policy=POLICY)
    for cache in plan.packable(made) if reference else ():
        cache.backend = ReferenceBackend()
    return made


def difference(got: mx.array, want: mx.array) -> float:
    got, want = (x.astype(mx.float32) for x in (got, want))
    return float(mx.abs(got - want).max() / (want.max() - want.min()))


def steps(model: Any, scheme: str) -> float:
    """The largest difference of logits in a conversation."""
    mine, theirs = (caches(model, scheme, reference) for reference in (False, True))
    fed, worst = 0, 0.0
    for rows in STEPS:
        tokens = mx.array([[(fed + i) * 31 % 89 for i in range(rows)]])
        worst = max(worst, difference(model(tokens, cache=mine), model(tokens, cache=theirs)))
        fed += rows
        if rows == 5:
            assert trim_prompt_cache(mine, 3) == trim_prompt_cache(theirs, 3)
    return worst


def batched(model: Any, scheme: str, reference: bool) -> list[list[int]]:
    made = [caches(model, scheme, reference) for _ in PROMPTS]
    counts = [NEW] * len(PROMPTS)
    found = batch_generate(model, TOKENIZER, PROMPTS, made, counts, return_token_ids=True, prefill_step_size=32)
    return [list(map(int, ids)) for ids in found.token_ids]


def drafted(model: Any, scheme: str, reference: bool) -> list[list[int]]:
    made = [*caches(model, scheme, reference), *caches(model, scheme, reference)]
    found = speculative_generate_step(
        mx.array(PROMPTS[1]), model, model, prompt_cache=made, num_draft_tokens=3, max_tokens=NEW
    )
    return [[int(token) for token, _, _ in found]]


def loss(model: Any, scheme: str, prompts: list[list[int]], answers: list[list[int]]) -> float:
    """How much less likely than the reference's own choice its worst token is, in logits over their range."""
    worst = 0.0
    for prompt, answer in zip(prompts, answers, strict=True):
        held = caches(model, scheme, True)
        for start in range(0, len(prompt) - 1, 32):
            model(mx.array([prompt[start : min(start + 32, len(prompt) - 1)]]), cache=held)
        for fed, token in zip([prompt[-1], *answer], answer, strict=False):
            logits = model(mx.array([[fed]]), cache=held)[0, -1].astype(mx.float32)
            worst = max(worst, float((logits.max() - logits[token]) / (logits.max() - logits.min())))
    return worst


def main() -> int:
    failed = False
    print(f"{backends.choose().name}: {'family':14} {'scheme':7} steps  batch  drafts  what")
    for name in sys.argv[1:] or FAMILIES:
        model = families.tiny(name, mx.bfloat16)
        for scheme in SCHEMES:
            backend = backends.choose()
            if isinstance(backend, GpuBackend):  # turbo2 by the kernels of long caches too
                backend._decoder._single_rows = 0 if scheme == "turbo2" else 1280
            found = {
                "steps": steps(model, scheme),
                "batch": loss(model, scheme, PROMPTS, batched(model, scheme, False)),
                "drafts": loss(model, scheme, PROMPTS[1:2], drafted(model, scheme, False)),
            }
            wrong = max(found.values()) > LIMIT or bool(backend.notice)
            failed |= wrong
            figures = "  ".join(f"{value:.4f}" for value in found.values())
            print(
                f"{'WRONG' if wrong else 'ok':5} {name:14} {scheme:7} {figures}  {FAMILIES.get(name)} {backend.notice}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
