"""Split keys: the codec against NumPy, and a cache that uses it."""

import mlx.core as mx
import numpy as np
import pytest

from tests.cache_kit import attend, attention, decoded, normal
from turboquant import plan
from turboquant.cache import TurboQuantCache
from turboquant.calibration import WORTH_SPLITTING
from turboquant.codebook import mean_squared_error
from turboquant.codec import key_codec
from turboquant.errors import SnapshotMismatch
from turboquant.schemes import parse
from turboquant.segments import PackedBuffer, Policy
from turboquant.split import WIDTHS, SplitCodec, can_split, norms_of, split_key_codec

DIMS = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512)
SPLIT = Policy(split=WIDTHS)


def order_of(dim: int, heads: int = 2, seed: int = 3) -> mx.array:
    random = np.random.RandomState(seed)
    return mx.array(np.stack([random.permutation(dim) for _ in range(heads)])[None].astype(np.uint16))


def unequal(tokens: int, dim: int = 64, heads: int = 2) -> tuple[mx.array, mx.array]:
    """Keys, and queries whose channels matter by as much as a factor of 50."""
    power = mx.array(np.exp(np.linspace(-2, 2, dim)).astype(np.float32))
    keys = normal(1, heads, tokens, dim) * power + normal(1, heads, 1, dim, seed=1) * 4
    return keys, normal(1, heads, tokens, dim, seed=3) * power


