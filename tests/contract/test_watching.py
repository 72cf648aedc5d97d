"""The contract's own eyes: each fault that caches of this kind have had is seen, by what was told apart from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import pytest

from tests.contract import families
from tests.contract.watching import Watch, watch
from turboquant import plan
from turboquant.cache import TurboQuantCache
from turboquant.segments import Policy

POLICY = Policy(first=2, tail=4, block=8)


def seen(name: str, fault: Callable[[TurboQuantCache], None] | None, layer: int, scheme: str = "turbo3") -> Watch:
    """A layer after a prompt, ten tokens and a fault, and what one more token showed."""
    model = families.tiny(name)
    caches = plan.make_cache(model, scheme, policy=POLICY)
    watches = watch(caches)
    mx.random.seed(1)
    tokens = mx.random.randint(0, families.VOCABULARY, (1, 91))
    model(tokens[:, :80], cache=caches)
    for i in range(80, 90):
        mx.eval(model(tokens[:, i : i + 1], cache=caches))
    if fault:
        fault(caches[layer])
    mx.eval(model(tokens[:, 90:], cache=caches))
    return watches[layer]


def swap(cache: TurboQuantCache) -> None:
    words = cache.body_keys.words.array
    words[:, :, 10], words[:, :, 20] = mx.array(words[:, :, 20]), mx.array(words[:, :, 10])


def lose(cache: TurboQuantCache) -> None:
    for buffer in (cache.tail_keys, cache.tail_values):
        buffer.truncate(buffer.count - 1)


def keep_a_forgotten_one(cache: TurboQuantCache) -> None:
    cache.watching.forget(1)  # type: ignore[attr-defined]


def double(cache: TurboQuantCache) -> None:
    for buffer in (cache.tail_keys, cache.tail_values):
        buffer.append(buffer.view(buffer.count - 1))


def shift_positions(cache: TurboQuantCache) -> None:
    cache.calibration.offsets = cache.calibration.offsets + 3


class Changed:
    """A cache's backend, but for its answers."""

    def __init__(self, backend: Any, attend: Callable[..., mx.array]) -> None:
        self.backend, self.attend = backend, attend

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)


def forget_the_sinks(cache: Any) -> None:
    attend = cache.backend.backend.attend
    cache.backend.backend = Changed(
        cache.backend.backend,
        lambda queries, kv, scale, mask, sinks, *cap: attend(queries, kv, scale, mask, None, *cap),
    )


def see_too_much(cache: Any) -> None:
    slide = cache.slide
    cache.slide = lambda: (slide(), setattr(cache, "hidden", cache.hidden - 1))


def change_the_type(cache: Any) -> None:
    attend = cache.backend.backend.attend
    cache.backend.backend = Changed(cache.backend.backend, lambda *arguments: attend(*arguments).astype(mx.float16))


@pytest.mark.parametrize("name", ["llama", "gpt_oss"])
@pytest.mark.parametrize("layer", [0, 1])
def test_nothing_is_seen_where_nothing_is_wrong(name: str, layer: int) -> None:
    seen(name, None, layer).check()


@pytest.mark.parametrize(
    "fault", [swap, lose, keep_a_forgotten_one, double, shift_positions, forget_the_sinks, change_the_type]
)
def test_a_fault_is_seen(fault: Callable[[TurboQuantCache], None]) -> None:
    with pytest.raises(AssertionError):
        seen("gpt_oss", fault, layer=1).check()


def test_a_window_that_shows_a_token_too_many_is_seen() -> None:
    watching = seen("gpt_oss", see_too_much, layer=0)
    with pytest.raises(AssertionError):
        watching.check()
