from typing import Any

import mlx.core as mx
import pytest

import turboquant
from turboquant import report
from turboquant.schemes import SCHEMES

NAMES = [scheme.name for scheme in SCHEMES]


def prefilled(model: Any, scheme: str, tokens: int, decoded: int = 0) -> list[Any]:
    caches = turboquant.make_cache(model, scheme)
    mx.random.seed(tokens)
    if tokens:
        model(mx.random.randint(0, 512, (1, tokens)), cache=caches)
        turboquant.plan.compress(caches)
    for token in range(decoded):
        mx.eval(model(mx.array([[token]]), cache=caches))
    return caches


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("tokens", [0, 1, 10, 256, 257, 900])
def test_the_total_is_the_sum_of_the_arrays(tiny_llama: Any, scheme: str, tokens: int) -> None:
    caches = prefilled(tiny_llama, scheme, tokens)
    measured = report.measure(caches)
    arrays = [array for cache in caches for array in cache.arrays().values()]
    assert measured.used_bytes == sum(array.nbytes for array in arrays)
    assert measured.used_bytes == measured.packed_bytes + measured.raw_bytes + measured.statistics_bytes
    assert measured.allocated_bytes == sum(array.nbytes for cache in caches for array in cache.all_arrays())
    assert measured.fp16_bytes == tokens * 3 * 2 * (64 + 64) * 2
    assert measured.tokens == tokens
    assert measured.scheme == scheme


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("tokens", [1, 4, 99, 100, 164, 900])
def test_a_prediction_is_what_is_measured_but_for_statistics(tiny_llama: Any, scheme: str, tokens: int) -> None:
    caches = prefilled(tiny_llama, scheme, tokens)
    measured = report.measure(caches)
    assert report.predict(caches, scheme, tokens) == measured.used_bytes - measured.statistics_bytes
    # from a cache under any scheme the same follows
    other = prefilled(tiny_llama, "turbo0v4", 10)
    assert report.predict(other, scheme, tokens) == report.predict(caches, scheme, tokens)


def test_nothing_is_predicted_before_the_first_token(tiny_llama: Any) -> None:
    assert report.predict(turboquant.make_cache(tiny_llama, "turbo4"), "turbo4", 100) == 0


def test_memory_grows_with_each_token_falls_with_each_block_and_when_a_chat_is_forgotten(tiny_llama: Any) -> None:
    used = [report.measure(prefilled(tiny_llama, "turbo4", 200, n)).used_bytes for n in (0, 1, 2, 28, 29)]
    token = 3 * 2 * (64 + 64) * 2
    assert [later - used[0] for later in used[1:4]] == [token, 2 * token, 28 * token]
    assert used[4] < used[0]  # 96 were pending: 64 of them are packed now
    caches = prefilled(tiny_llama, "turbo4", 900)
    mx.eval([c.all_arrays() for c in caches])
    held = mx.get_active_memory()
    allocated = report.measure(caches).allocated_bytes
    del caches
    assert held - mx.get_active_memory() >= 0.95 * allocated