def filled(scheme: str, tokens: int, policy: Policy = SPLIT) -> TurboQuantCache:
    cache = TurboQuantCache(scheme, policy=policy)
    keys, queries = unequal(tokens)
    values = normal(1, 2, tokens, 64, seed=2)
    for rows in (slice(0, tokens - 200), *(slice(t, t + 1) for t in range(tokens - 200, tokens))):
        cache.update_and_fetch(keys[:, :, rows], values[:, :, rows])
        attend(cache, queries[:, :, rows])
    return cache


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("bits", WIDTHS)
def test_a_split_vector_takes_the_bytes_of_a_uniform_one_and_its_halves_decode_apart(dim: int, bits: int) -> None:
    codec, order = split_key_codec(dim, bits), order_of(dim)
    x = normal(1, 2, 5, dim) / 8
    packed = codec.encode(x, None, None, order)
    uniform = key_codec(dim, bits).encode(x)
    assert (packed.words.shape, packed.norms.nbytes) == (uniform.words.shape, uniform.norms.nbytes)
    back = codec.decode(packed, None, None, order)
    for half, slots in ((codec.upper, slice(0, None, 2)), (codec.lower, slice(1, None, 2))):
        index = order[..., slots].astype(mx.uint32)[:, :, None]
        part = mx.take_along_axis(x, mx.broadcast_to(index, (1, 2, 5, dim // 2)), axis=-1)
        mine = mx.take_along_axis(back, mx.broadcast_to(index, (1, 2, 5, dim // 2)), axis=-1)
        alone = half.decode(half.encode(part))
        # a norm is rounded to a 32nd of an octave: half a step is 1.1 %
        assert (mx.linalg.norm(mine - alone, axis=-1) / mx.linalg.norm(alone, axis=-1)).max() < 2 ** (
            0.5 / 32
        ) - 1 + 1e-3


def test_codes_lie_pair_by_pair_from_the_low_end() -> None:
    codec, order = split_key_codec(64, 3), order_of(64, heads=1)
    x = normal(1, 1, 1, 64) / 8
    packed = codec.encode(x, None, None, order)
    slots = np.array(x)[0, 0, 0][np.array(order)[0, 0]]
    upper, lower = mx.array(slots[0::2])[None], mx.array(slots[1::2])[None]
    bits = "".join(f"{int(word):032b}"[::-1] for word in np.array(packed.words).ravel())
    for i, (high, low) in enumerate(
        zip(codec.upper.quantise(upper)[0][0], codec.lower.quantise(lower)[0][0], strict=True)
    ):
        assert int(bits[6 * i : 6 * i + 4][::-1], 2) == int(high)
        assert int(bits[6 * i + 4 : 6 * i + 6][::-1], 2) == int(low)


def test_zero_stays_zero_and_what_is_out_of_range_stays_finite() -> None:
    codec, order = split_key_codec(64, 3), order_of(64, heads=1)
    x = mx.stack([mx.zeros(64), mx.full(64, 6e4), mx.full(64, 1e-30), mx.ones(64)])[None, None]
    back = codec.decode(codec.encode(x, None, None, order), None, None, order)
    assert mx.isfinite(back).all()
    assert (back[0, 0, 0] == 0).all()
    assert mx.linalg.norm(back[0, 0, 1]) > 16


def test_a_norm_is_within_half_a_step_over_its_whole_range() -> None:
    codec, order = split_key_codec(64, 4), order_of(64, heads=1)
    lengths = np.exp2(np.linspace(-3.9, 3.9, 200)).astype(np.float32)
    x = normal(1, 1, 200, 64)
    halves = codec.encode(x / 8, None, None, order)
    x = x * mx.array(lengths)[:, None] / mx.linalg.norm(x, axis=-1, keepdims=True) * 1.2
    high, _ = norms_of(codec.encode(x, None, None, order).norms)
    index = np.array(order)[0, 0, 0::2]
    exact = np.array(codec.upper.quantise(mx.array(np.array(x)[..., index]))[1])
    inside = np.abs(np.log2(exact)) < 3.9
    assert halves.norms.dtype == mx.uint16
    assert np.abs(np.log2(np.array(high) / exact))[inside].max() <= 0.5 / 32 + 1e-5


@pytest.mark.parametrize("scheme", ["turbo4", "turbo3", "turbo2", "turbo3v4"])
def test_attention_over_split_keys_equals_decode_then_attend(scheme: str) -> None:
    cache = filled(scheme, 700)
    assert isinstance(cache.body_keys, PackedBuffer)
    assert isinstance(cache.body_keys.codec, SplitCodec)
    for rows in (1, 5, 20):
        queries = normal(1, 4, rows, 64, seed=9)
        ours = cache.attend(queries, 0.05, "causal" if rows > 1 else None)
        exact = attention(np.array(queries, np.float64), *decoded(cache), 0.05)
        assert np.abs(np.array(ours) - exact).max() < 2e-3


@pytest.mark.parametrize("bits", WIDTHS)
def test_scores_are_more_exact_than_with_uniform_keys_of_the_same_bytes(bits: int) -> None:
    errors, sizes = [], []
    for policy in (Policy(split=()), SPLIT):
        cache = filled(f"turbo{bits}", 700, policy)
        keys, queries = unequal(700)
        scores = np.array(queries[:, :, -50:], np.float64) @ decoded(cache)[0].swapaxes(-1, -2)
        exact = np.array(queries[:, :, -50:], np.float64) @ np.array(keys, np.float64).swapaxes(-1, -2)
        errors.append(np.square(scores - exact).mean())
        assert isinstance(cache.body_keys, PackedBuffer)
        sizes.append(cache.body_keys.used_bytes)
    assert sizes[0] == sizes[1]
    assert errors[1] < 0.85 * errors[0]


def test_without_statistics_or_with_an_unfit_dimension_keys_stay_uniform() -> None:
    plain = TurboQuantCache("turbo3", policy=SPLIT, calibrate=False)
    odd = TurboQuantCache("turbo3", policy=SPLIT)
    for cache, dim, why in ((plain, 64, "too little is known"), (odd, 66, "half of 66 channels")):
        x = normal(1, 2, 300, dim)
        cache.update_and_fetch(x, x)
        attend(cache, x)
        cache.compress()
        assert isinstance(cache.body_keys, PackedBuffer)
        assert not isinstance(cache.body_keys.codec, SplitCodec)
        assert why in plan.describe([cache])[0].note
    assert not can_split(66)
    for scheme, policy in (("turbo8", SPLIT), ("turbo0v4", SPLIT), ("turbo3", Policy(split=())), ("none", SPLIT)):
        cache = TurboQuantCache(scheme, policy=policy)
        cache.update_and_fetch(x, x)
        attend(cache, x)
        cache.compress()
        assert plan.describe([cache])[0].note == "", "none of these was to be split"


@pytest.mark.parametrize("bits", WIDTHS)
def test_where_channels_are_alike_keys_stay_uniform_because_splitting_would_lose(bits: int) -> None:
    cache = TurboQuantCache(f"turbo{bits}", policy=SPLIT)
    x = normal(1, 2, 400, 64)
    cache.update_and_fetch(x, x)
    attend(cache, normal(1, 2, 400, 64, seed=1))
    cache.compress()
    assert isinstance(cache.body_keys, PackedBuffer)
    assert not isinstance(cache.body_keys.codec, SplitCodec)
    assert cache.calibration.channel_scale is not None
    assert "too much alike" in cache.note


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_share_from_which_splitting_pays_is_the_codebooks(bits: int) -> None:
    upper, uniform, lower = (mean_squared_error(64, b) for b in (bits + 1, bits, bits - 1))
    for share, pays in ((WORTH_SPLITTING, True), (WORTH_SPLITTING - 0.04, False)):
        assert (2 * (share**2 * upper + (1 - share) ** 2 * lower) < uniform) == pays


def test_switching_to_fewer_bits_and_trimming_keep_the_order() -> None:
    cache = filled("turbo4", 700)
    order = cache.calibration.channel_order
    assert cache.switch(parse("turbo2")) == "requantised"
    assert isinstance(cache.body_keys, PackedBuffer)
    assert cache.body_keys.codec is split_key_codec(64, 2)
    assert cache.calibration.channel_order is order
    before = decoded(cache)[0]
    cache.trim(300)
    assert np.array_equal(decoded(cache)[0], before[:, :, :400])
    cache.update_and_fetch(normal(1, 2, 1, 64), normal(1, 2, 1, 64))
    queries = normal(1, 2, 1, 64, seed=9)
    exact = attention(np.array(queries, np.float64), *decoded(cache), 0.05)
    assert np.abs(np.array(cache.attend(queries, 0.05)) - exact).max() < 2e-3


def test_a_state_restores_bit_for_bit_and_a_broken_order_is_refused() -> None:
    cache = filled("turbo3", 700)
    restored = TurboQuantCache.from_state(cache.state)
    assert restored.policy == cache.policy
    for ours, theirs in zip(cache.arrays().values(), restored.arrays().values(), strict=True):
        assert mx.array_equal(ours, theirs)
    arrays = cache.arrays()
    arrays["channel_order"] = mx.zeros_like(arrays["channel_order"])
    with pytest.raises(SnapshotMismatch, match="fit together"):
        TurboQuantCache("none").restore(cache.describe(), arrays)
    del arrays["channel_order"]
    with pytest.raises(SnapshotMismatch, match="fit together"):
        TurboQuantCache("none").restore(cache.describe(), arrays)
