"""Around the edges: prompts of a window and one more or less, several windows, steps of many tokens across the edge;
and prompts around the sizes at which tokens are packed and buffers grow.
"""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.contract import families
from tests.contract.watching import watch
from turboquant import plan
from turboquant.segments import Policy

SMALL = Policy(first=2, tail=4, block=8)
W = families.WINDOW


def talk(name: str, scheme: str, steps: list[int], policy: Policy | None) -> float:
    """Feed steps of so many tokens, each checked; returns the last logits' distance from mlx-lm's caches."""
    model = families.tiny(name)
    caches, plain = plan.make_cache(model, scheme, policy=policy), make_prompt_cache(model)
    watches = watch(caches)
    assert watches
    mx.random.seed(sum(steps))
    for rows in steps:
        tokens = mx.random.randint(0, families.VOCABULARY, (1, rows))
        ours, exact = model(tokens, cache=caches), model(tokens, cache=plain)
        mx.eval(ours, exact)
    for watching in watches:
        watching.check()
    return (mx.abs(ours - exact).max() / mx.abs(exact - exact.mean()).max()).item()


@pytest.mark.parametrize("prompt", [W - 1, W, W + 1, 3 * W])
@pytest.mark.parametrize("name", ["gemma3_text", "gpt_oss", "gemma4_text", "mimo_v2_flash", "cohere2"])
def test_prompts_around_the_window(name: str, prompt: int) -> None:
    assert talk(name, "turbo8", [prompt], SMALL) < 0.05
    assert talk(name, "turbo8", [prompt, *[1] * 20], SMALL) < 0.2
    talk(name, "turbo3", [prompt, 1, 1, 1], SMALL)


@pytest.mark.parametrize("steps", [[20, 5, 5, 5, 5], [31, 3, 40, 1, 33, 2], [5, *[1] * 40, 70, 1]])
@pytest.mark.parametrize("name", ["gemma3_text", "gpt_oss", "iquestloopcoder"])
def test_steps_of_many_tokens_across_the_edge(name: str, steps: list[int]) -> None:
    assert talk(name, "turbo8", steps, SMALL) < 0.2
    talk(name, "turbo2", steps, SMALL)


@pytest.mark.parametrize("prompt", [1, 3, 4, 5, 35, 36, 37, 99, 100, 101, 255, 256, 257])
@pytest.mark.parametrize("scheme", ["turbo4", "turbo0v3"])
def test_prompts_around_what_is_packed_and_allocated(scheme: str, prompt: int) -> None:
    talk("qwen2", scheme, [prompt, 1, 1], None)
