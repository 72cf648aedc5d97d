"""mlx-lm's batch generation: each sequence gets what it gets alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.generate import BatchGenerator, batch_generate, generate_step
from mlx_lm.models import gpt_oss

import turboquant
from turboquant.batch import BatchedCache
from turboquant.cache import TurboQuantCache

PROMPTS = [[i * 7 % 61 for i in range(length)] for length in (5, 150, 1, 97)]
TOKENIZER: Any = SimpleNamespace(eos_token_ids=[], decode=str)


@pytest.fixture(scope="module")
def windowed() -> Any:
    """gpt_oss: sinks, a window of 128 tokens in every second layer."""
    mx.random.seed(1)
    arguments = gpt_oss.ModelArgs(
        model_type="gpt_oss", hidden_size=64, num_hidden_layers=2, intermediate_size=32, num_local_experts=2,
        num_experts_per_tok=1, vocab_size=64, sliding_window=128, head_dim=64, num_attention_heads=2,
        num_key_value_heads=1, rope_theta=10000,
    )  # fmt: skip
    model = gpt_oss.Model(arguments)
    for layer in model.layers:
        layer.self_attn.sinks = mx.array([0.5, -0.5])
    mx.eval(model.parameters())
    return model


def alone(model: Any, scheme: str, prompt: list[int], count: int, cache: list[Any] | None = None) -> list[int]:
    caches = cache or turboquant.make_cache(model, scheme)
    steps = generate_step(mx.array(prompt), model, max_tokens=count, prompt_cache=caches, prefill_step_size=64)
    return [int(token) for token, _ in steps]


def assert_alone_agrees(model: Any, prompt: list[int], got: list[int], caches: list[Any]) -> None:
    """Alone the same tokens come, or others that are as good: products of several rows round otherwise than of one."""
    for start in range(0, len(prompt) - 1, 64):
        model(mx.array(prompt[start : min(start + 64, len(prompt) - 1)])[None], cache=caches)
    for fed, token in zip([prompt[-1], *got], got, strict=False):
        logits = model(mx.array([[fed]]), cache=caches)[0, -1]
        assert logits.max() - logits[token] < 0.01 * (logits.max() - logits.min())


def batched(model: Any, scheme: str, counts: list[int], **options: Any) -> Any:
    caches = [turboquant.make_cache(model, scheme) for _ in PROMPTS]
    return batch_generate(
        model, TOKENIZER, PROMPTS, caches, counts, return_token_ids=True, return_prompt_caches=True,
        prefill_step_size=64, **options,
    )  # fmt: skip


@pytest.mark.parametrize("scheme", ["turbo4", "turbo2", "none"])
@pytest.mark.parametrize("family", ["llama", "windowed"])
def test_a_batch_answers_as_each_alone(tiny_llama: Any, windowed: Any, family: str, scheme: str) -> None:
    model = tiny_llama if family == "llama" else windowed
    counts = [45, 12, 105, 20]
    response = batched(model, scheme, counts)
    for prompt, count, got, caches in zip(PROMPTS, counts, response.token_ids, response.caches, strict=True):
        assert_alone_agrees(model, prompt, got, turboquant.make_cache(model, scheme))
        assert {c.offset for c in caches} == {len(prompt) + count}
        assert all(isinstance(c, TurboQuantCache) for c in caches)
        assert all(c.packing == (scheme != "none") for c in caches if not c.reason)
        # the sequence goes on alone where the batch left it
        assert len(alone(model, scheme, [got[-1]], 3, caches)) == 3


def test_sequences_join_and_leave_a_running_batch(tiny_llama: Any) -> None:
    response = batched(tiny_llama, "turbo4", [30, 60, 20, 50], completion_batch_size=2, prefill_batch_size=2)
    for prompt, count, got in zip(PROMPTS, (30, 60, 20, 50), response.token_ids, strict=True):
        assert len(got) == count
        assert_alone_agrees(tiny_llama, prompt, got, turboquant.make_cache(tiny_llama, "turbo4"))


def test_a_batch_goes_on_from_histories(tiny_llama: Any) -> None:
    histories = [turboquant.make_cache(tiny_llama, "turbo3") for _ in PROMPTS]
    for prompt, caches in zip(PROMPTS, histories, strict=True):
        alone(tiny_llama, "turbo3", prompt, 20, caches)
    more = [[3, 4, 5], [6], [7, 8] * 40, [9, 10]]
    offsets = [caches[0].offset for caches in histories]
    response = batch_generate(tiny_llama, TOKENIZER, more, histories, 30, return_token_ids=True, prefill_step_size=64)
    assert [caches[0].offset for caches in histories] == offsets  # mlx-lm's promise: not updated in place
    for prompt, caches, got in zip(more, histories, response.token_ids, strict=True):
        assert_alone_agrees(tiny_llama, prompt, got, caches)


def test_a_removed_sequence_takes_its_cache_along(tiny_llama: Any) -> None:
    generator = BatchGenerator(tiny_llama, max_tokens=50)
    uids = generator.insert(PROMPTS, caches=[turboquant.make_cache(tiny_llama, "turbo4") for _ in PROMPTS])
    for _ in range(12):
        generator.next_generated()
    assert generator.prompt_cache_nbytes > 0
    removed = generator.remove([uids[1]], return_prompt_caches=True)
    caches, tokens = removed[uids[1]]
    assert caches[0].offset == len(tokens)
    assert len(generator.next_generated()) == 3
    generator.close()


def test_left_padding_isnt_stored_and_is_masked(tiny_llama: Any) -> None:
    """The layout of mlx-lm's BatchKVCache where a caller pads prompts itself."""
    rows, lengths = 40, [40, 25, 1]
    single = [turboquant.make_cache(tiny_llama, "turbo4") for _ in lengths]
    batch = [BatchedCache.merge(layer) for layer in zip(*single, strict=True)]
    for cache in batch:
        cache.prepare(left_padding=[rows - length for length in lengths])
    tokens = mx.arange(rows)[None] * mx.array([[3], [5], [7]]) % 61
    for step in (tokens, *[mx.array([[1], [2], [3]])] * 110):
        logits = tiny_llama(step, cache=batch)[:, -1]
        for b, (caches, length) in enumerate(zip(single, lengths, strict=True)):
            part = step[b : b + 1, rows - length :] if step is tokens else step[b : b + 1]
            exact = tiny_llama(part, cache=caches)[0, -1]
            assert mx.abs(logits[b] - exact).max() < 1e-3 * mx.abs(exact).max()
    assert [c.offset for c in batch[0].caches] == [length + 110 for length in lengths]
    with pytest.raises(ValueError, match="empty"):
        batch[0].prepare(left_padding=[1, 1, 1])


