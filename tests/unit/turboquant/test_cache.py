"""The cache against decode-then-attend in float64, and its own rules: what stays raw, trim, switching, memory."""

import copy
import pickle
from itertools import product

import mlx.core as mx
import numpy as np
import pytest

from tests.cache_kit import attend, attention, decoded, normal
from turboquant import report
from turboquant.backends import choose
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache
from turboquant.codec import key_codec
from turboquant.errors import NeedsRebuild
from turboquant.schemes import SCHEMES, parse
from turboquant.segments import PackedBuffer, Policy

NAMES = [scheme.name for scheme in SCHEMES]
COMPRESSING = NAMES[1:]
LENGTHS = (1, 3, 63, 64, 65, 127, 128, 255, 256, 257, 1000)


def filled(
    scheme: str, tokens: int, *, kv_heads: int = 2, group: int = 1, dim: int = 64, rows: int = 1,
    calibrate: bool = True, dtype: mx.Dtype = mx.float32,
) -> TurboQuantCache:  # fmt: skip
    """A prompt and then steps of `rows` tokens, as in decoding, `tokens` in all."""
    cache = TurboQuantCache(scheme, calibrate=calibrate)
    keys = normal(1, kv_heads, tokens, dim, dtype=dtype) + normal(1, kv_heads, 1, dim, seed=1, dtype=dtype)
    values = normal(1, kv_heads, tokens, dim, seed=2, dtype=dtype)
    queries = normal(1, kv_heads * group, tokens, dim, seed=3, dtype=dtype)
    done = 0
    while done < tokens:
        step = min(max(tokens - 3 * rows, 1) if done == 0 else rows, tokens - done)
        cache.update_and_fetch(keys[:, :, done : done + step], values[:, :, done : done + step])
        attend(cache, queries[:, :, done : done + step])
        done += step
    return cache


@pytest.mark.parametrize("tokens", LENGTHS)
@pytest.mark.parametrize("scheme", NAMES)
def test_attention_equals_decode_then_attend(scheme: str, tokens: int) -> None:
    cache = filled(scheme, tokens, rows=5)
    assert cache.offset == tokens
    held = decoded(cache)
    for group, rows in ((1, 1), (3, 5), (7, 1), (1, 5)):
        length = min(rows, tokens)
        if cache.packing and len(list(cache.steps(length))) > 1:
            length = 1  # a block falls due within the step: then each row sees a state of its own (test_drafts)
        queries = normal(1, 2 * group, length, 64, seed=9)
        ours = cache.attend(queries, 0.125, "causal" if length > 1 else None)
        exact = attention(np.array(queries, np.float64), *held, 0.125)
        assert ours.dtype == queries.dtype
        assert np.abs(np.array(ours) - exact).max() < 1e-3


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo3", "turbo0v4"])
def test_a_later_prompt_over_a_packed_cache_attends_all_of_it(scheme: str) -> None:
    cache = filled(scheme, 300, group=3)
    keys, values, queries = (normal(1, h, 100, 64, seed=s) for h, s in ((2, 11), (2, 12), (6, 13)))
    cache.update_and_fetch(keys, values)
    ours = cache.attend(queries, 0.125, "causal")
    exact = attention(np.array(queries, np.float64), *decoded(cache), 0.125)
    assert np.abs(np.array(ours) - exact).max() < 1e-3
    mask = mx.arange(400) <= mx.arange(300, 400)[:, None]
    assert mx.allclose(cache.attend(queries, 0.125, mask), ours, atol=1e-4)


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo0v4"])
@pytest.mark.parametrize("rows", [1, 40])
def test_attention_sinks_count(scheme: str, rows: int) -> None:
    cache = filled(scheme, 300, group=2, rows=rows)
    queries, sinks = normal(1, 4, rows, 64, seed=9), mx.array([0.5, 3.0, -1.0, 6.0])
    ours = cache.attend(queries, 0.125, "causal" if rows > 1 else None, sinks)
    exact = attention(np.array(queries, np.float64), *decoded(cache), 0.125, np.array(sinks, np.float64))
    assert np.abs(np.array(ours) - exact).max() < 1e-3


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("scheme", NAMES)
def test_dtypes_are_kept(scheme: str, dtype: mx.Dtype) -> None:
    cache = filled(scheme, 200, dtype=dtype)
    assert cache.attend(normal(1, 2, 1, 64, dtype=dtype), 1.0).dtype == dtype
    assert cache.tail_keys.view().dtype == (mx.float16 if dtype == mx.float32 else dtype)


