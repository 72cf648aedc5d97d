"""Sliding windows: against mlx-lm's own cache of the same window, token by token, around and across the wrap."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.generate import generate_step, speculative_generate_step
from mlx_lm.models import base, gemma3_text
from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache, trim_prompt_cache

import turboquant
from tests.cache_kit import normal
from tests.contract import families
from turboquant import plan, report, snapshot
from turboquant.cache import TurboQuantCache
from turboquant.errors import SnapshotMismatch
from turboquant.inspect import forecast
from turboquant.schemes import SCHEMES, parse
from turboquant.segments import Policy
from turboquant.trace import examine

W = 100
SMALL = Policy(first=2, tail=4, block=8)


class Layer:
    """One attention layer over our cache and over mlx-lm's."""

    def __init__(self, scheme: str, keep: int = 0) -> None:
        self.ours = TurboQuantCache(scheme, window=W, keep=keep, policy=SMALL)
        self.exact = RotatingKVCache(max_size=W, keep=keep)
        self.seed = 0

    def step(self, rows: int, sinks: mx.array | None = None) -> tuple[mx.array, mx.array]:
        """Both outputs for `rows` more tokens."""
        self.seed += 1
        keys, values, queries = (normal(1, h, rows, 64, seed=3 * self.seed + i) for i, h in enumerate((2, 2, 4)))
        outputs = []
        for cache in (self.ours, self.exact):
            mask = create_attention_mask(mx.zeros((1, rows, 1)), cache)
            k, v = cache.update_and_fetch(keys, values)
            attend = base.scaled_dot_product_attention
            outputs.append(attend(queries, k, v, cache=cache, scale=0.125, mask=mask, sinks=sinks))
        assert self.ours.offset == self.exact.offset
        return outputs[0], outputs[1]


def error(pair: tuple[mx.array, mx.array]) -> float:
    ours, exact = (np.array(x.astype(mx.float32)) for x in pair)
    return float(np.linalg.norm(ours - exact) / np.linalg.norm(exact))


LIMIT = {"none": 2e-3, "turbo8": 0.03, "turbo4": 0.35}


@pytest.mark.parametrize("scheme", LIMIT)
@pytest.mark.parametrize("keep", [0, 4])
@pytest.mark.parametrize("prompt", [1, W - 1, W, W + 1, 3 * W])
def test_a_window_sees_what_mlx_lms_sees(scheme: str, keep: int, prompt: int) -> None:
    layer = Layer(scheme, keep)
    for rows in (prompt, *[1] * (W + 30), 5, 1, 1, 33, 1, 2 * W, 1, 1):
        assert error(layer.step(rows)) < LIMIT[scheme], (layer.ours.offset, rows)
        assert layer.ours.held < W + rows + 2 * layer.ours.policy.block
    assert layer.ours.packing == (scheme != "none")


@pytest.mark.parametrize("scheme", ["none", "turbo8"])
@pytest.mark.parametrize("rows", [1, 7])
def test_sinks_count_in_a_window(scheme: str, rows: int) -> None:
    layer, sinks = Layer(scheme), mx.array([0.5, 3.0, -1.0, 6.0])
    for step in (2 * W, 1, 1, *[rows] * 20):
        assert error(layer.step(step, sinks)) < LIMIT[scheme]


@pytest.mark.parametrize("rows", [1, 3, W])
@pytest.mark.parametrize("offset", [1, W - 2, W - 1, W, W + 1, 3 * W])
@pytest.mark.parametrize("window_size", [None, W, W + 1, W - 30])
@pytest.mark.parametrize("return_array", [False, True])
def test_masks_are_mlx_lms(rows: int, offset: int, window_size: int | None, return_array: bool) -> None:
    ours, exact = TurboQuantCache("none", window=W), RotatingKVCache(max_size=W)
    for cache in (ours, exact):
        for start in range(0, offset, 50):
            cache.update_and_fetch(*[mx.zeros((1, 1, min(50, offset - start), 8))] * 2)
        cache.update_and_fetch(*[mx.zeros((1, 1, 1, 8))] * 2)
    masks = [c.make_mask(rows, window_size=window_size, return_array=return_array) for c in (ours, exact)]
    if not isinstance(masks[1], mx.array):
        assert masks[0] == masks[1]
    elif rows == 1:  # mlx-lm's columns are in the ring's order, ours in the order of time
        newest = exact.update_and_fetch(mx.full((1, 1, 1, 8), 1.0), mx.zeros((1, 1, 1, 8)))[0][0, 0, :, 0]
        shift = int(mx.argmax(newest)) + 1
        assert mx.array_equal(masks[0], mx.roll(masks[1], -shift))
    else:
        assert mx.array_equal(masks[0], masks[1])


