"""Tiny models of families that aren't shaped like Llama, on a real GPU: this machine's backend beside the reference.

    python -m tests.benchmarks.gpu_families [family ...]

Every attention of a conversation (a prompt, decoding, drafts that are trimmed, a later prompt), of batched generation
with left padding and of speculative decoding is computed by both from what the cache holds: logits would show how far a
random model amplifies a rounding. `error`: norm of the difference over the norm of the result; `codes`: share of packed
words that differ (a code next to a boundary may round either way). Exit code 1 where that can't be rounding.
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
from turboquant.codec import Packed
from turboquant.segments import Policy, Stretches

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
ERROR, CODES = 0.02, 0.1  # bfloat16 rounds to 0.004; scales that fit a vector alike give other codes


class Both:
    """A backend whose results are compared with the reference's."""

    def __init__(self) -> None:
        self._backend, self._reference = backends.choose(), ReferenceBackend()
        self.calls, self.error, self.codes = 0, 0.0, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def attend(self, queries: mx.array, kv: Stretches, *rest: Any) -> mx.array:
        got = self._backend.attend(queries, kv, *rest)
        scale, mask, sinks, *cap = rest
        sinks = None if sinks is None else sinks.astype(mx.float32)
        mask = mask.astype(mx.float32) if isinstance(mask, mx.array) and mask.dtype != mx.bool_ else mask
        want = self._reference.attend(queries.astype(mx.float32), kv, scale, mask, sinks, *cap)
        self.calls += 1
        error = mx.linalg.norm((got - want).reshape(-1)) / mx.linalg.norm(want.reshape(-1))
        self.error = max(self.error, float(error) if mx.isfinite(error) else float("inf"))
        return got

    def encode_pair(self, *given: Any) -> tuple[Packed, Packed]:
        got, want = self._backend.encode_pair(*given), self._reference.encode_pair(*given)
        self.codes = max(self.codes, *(float((a.words != b.words).mean()) for a, b in zip(got, want, strict=True)))
        return got


def caches(model: Any, scheme: str, both: Both) -> list[Any]:
    made = plan.make_cache(model, scheme, policy=POLICY)
    for cache in plan.packable(made):
        cache.backend = both
    return made


def converse(model: Any, scheme: str, both: Both) -> None:
    held, fed = caches(model, scheme, both), 0
    for rows in STEPS:
        mx.eval(model(mx.array([[(fed + i) * 31 % 89 for i in range(rows)]]), cache=held))
        fed += rows
        if rows == 5:
            assert trim_prompt_cache(held, 3) == 3


def batched(model: Any, scheme: str, both: Both) -> None:
    held = [caches(model, scheme, both) for _ in PROMPTS]
    batch_generate(model, TOKENIZER, PROMPTS, held, [NEW] * len(PROMPTS), prefill_step_size=32)


def drafted(model: Any, scheme: str, both: Both) -> None:
    held = [*caches(model, scheme, both), *caches(model, scheme, both)]
    prompt = mx.array(PROMPTS[1])
    list(speculative_generate_step(prompt, model, model, prompt_cache=held, num_draft_tokens=3, max_tokens=NEW))


def main() -> int:
    failed = False
    print(f"{backends.choose().name}: family, scheme; calls, error, codes of a conversation, a batch, drafts")
    for name in sys.argv[1:] or FAMILIES:
        model = families.tiny(name, mx.float32 if mx.default_device() == mx.cpu else mx.bfloat16)
        for scheme in SCHEMES:
            backend = backends.choose()
            if isinstance(backend, GpuBackend):  # turbo2 by the kernels of long caches too
                backend._decoder._single_rows = 0 if scheme == "turbo2" else 1280
            cells, wrong = [], bool(backend.notice)
            for talk in (converse, batched, drafted):
                both = Both()
                talk(model, scheme, both)
                wrong |= both.error > ERROR or both.codes > CODES or both.calls == 0
                cells.append(f"{both.calls} {both.error:.4f} {both.codes:.4f}")
            failed |= wrong
            what = f"{FAMILIES.get(name)} {backend.notice}"
            print(f"{'WRONG' if wrong else 'ok':5} {name:14} {scheme:7} {'   '.join(cells)}   {what}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