@pytest.mark.parametrize("scheme", COMPRESSING)
def test_the_first_and_the_newest_tokens_stay_raw(scheme: str) -> None:
    prompt = 200
    cache = TurboQuantCache(scheme)
    keys, values = normal(1, 2, 600, 64), normal(1, 2, 600, 64, seed=2)
    for i in (0, *range(prompt, 600)):
        step = slice(0, prompt) if i == 0 else slice(i, i + 1)
        cache.update_and_fetch(keys[:, :, step], values[:, :, step])
        attend(cache, keys[:, :, step])
        if i == 0:
            assert cache.first_keys.count == 0  # the first phase: everything is raw, in one stretch
            continue
        assert cache.offset == step.stop
        assert cache.first_keys.count == 4
        assert 32 <= cache.tail_keys.count <= 96
        assert cache.body_values.count % 64 == 0
        newest = slice(step.stop - cache.tail_keys.count, step.stop)
        assert mx.array_equal(cache.tail_keys.view(), keys[:, :, newest].astype(mx.float16))
    assert mx.array_equal(cache.first_values.view(), values[:, :, :4].astype(mx.float16))


@pytest.mark.parametrize("tokens", [1, 4, 5, 35, 36, 99, 100, 101, 163, 164, 1000])
def test_the_policy_predicts_what_stays_raw(tokens: int) -> None:
    cache = TurboQuantCache("turbo4")
    cache.update_and_fetch(normal(1, 1, tokens, 64), normal(1, 1, tokens, 64))
    cache.compress()
    assert cache.offset - cache.body_values.count == Policy().raw_tokens(tokens)


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("trimmed", [1, 10, 40, 96, 150, 290, 296, 299])
def test_a_trimmed_cache_goes_on_like_one_that_never_had_the_tokens(scheme: str, trimmed: int) -> None:
    cache = filled(scheme, 300, group=2)
    keys, _ = decoded(cache)
    assert cache.trim(trimmed) == trimmed
    assert cache.offset == 300 - trimmed
    new_keys, new_values, queries = (normal(1, h, 120, 64, seed=s) for h, s in ((2, 21), (2, 22), (4, 23)))
    for i in range(120):  # long enough that blocks are flushed behind the cut
        cache.update_and_fetch(new_keys[:, :, i : i + 1], new_values[:, :, i : i + 1])
        ours = cache.attend(queries[:, :, i : i + 1], 0.125)
        if i % 17 == 0:
            held = decoded(cache)
            # what wasn't trimmed is exactly what it was, unless it was raw and has been packed since
            kept = min(300 - trimmed, cache.offset - cache.tail_keys.count - 64)
            assert np.array_equal(held[0][:, :, : max(kept, 0)], keys[:, :, : max(kept, 0)])
            exact = attention(np.array(queries[:, :, i : i + 1], np.float64), *held, 0.125)
            assert np.abs(np.array(ours) - exact).max() < 1e-3
    error = np.abs(held[1][:, :, -100:] - np.array(new_values, np.float64)[:, :, -100:]).mean()
    assert error < 0.4
    assert held[0].shape[2] == 420 - trimmed


def test_trimming_everything_begins_anew() -> None:
    cache = filled("turbo4", 300)
    assert cache.trim(1000) == 300
    assert cache.empty()
    assert not cache.packing
    assert cache.nbytes == cache.used_bytes == 0