@pytest.mark.parametrize("scheme", ["none", "turbo8"])
@pytest.mark.parametrize("keep", [0, 4])
@pytest.mark.parametrize("seen", [40, W + 3, 3 * W])
def test_a_trim_goes_back_exactly_or_says_that_it_didnt(scheme: str, keep: int, seen: int) -> None:
    layer = Layer(scheme, keep)
    for rows in (seen - 20, *[1] * 20):
        layer.step(rows)
    before = copy.deepcopy(layer.ours)
    layer.ours.update_and_fetch(*[normal(1, 2, 3, 64, seed=999)] * 2)
    assert layer.ours.trim(3) == 3  # the last step's tokens can always go
    layer.seed = 5000
    ours, exact = layer.step(1)
    layer.ours, layer.seed = before, 5000
    layer.exact = copy.deepcopy(layer.exact)  # it has the token; only ours is asked again
    layer.exact.offset -= 1
    again, _ = layer.step(1)
    assert error((ours, exact)) < LIMIT[scheme]
    assert mx.allclose(ours, again, atol=2e-3)
    if seen > 2 * W:
        assert not layer.ours.is_trimmable()
        offset, held = layer.ours.offset, layer.ours.held
        assert layer.ours.trim(W) == 0
        assert (layer.ours.offset, layer.ours.held) == (offset, held)
    assert layer.ours.trim(layer.ours.offset) > 0
    assert layer.ours.empty()


@pytest.fixture(scope="module")
def gemma() -> Any:
    """Windows of 128 tokens in three layers of four."""
    mx.random.seed(3)
    arguments = gemma3_text.ModelArgs(
        model_type="gemma3_text", hidden_size=64, num_hidden_layers=4, intermediate_size=64, num_attention_heads=2,
        head_dim=64, num_key_value_heads=1, query_pre_attn_scalar=2048, vocab_size=64, sliding_window=128,
        sliding_window_pattern=4,
    )  # fmt: skip
    model = gemma3_text.Model(arguments)
    mx.eval(model.parameters())
    return model


def generated(model: Any, caches: list[Any], prompt: int, count: int) -> list[int]:
    steps = generate_step(mx.arange(prompt) * 7 % 61, model, max_tokens=count, prompt_cache=caches)
    return [int(token) for token, _ in steps]


@pytest.mark.parametrize("prompt", [127, 128, 129, 384])
def test_gemma_answers_as_uncompressed(gemma: Any, prompt: int) -> None:
    ours, exact = turboquant.make_cache(gemma, "turbo4"), make_prompt_cache(gemma)
    for tokens in (mx.arange(prompt) * 7 % 61, *mx.arange(40)[:, None]):
        logits = [gemma(tokens[None], cache=caches)[0, -1] for caches in (ours, exact)]
        assert mx.abs(logits[0] - logits[1]).max() < 0.3 * mx.abs(logits[1]).max()


@pytest.mark.parametrize("scheme", ["turbo4", "turbo2", "none", "turbo0v4"])
@pytest.mark.parametrize("prompt", [100, 400])
def test_bytes_of_windows(gemma: Any, scheme: str, prompt: int) -> None:
    caches, exact = turboquant.make_cache(gemma, scheme), make_prompt_cache(gemma)
    for held in (caches, exact):
        generated(gemma, held, prompt, 40)
        mx.eval([c.state for c in held])
    tokens = prompt + 40
    measured = report.measure(caches)
    assert measured.tokens == tokens
    assert measured.fp16_bytes == 2 * 2 * 64 * (3 * min(tokens, 128) + tokens)
    windowed = caches[0]
    if windowed.reason or scheme == "none":
        assert windowed.used_bytes - windowed.calibration.nbytes <= 2 * 2 * 64 * 128
    else:
        assert windowed.nbytes < 2 * 2 * 64 * 128 + windowed.calibration.nbytes
    predicted = report.predict(caches, scheme, tokens)
    slack = 4 * 64 * 2 * 2 * 64 if scheme != "none" else 0  # a block of each layer may be raw or packed
    assert abs(predicted - (measured.used_bytes - measured.statistics_bytes)) <= slack
    layers = forecast(examine(gemma), scheme, tokens)
    assert [layer.reason for layer in layers] == [c.reason for c in caches]


@pytest.mark.parametrize("tokens", [60, 127, 128, 140, 190, 1000])
@pytest.mark.parametrize("scheme", [s.name for s in SCHEMES])
@pytest.mark.parametrize("keep", [0, 4])
def test_predicted_bytes_of_a_window_are_those_allocated(scheme: str, tokens: int, keep: int) -> None:
    cache = TurboQuantCache(scheme, window=128, keep=keep, calibrate=False)
    for start in range(0, tokens, 128):
        cache.update_and_fetch(*[normal(1, 2, min(128, tokens - start), 64, seed=start)] * 2)
    cache.slide()
    cache.compress()
    used, allocated = report.layer_bytes(
        cache.shape, parse("none") if cache.reason else parse(scheme), tokens, window=128, keep=keep
    )  # fmt: skip
    assert cache.nbytes == allocated
    assert abs(cache.used_bytes - used) <= 2 * 2 * 2 * 64  # the token that leaves when the next one comes