def test_a_model_may_change_the_mask() -> None:
    """As models with position biases do: each sequence gets its own columns and rows of it."""
    mx.random.seed(0)
    caches = [TurboQuantCache("turbo4") for _ in range(2)]
    batch, single = BatchedCache.merge(caches), caches
    bias = mx.random.normal((1, 2, 8, 8))
    batch.prepare(lengths=[8, 5], right_padding=[0, 3])
    keys, values, queries = (mx.random.normal((2, 2, 8, 16)) for _ in range(3))
    mask = mx.where(batch.make_mask(8), 0.0, -1e9) + bias
    fetched = batch.update_and_fetch(keys, values)
    out = batch.attend_fetched(queries, *fetched, 1.0, mask, None)
    for b, rows in enumerate((8, 5)):
        lone = mx.where(mx.arange(rows) <= mx.arange(rows)[:, None], 0.0, -1e9) + bias[..., :rows, :rows]
        own = single[b].update_and_fetch(keys[b : b + 1, :, :rows], values[b : b + 1, :, :rows])
        exact = single[b].attend_fetched(queries[b : b + 1, :, :rows], *own, 1.0, lone, None)
        assert mx.allclose(out[b : b + 1, :, :rows], exact, atol=1e-4)
    assert not out[1, :, 5:].any()
    batch.finalize()
    assert batch.offset.tolist() == [8, 5]


def test_trim_and_filter() -> None:
    batch = BatchedCache.merge([TurboQuantCache("turbo4") for _ in range(3)])
    batch.update_and_fetch(mx.ones((3, 1, 20, 16)), mx.ones((3, 1, 20, 16)))
    assert batch.trim(4) == 4
    assert batch.offset.tolist() == [16, 16, 16]
    batch.filter(mx.array([0, 2]))
    assert len(batch.caches) == 2
    with pytest.raises(ValueError, match="batch of 2"):
        batch.update_and_fetch(mx.ones((3, 1, 1, 16)), mx.ones((3, 1, 1, 16)))