def test_trimming_inside_the_tail_loses_nothing() -> None:
    one, other = filled("turbo2", 300), filled("turbo2", 300)
    keys, values = normal(1, 2, 8, 64, seed=31), normal(1, 2, 8, 64, seed=32)
    one.update_and_fetch(keys, values)
    one.trim(8)
    for mine, theirs in zip(decoded(one), decoded(other), strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize(("before", "after"), list(product(NAMES, NAMES)))
def test_switching_keeps_the_tokens_and_says_how(before: str, after: str) -> None:
    cache = filled(before, 300, group=2)
    held, wanted = parse(before), parse(after)
    exact = decoded(cache)
    method = cache.method(wanted)
    lost_keys = held.key_bits and wanted.key_bits != held.key_bits and not 0 < wanted.key_bits < held.key_bits
    lost_values = (
        held.value_bits and wanted.value_bits != held.value_bits and not 0 < wanted.value_bits < held.value_bits
    )
    if before == after:
        assert method == "unchanged"
    elif lost_keys or lost_values:
        assert method == "rebuild"
        with pytest.raises(NeedsRebuild):
            cache.switch(wanted)
        assert cache.scheme == held
        for mine, theirs in zip(decoded(cache), exact, strict=True):
            assert np.array_equal(mine, theirs)
        return
    else:
        from_packed = (held.key_bits and held.key_bits != wanted.key_bits) or (
            held.value_bits and held.value_bits != wanted.value_bits
        )
        assert method == ("requantised" if from_packed else "encoded")
    assert cache.switch(wanted) == method
    assert cache.scheme == wanted
    assert cache.offset == 300
    worst = {0: 0.01, 8: 0.02, 4: 0.15, 3: 0.3, 2: 0.5}
    for mine, theirs, bits in zip(decoded(cache), exact, (wanted.key_bits, wanted.value_bits), strict=True):
        assert np.sqrt(np.square(mine - theirs).mean()) < worst[bits]
    queries = normal(1, 4, 1, 64, seed=9)
    cache.update_and_fetch(normal(1, 2, 1, 64), normal(1, 2, 1, 64))
    ours = cache.attend(queries, 0.125)
    assert np.abs(np.array(ours) - attention(np.array(queries, np.float64), *decoded(cache), 0.125)).max() < 1e-3


@pytest.mark.parametrize(("before", "after"), list(product(NAMES, NAMES)))
def test_a_short_cache_switches_without_loss_either_way(before: str, after: str) -> None:
    cache = filled(before, 50)
    exact = decoded(cache)
    assert cache.switch(parse(after)) in ("encoded", "unchanged")
    for mine, theirs in zip(decoded(cache), exact, strict=True):
        assert np.array_equal(mine, theirs)
    assert TurboQuantCache(before).switch(parse(after)) == ("unchanged" if before == after else "empty")


@pytest.mark.parametrize("scheme", COMPRESSING)
def test_switching_after_a_trim_to_the_raw_tokens_uses_the_new_codec(scheme: str) -> None:
    cache = filled(scheme, 300)
    cache.trim(298)
    cache.switch(parse("turbo8"))
    keys, values = normal(1, 2, 200, 64, seed=41), normal(1, 2, 200, 64, seed=42)
    for i in range(200):
        cache.update_and_fetch(keys[:, :, i : i + 1], values[:, :, i : i + 1])
    assert isinstance(cache.body_keys, PackedBuffer)
    assert cache.body_keys.codec.bits == 8
    assert np.abs(decoded(cache)[0][:, :, 2:] - np.array(keys)).max() < 0.2


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("tokens", [0, 1, 70, 300])
def test_state_comes_back_bit_for_bit(scheme: str, tokens: int) -> None:
    cache = filled(scheme, tokens, group=2)
    mx.eval(cache.state)  # as mlx-lm does after each chunk of a prompt
    again = TurboQuantCache.from_state(cache.state)
    assert again.offset == tokens
    assert again.scheme == cache.scheme
    assert again.packing == cache.packing
    assert again.used_bytes == cache.used_bytes
    queries, keys = normal(1, 4, 1, 64, seed=9), normal(1, 2, 130, 64, seed=51)
    for i in range(130):
        for c in (cache, again):
            c.update_and_fetch(keys[:, :, i : i + 1], keys[:, :, i : i + 1])
        assert mx.array_equal(cache.attend(queries, 1.0), again.attend(queries, 1.0))


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("dim", [64, 80, 96, 128, 256])
def test_used_bytes_are_the_tables(scheme: str, dim: int) -> None:
    cache = filled(scheme, 1500, dim=dim)
    statistics = cache.calibration.nbytes
    raw = sum(b.used_bytes for b in (cache.first_keys, cache.first_values, cache.tail_keys, cache.tail_values))
    body = cache.used_bytes - statistics - raw
    assert cache.used_bytes <= cache.nbytes == sum(a.nbytes for a in cache.all_arrays())
    if scheme == "none":
        assert body == 0
        assert raw == 1500 * 2 * 2 * dim * 2
        return
    fp16 = cache.body_values.count * 2 * 2 * dim * 2
    assert fp16 / body == pytest.approx(parse(scheme).ratio(dim), rel=0.01)
    assert statistics < 0.02 * fp16


@pytest.mark.parametrize("dim", [4, 7, 63, 2048])
def test_a_head_dim_without_a_codec_stays_raw_with_the_reason(dim: int) -> None:
    cache = filled("turbo4", 300, dim=dim)
    assert str(dim) in cache.reason
    assert not cache.packing
    assert cache.used_bytes >= 300 * 2 * 2 * dim * 2
    queries = normal(1, 2, 1, dim, seed=9)
    exact = attention(np.array(queries, np.float64), *decoded(cache), 0.125)
    assert np.abs(np.array(cache.attend(queries, 0.125)) - exact).max() < 1e-3


def test_an_outlier_in_a_raw_token_stays_finite() -> None:
    cache = TurboQuantCache("turbo4")
    keys = normal(1, 1, 10, 64)
    keys[0, 0, 2, 5] = 1e5
    cache.update_and_fetch(keys, keys)
    assert mx.isfinite(cache.attend(normal(1, 1, 10, 64), 0.1, "causal")).all()


def test_key_offsets_make_keys_with_a_large_constant_exact() -> None:
    """Keys of noise 20 around a constant of norm 600: what makes 3-bit keys useless without an offset."""
    errors = {}
    for calibrate in (True, False):
        cache = TurboQuantCache("turbo3", policy=Policy(split=()), calibrate=calibrate)
        keys = 2.5 * normal(1, 1, 500, 64) + 75 * mx.sign(normal(1, 1, 1, 64, seed=1))
        cache.update_and_fetch(keys, keys)
        cache.attend(normal(1, 1, 500, 64, seed=3), 0.1, "causal")
        cache.compress()
        errors[calibrate] = np.sqrt(np.square(decoded(cache)[0] - np.array(keys)).mean())
    assert errors[True] < 0.2 * 2.5
    assert errors[False] > 3 * errors[True]


def test_packing_one_layer_after_the_other_needs_the_memory_of_one() -> None:
    layers = [TurboQuantCache("turbo4") for _ in range(8)]

    def fill() -> int:
        for cache in layers:
            cache.trim(cache.offset)
            cache.update_and_fetch(normal(1, 4, 4096, 64), normal(1, 4, 4096, 64))
            mx.eval(*cache.all_arrays())
        mx.clear_cache()
        mx.reset_peak_memory()
        return mx.get_active_memory()

    before = fill()
    layers[0].compress()
    one_layer = mx.get_peak_memory() - before
    before = fill()
    for cache in layers:
        cache.compress()
    assert mx.get_peak_memory() <= before + 1.05 * one_layer
    assert mx.get_active_memory() < 0.5 * before
    assert one_layer < before  # a layer's own work is less than all the raw ones


def test_a_switch_to_a_scheme_that_cant_pack_these_dims_stays_raw_and_back() -> None:
    cache = filled("none", 300, dim=63)
    exact = decoded(cache)
    assert cache.switch(parse("turbo4")) == "encoded"
    assert "63" in cache.reason
    assert not cache.packing
    for mine, theirs in zip(decoded(cache), exact, strict=True):
        assert np.array_equal(mine, theirs)
    cache.switch(parse("none"))
    assert cache.reason == ""


def test_raw_keys_that_cant_be_packed_are_kept_when_their_packing_is_asked_for() -> None:
    """Values of 64 are packed, keys of 63 can't be: turbo0v4 serves, turbo4 doesn't."""
    cache = TurboQuantCache("turbo4")
    keys, values = normal(1, 2, 300, 63), normal(1, 2, 300, 64)
    cache.update_and_fetch(keys, values)
    assert "63" in cache.reason
    cache.switch(parse("turbo0v4"))
    assert cache.reason == ""
    assert cache.body_values.count
    held = decoded(cache)
    with pytest.raises(NeedsRebuild):
        cache.switch(parse("turbo4"))
    for mine, theirs in zip(decoded(cache), held, strict=True):
        assert np.array_equal(mine, theirs)


def test_keys_and_values_that_dont_fit_are_refused_whole() -> None:
    cache = filled("turbo4", 300)
    for keys, values in (
        (normal(1, 2, 1, 64), normal(1, 2, 1, 63)),
        (normal(1, 2, 1, 64), normal(1, 2, 2, 64)),
        (normal(1, 1, 1, 64), normal(1, 1, 1, 64)),
    ):
        with pytest.raises(ValueError, match="fit"):
            cache.update_and_fetch(keys, values)
    assert cache.offset == 300
    assert cache.trim(-5) == 0
    assert cache.offset == 300


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_a_channel_at_the_types_edge_stays_finite(dtype: mx.Dtype) -> None:
    keys = np.random.RandomState(0).standard_normal((1, 2, 400, 64)).astype(np.float32)
    keys[..., 3] = 6e4 if dtype == mx.float16 else 1e5
    keys[..., 5] = 0
    packed = TurboQuantCache("turbo4")
    data = mx.array(keys).astype(dtype)
    for step in (slice(0, 300), slice(300, 301), slice(301, 400)):  # prompt, decode, a later prompt
        packed.update_and_fetch(data[:, :, step], data[:, :, step])
        rows = data[:, :, step] * 1e-5
        assert mx.isfinite(attend(packed, rows)).all()
    assert mx.isfinite(packed.calibration.offsets).all()
    assert mx.isfinite(packed.calibration.channel_scale).all()


def test_a_copied_cache_goes_its_own_way_with_the_same_codec_and_backend() -> None:
    cache = filled("turbo4", 300)
    copied = copy.deepcopy(cache)
    assert copied.backend is cache.backend
    assert copied.body_keys.codec is cache.body_keys.codec
    before = decoded(cache)
    copied.trim(200)
    copied.update_and_fetch(normal(1, 2, 1, 64, seed=8), normal(1, 2, 1, 64, seed=8))
    for mine, theirs in zip(decoded(cache), before, strict=True):
        assert np.array_equal(mine, theirs)
    assert pickle.loads(pickle.dumps(cache.body_keys.codec)) is cache.body_keys.codec


def test_a_policy_without_first_tokens_is_measured_too() -> None:
    cache = TurboQuantCache("turbo4", policy=Policy(first=0, tail=0, block=64))
    cache.update_and_fetch(normal(1, 2, 256, 64), normal(1, 2, 256, 64))
    cache.compress()
    assert report.measure([cache]).raw_tokens == 0
    assert report.measure([cache]).fp16_bytes == 256 * 2 * 2 * 64 * 2
    with pytest.raises(ValueError, match="block"):
        Policy(block=0)


@pytest.mark.parametrize("backend", [ReferenceBackend(), choose()], ids=lambda b: b.name)
def test_encoding_many_rows_takes_bounded_memory_and_gives_the_same(backend: ReferenceBackend) -> None:
    x, codec = normal(1, 4, 6000, 64), key_codec(64, 4)
    mx.eval(x)
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    packed = backend.encode(x, codec)
    mx.eval(packed)
    assert mx.get_peak_memory() - before < 3 * x.nbytes + (100 << 20)
    some = backend.encode(x[:, :, 5000:5100], codec)
    assert mx.array_equal(packed.words[:, :, 5000:5100], some.words)
    assert mx.array_equal(packed.norms[:, :, 5000:5100], some.norms)