@pytest.mark.parametrize("prompt", [60, 300])
def test_windows_are_saved_and_restored(gemma: Any, prompt: int, tmp_path: Path) -> None:
    caches = turboquant.make_cache(gemma, "turbo4")
    tokens = [*range(prompt)], generated(gemma, caches, prompt, 30)
    ids = (tokens[0] + tokens[1])[: caches[0].offset]
    snapshot.save(tmp_path / "a.cache", caches, ids, "model")
    again = snapshot.load(tmp_path / "a.cache", gemma, "model").caches
    for token in range(100):
        step = mx.array([[token % 60]])
        assert mx.array_equal(gemma(step, cache=caches), gemma(step, cache=again))
    other = TurboQuantCache("turbo4", window=64)
    with pytest.raises(SnapshotMismatch, match="window"):
        snapshot._restore(other, {"class": "TurboQuantCache", "arrays": [], "cache": caches[0].describe()}, None)  # type: ignore[arg-type]


def test_windows_are_switched(gemma: Any) -> None:
    caches = turboquant.make_cache(gemma, "turbo4")
    generated(gemma, caches, 300, 20)
    before = report.measure(caches).used_bytes
    assert plan.switch(caches, "turbo2") == "requantised"
    assert report.measure(caches).used_bytes < before
    generated(gemma, caches, 3, 20)
    assert plan.switch_method(caches, "turbo8") == "rebuild"


@pytest.mark.parametrize("prompt", [40, 300])
def test_mlx_lms_windows_are_converted(gemma: Any, prompt: int) -> None:
    exact = make_prompt_cache(gemma)
    generated(gemma, exact, prompt, 30)
    ours = plan.convert(gemma, copy.deepcopy(exact), "turbo4")
    assert all(isinstance(c, TurboQuantCache) for c in ours)
    for token in range(40):
        logits = [gemma(mx.array([[token]]), cache=caches)[0, -1] for caches in (ours, exact)]
        assert mx.abs(logits[0] - logits[1]).max() < 0.3 * mx.abs(logits[1]).max()


@pytest.mark.parametrize("drafted", [1, 5])
def test_drafts_are_rolled_back_behind_a_window_that_has_moved_on(gemma: Any, drafted: int) -> None:
    """mlx-lm's own trim answers 0 there and keeps the rejected tokens."""
    draft = gemma3_text.Model(gemma.args)  # other weights: most drafts are rejected
    prompt = mx.arange(110) * 7 % 61
    expected = generated(gemma, turboquant.make_cache(gemma, "turbo4"), 110, 60)
    caches = turboquant.make_cache(gemma, "turbo4") + turboquant.make_cache(draft, "turbo2")
    steps = speculative_generate_step(
        prompt, gemma, draft, num_draft_tokens=drafted, max_tokens=60, prompt_cache=caches
    )
    assert [int(token) for token, _, _ in steps] == expected
    assert caches[0].dropped > 0
    assert len({c.offset for c in caches[:4]}) == 1


def test_trim_prompt_cache_trims_all_layers_or_none(gemma: Any) -> None:
    caches = turboquant.make_cache(gemma, "turbo4")
    generated(gemma, caches, 400, 20)
    offset = caches[0].offset
    assert trim_prompt_cache(caches, 200) == 0
    assert {c.offset for c in caches} == {offset}
    assert trim_prompt_cache(caches, 2) == 2
    assert {c.offset for c in caches} == {offset - 2}
    assert trim_prompt_cache([], 2) == 0


def test_a_size_limit_keeps_the_first_tokens(tmp_path: Path) -> None:
    """mlx-lm's max_kv_size: a window in every layer that the first 4 tokens never leave."""
    model = families.tiny("qwen2")
    ours, exact = turboquant.make_cache(model, "turbo8", max_kv_size=512), make_prompt_cache(model, 512)
    for step in (mx.arange(450) % 90, *mx.arange(90)[:, None]):
        logits = [model(step[None], cache=caches)[0, -1] for caches in (ours, exact)]
        assert mx.abs(logits[0] - logits[1]).max() < 0.1 * mx.abs(logits[1]).max()
    assert {(c.window, c.keep, c.first_keys.count, c.packing) for c in ours} == {(512, 4, 4, True)}
    assert {c.size() for c in ours} == {512}
    assert report.measure(ours).used_bytes < 0.8 * report.measure(ours).fp16_bytes
    snapshot.save(tmp_path / "c", ours, list(range(540)), "")
    with pytest.raises(SnapshotMismatch, match="window"):
        snapshot.load(tmp_path / "c", model, "")
    again = snapshot.load(tmp_path / "c", model, "", max_kv_size=512).caches
    assert mx.array_equal(*(model(mx.array([[7]]), cache=caches) for caches in (ours, again)))
