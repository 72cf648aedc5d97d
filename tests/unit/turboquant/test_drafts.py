"""Speculative decoding: the tokens that are kept are those of steps of one token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest
from mlx.utils import tree_map
from mlx_lm.generate import generate_step, speculative_generate_step
from mlx_lm.models.cache import make_prompt_cache

import turboquant
from tests.cache_kit import normal
from turboquant.cache import TurboQuantCache
from turboquant.segments import Policy

STORY = """Once upon a time a miller's son left home to see the sea. On the first day he met an old woman who carried a
basket of pears, and because he was kind he carried it for her. On the second day he met"""


@pytest.mark.parametrize("scheme", ["turbo2", "turbo0v4"])
@pytest.mark.parametrize("window", [0, 160])
def test_drafted_steps_see_what_single_steps_see(scheme: str, window: int) -> None:
    """Several rows at once, the last of them rejected: also where a block of the tail is packed between two rows."""
    keys, values, queries = (normal(1, h, 480, 64, seed=s) for h, s in ((2, 1), (2, 2), (4, 3)))
    wrong = normal(1, 2, 9, 64, seed=4)

    def run(drafted: int, kept: int) -> mx.array:
        cache, outputs, done = TurboQuantCache(scheme, window=window), [], 0
        while done < 480:
            rows = 200 if done == 0 else kept
            step = slice(done, min(done + rows, 480))
            count = step.stop - step.start
            extra = drafted - count if done else 0
            mask = cache.make_mask(count + extra)
            cache.update_and_fetch(*(mx.concatenate([x[:, :, step], wrong[:, :, :extra]], 2) for x in (keys, values)))
            asked = (
                mx.concatenate([queries[:, :, step], normal(1, 4, extra, 64, seed=5)], 2)
                if extra
                else queries[:, :, step]
            )
            cache.attended = True
            outputs.append(cache.attend(asked, 0.2, mask)[:, :, :count])
            assert cache.trim(extra) == extra
            done = step.stop
        return mx.concatenate(outputs, axis=2)

    single = run(1, 1)
    for drafted, kept in ((5, 5), (7, 3), (9, 1)):
        assert mx.allclose(run(drafted, kept), single, atol=1e-5)


@pytest.mark.parametrize("policy", [Policy(0, 0, 1), Policy(4, 32, 8), Policy(200, 5, 3)], ids=str)
def test_several_blocks_may_fall_due_within_a_draft(policy: Policy) -> None:
    keys, values, queries = (normal(1, h, 291, 64, seed=s) for h, s in ((2, 1), (2, 2), (4, 3)))
    outputs = []
    for rows in (1, 31):
        cache = TurboQuantCache("turbo3", policy=policy, calibrate=False)
        cache.attended = True
        parts = []
        for start in (0, *range(105, 291, rows)):
            step = slice(start, start + rows if start else 105)
            cache.update_and_fetch(keys[:, :, step], values[:, :, step])
            parts.append(cache.attend(queries[:, :, step], 0.2, "causal" if rows > 1 or not start else None))
        outputs.append(mx.concatenate(parts, axis=2))
    assert mx.allclose(*outputs, atol=1e-4)


@pytest.mark.slow
def test_a_real_model_accepts_as_many_drafts_as_uncompressed(starter_model_path: Path) -> None:
    """The draft is the model itself with 6 % of noise on its weights."""
    model, tokenizer = mlx_lm.load(str(starter_model_path))[:2]
    draft = mlx_lm.load(str(starter_model_path))[0]
    mx.random.seed(0)
    draft.update(tree_map(_noisy, draft.parameters()))
    prompt, count = mx.array(tokenizer.encode(STORY)), 60
    accepted = {}
    for scheme in ("", "turbo4"):

        def caches(of: Any, scheme: str = scheme) -> list[Any]:
            return turboquant.make_cache(of, scheme) if scheme else make_prompt_cache(of)

        both = caches(model) + caches(draft)
        steps = list(
            speculative_generate_step(prompt, model, draft, num_draft_tokens=3, max_tokens=count, prompt_cache=both)
        )
        accepted[scheme] = sum(from_draft for *_, from_draft in steps) / count
        alone = generate_step(prompt, model, max_tokens=count, prompt_cache=caches(model))
        assert [int(token) for token, *_ in steps] == [int(token) for token, _ in alone]
    assert accepted["turbo4"] >= accepted[""] - 0.02


def _noisy(weight: mx.array) -> mx.array:
    if weight.ndim < 2:
        return weight
    return weight + (0.06 * mx.random.normal(weight.shape) * mx.sqrt(mx.square(weight).mean())).astype(weight.dtype)
