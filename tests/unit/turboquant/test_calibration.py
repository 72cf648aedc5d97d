"""Statistics of a prompt that says little about what follows must not harm what follows."""

import mlx.core as mx
import numpy as np
import pytest

from tests.cache_kit import attend, decoded, normal
from turboquant.cache import TurboQuantCache
from turboquant.segments import Policy


def packed_after(prompt: mx.array, then: mx.array, policy: Policy, scheme: str) -> float:
    """The error of `then`'s packed keys, relative to their length, behind a prompt of other keys."""
    cache = TurboQuantCache(scheme, policy=policy)
    start = prompt.shape[2]
    for keys in (prompt, *(then[:, :, t : t + 1] for t in range(then.shape[2]))):
        cache.update_and_fetch(keys, keys)
        attend(cache, normal(*keys.shape, seed=5))
    body = slice(start, cache.offset - cache.tail_keys.count)
    exact = np.array(then, np.float64)[:, :, : body.stop - start]
    assert exact.shape[2] > 40
    error = decoded(cache)[0][:, :, body] - exact
    return float(np.linalg.norm(error, axis=-1).mean() / np.linalg.norm(exact, axis=-1).mean())


@pytest.mark.parametrize("scheme", ["turbo4", "turbo8"])
@pytest.mark.parametrize("kind", ["zero", "constant", "one head of two", "one channel"])
def test_keys_that_did_not_vary_may_vary_later(scheme: str, kind: str) -> None:
    then = 8 * normal(1, 2, 160, 64, seed=1)
    prompt = mx.zeros((1, 2, 120, 64)) if kind == "zero" else mx.broadcast_to(then[:, :, :1], (1, 2, 120, 64))
    varied = 8 * normal(1, 2, 120, 64, seed=2)
    if kind == "one head of two":
        prompt = mx.concatenate([prompt[:, :1], varied[:, 1:]], axis=1)
    if kind == "one channel":
        prompt = mx.concatenate([prompt[..., :1], varied[..., 1:]], axis=-1)
    limit = 0.5 if kind == "one channel" else 0.25  # a scale that suits the prompt alone costs something
    assert packed_after(prompt, then, Policy(), scheme) < (limit if scheme == "turbo4" else limit / 4)


@pytest.mark.parametrize("prompt", [1, 2, 8])
def test_a_handful_of_tokens_does_not_set_the_scale(prompt: int) -> None:
    keys = normal(1, 2, 200, 64)
    assert packed_after(keys[:, :, :prompt], keys[:, :, prompt:], Policy(0, 0, 1), "turbo4") < 0.25
