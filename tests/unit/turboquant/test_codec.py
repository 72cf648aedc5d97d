from itertools import product

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turboquant import codebook
from turboquant.backends import choose
from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import TRIALS, Packed, codec, pack, unpack
from turboquant.schemes import words_per_vector

DIMS = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512)
BITS = (2, 3, 4, 8)
BACKENDS = (ReferenceBackend(), choose())


def normal(*shape: int, seed: int = 0) -> mx.array:
    return mx.array(np.random.RandomState(seed).standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize(("dim", "bits"), list(product(DIMS, BITS)))
def test_round_trip_error_is_the_codebooks(dim: int, bits: int, backend: ReferenceBackend) -> None:
    """Of unit vectors, whose plain norm is 1: the matched norm is divided out, so that the table's error remains."""
    # the rare far coordinates carry much of the error at 8 bits, so it takes more of them
    x = normal(1, 2, (512_000 if bits == 8 else 96_000) // dim, dim)
    x = x / mx.linalg.norm(x, axis=-1, keepdims=True)
    plain = codec(dim, bits, 42)
    packed = backend.encode(x, plain)
    decoded = backend.dequantise(packed, plain, mx.float32)
    length = plain.centroids[unpack(packed.words, bits, dim)]
    length = mx.linalg.norm(length, axis=-1, keepdims=True)
    error = mx.square(decoded * length - plain.rotation.forward(x)).sum(-1).mean().item()
    assert error == pytest.approx(codebook.mean_squared_error(dim, bits), rel=0.03)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize(("dim", "bits"), list(product(DIMS, BITS)))
def test_codes_equal_float64_but_for_ties(dim: int, bits: int, backend: ReferenceBackend) -> None:
    x = normal(1, 2, 100, dim, seed=1)
    plain = codec(dim, bits, 42)
    ours = np.array(unpack(backend.encode(x, plain).words, bits, dim))
    y = np.array(x, np.float64)
    y = y / np.linalg.norm(y, axis=-1, keepdims=True) @ plain.rotation.dense().T
    edges = codebook.boundaries(codebook.lloyd_max(dim, bits))
    exact = np.searchsorted(edges, y)
    differ = ours != exact
    assert np.abs(ours.astype(int) - exact)[differ].max(initial=0) <= 1
    # only what lies on a boundary to float32's precision may fall on its other side
    nearest = np.abs(y[differ][:, None] - edges).min(axis=1) if differ.any() else np.zeros(1)
    assert nearest.max() < 1e-6


@pytest.mark.parametrize(("dim", "bits"), list(product((*DIMS, 10, 12, 28), (1, 2, 3, 4, 5, 8))))
def test_packing_takes_the_exact_width_and_loses_nothing(dim: int, bits: int) -> None:
    codes = mx.array(np.random.RandomState(2).randint(0, 1 << bits, (2, 3, 7, dim)).astype(np.uint32))
    words = pack(codes, bits)
    assert words.shape == (2, 3, 7, words_per_vector(dim, bits))
    assert words.dtype == mx.uint32
    assert mx.array_equal(unpack(words, bits, dim), codes)
    # LSB first, spilling over word boundaries
    first = np.array(codes)[0, 0, 0]
    number = sum(int(code) << (j * bits) for j, code in enumerate(first))
    assert [int(w) for w in np.array(words)[0, 0, 0]] == [number >> 32 * i & 0xFFFFFFFF for i in range(words.shape[-1])]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("norm", ["matched", "unbiased"])
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
@pytest.mark.parametrize(("dim", "bits"), list(product((64, 80, 128), BITS)))
def test_extreme_vectors_stay_finite_and_zero_stays_zero(dim, bits, dtype, norm, backend) -> None:
    x = np.random.RandomState(3).standard_normal((1, 1, 5, dim)).astype(np.float32)
    x[0, 0, 0] = 0
    x[0, 0, 1] = 1e-8
    x[0, 0, 2, 3] = 1e5
    x[0, 0, 3] = 3e4
    c = codec(dim, bits, 42, norm)
    packed = backend.encode(mx.array(x).astype(dtype), c)
    decoded = c.decode(packed)
    assert mx.isfinite(packed.norms).all()
    assert mx.isfinite(decoded).all()
    assert not decoded[0, 0, 0].any()
    assert mx.abs(decoded[0, 0, 1]).max().item() < 1e-6
    # clamped, but pointing the right way
    big = np.array(decoded[0, 0, 2])
    assert big[3] / np.linalg.norm(big) > 0.9
    assert np.array(decoded[0, 0, 4]) == pytest.approx(x[0, 0, 4], abs=1.7)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("bits", BITS)
def test_offset_and_channel_scale_are_undone(bits: int, backend: ReferenceBackend) -> None:
    x = normal(2, 3, 40, 80) + 5
    offset, scale = normal(2, 3, 80, seed=4) + 5, mx.exp(normal(2, 3, 80, seed=5))
    c = codec(80, bits, 42)
    decoded = c.decode(backend.encode(x, c, offset, scale), offset, scale)
    content = (x - offset[:, :, None]) * scale[:, :, None]
    error = mx.linalg.norm((decoded - x) * scale[:, :, None]) / mx.linalg.norm(content)
    assert error.item() ** 2 == pytest.approx(codebook.mean_squared_error(80, bits), rel=0.1)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_the_unbiased_norm_keeps_the_projection_and_the_matched_one_the_length(backend: ReferenceBackend) -> None:
    x = normal(1, 1, 500, 64)
    for norm in ("matched", "unbiased"):
        c = codec(64, 2, 42, norm)
        decoded = c.decode(backend.encode(x, c))
        if norm == "matched":
            kept = mx.linalg.norm(decoded, axis=-1) / mx.linalg.norm(x, axis=-1)
        else:
            kept = (decoded * x).sum(-1) / mx.square(x).sum(-1)
        assert mx.abs(kept - 1).max().item() < 1e-3


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("bits", [3, 4])
def test_trying_scales_brings_the_direction_nearer(bits: int, backend: ReferenceBackend) -> None:
    x = normal(1, 1, 400, 128)

    def miss(trials: int) -> mx.array:
        c = codec(128, bits, 42, "matched", trials)
        decoded = c.decode(backend.encode(x, c))
        cosine = (decoded * x).sum(-1) / (mx.linalg.norm(decoded, axis=-1) * mx.linalg.norm(x, axis=-1))
        return 1 - cosine

    plain, searched = miss(1), miss(len(TRIALS))
    assert (searched <= plain + 1e-5).all()
    assert searched.mean().item() < 0.95 * plain.mean().item()


@given(bits=st.sampled_from(BITS), dim=st.integers(4, 80).map(lambda n: 2 * n), seed=st.integers(0, 9))
def test_every_even_dimension_round_trips(bits: int, dim: int, seed: int) -> None:
    x = normal(1, 2, 3, dim, seed=seed)
    reference, ours = (b.encode(x, codec(dim, bits, 7)) for b in BACKENDS)
    assert mx.array_equal(reference.words, ours.words)
    c = codec(dim, bits, 7)
    assert mx.allclose(reference.norms, ours.norms, rtol=2e-3)
    assert mx.allclose(
        BACKENDS[1].dequantise(Packed(*reference), c, mx.float32), c.decode_rotated(reference), atol=1e-5
    )


def test_codecs_are_shared() -> None:
    assert codec(64, 4, 42) is codec(64, 4, 42)
    assert codec(64, 4, 42).rotation is codec(64, 2, 42).rotation
