"""The numba backend against the reference and against float64 NumPy."""

# ruff: noqa: E402

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from itertools import product
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

if mx.default_device() != mx.cpu:
    pytest.skip("the numba backend reads arrays in place, which needs MLX on the CPU", allow_module_level=True)
binding = pytest.importorskip("llvmlite.binding", reason="numba isn't installed")

from tests.cache_kit import error_at_a_million
from turboquant import calibration, codebook
from turboquant.backends.cpu import MAX_ROWS, NumbaBackend
from turboquant.backends.cpu_kernels.attention import attend
from turboquant.backends.cpu_kernels.codec import dequantise, encode
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache
from turboquant.codec import TRIALS, codec, key_codec, pack, unpack, value_codec
from turboquant.key_bias import KeyBias
from turboquant.schemes import SCHEMES
from turboquant.segments import Buffer, PackedBuffer, Policy
from turboquant.split import WIDTHS, SplitCodec, split_key_codec

LENGTHS = (1, 3, 63, 64, 65, 127, 128, 255, 256, 257, 1000)
NAMES = [scheme.name for scheme in SCHEMES]
TOLERANCE = {mx.float32: 1e-3, mx.float16: 4e-3, mx.bfloat16: 3e-2}  # the last two are their rounding of the result

backend, reference = NumbaBackend(), ReferenceBackend()


def filled(
    scheme: str,
    tokens: int,
    *,
    dim: int = 64,
    value_dim: int | None = None,
    heads: int = 2,
    batch: int = 1,
    dtype: mx.Dtype = mx.float32,
    policy: Policy | None = None,
    steps: int = 0,
    key_bias: KeyBias | None = None,
) -> TurboQuantCache:
    """A packed cache of random tokens with a constant in the keys; the newest `steps` came one by one."""
    cache = TurboQuantCache(scheme, policy=policy)
    cache.key_bias = key_bias

    def add(n: int) -> None:
        keys = mx.random.normal((batch, heads, n, dim)) + 2 * mx.random.normal((batch, heads, 1, dim))
        if key_bias is not None:
            keys = keys + key_bias.rows(cache.offset, cache.offset + n, heads)
        cache.update_and_fetch(keys.astype(dtype), mx.random.normal((batch, heads, n, value_dim or dim)).astype(dtype))

    if tokens > steps:
        add(tokens - steps)
    cache.calibration.observe(mx.random.normal((batch, heads, tokens, dim)) * mx.random.uniform(0.5, 2, (dim,)), heads)
    cache.compress()
    for _ in range(steps):
        add(1)
    return cache


def difference(
    cache: TurboQuantCache, group: int, length: int, dtype: mx.Dtype = mx.float32, sinks: mx.array | None = None
) -> float:
    """Largest difference from the reference, relative to the largest number of the result."""
    batch, heads, _, dim = cache.tail_keys.view().shape
    queries = (2 * mx.random.normal((batch, heads * group, length, dim))).astype(dtype)
    mask = "causal" if length > 1 else None
    got = backend.attend(queries, cache.stretches(), dim**-0.5, mask, sinks)
    assert got.dtype == dtype
    exact = reference.attend(queries.astype(mx.float32), cache.stretches(), dim**-0.5, mask, sinks)
    assert got.shape == exact.shape
    return float(mx.abs(got.astype(mx.float32) - exact).max() / mx.abs(exact).max())


@pytest.mark.parametrize("scheme", NAMES)
def test_attention_equals_the_reference_at_every_length(scheme: str) -> None:
    mx.random.seed(1)
    for tokens in LENGTHS:
        cache = filled(scheme, tokens, steps=1)
        for group, length in product((1, 3, 7), (1, min(5, tokens))):
            assert difference(cache, group, length) < 1e-3, f"T={tokens} group={group} L={length}"


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo3", "turbo0v2"])
def test_attention_in_sixteen_bits(scheme: str, dtype: mx.Dtype) -> None:
    mx.random.seed(2)
    for tokens, length in ((3, 1), (300, 1), (300, 5)):
        assert difference(filled(scheme, tokens, dtype=dtype, steps=1), 3, length, dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize("dim", [10, 14, 24, 72, 80, 96, 112, 120, 192, 256])
def test_attention_at_any_head_dim(dim: int) -> None:
    mx.random.seed(3)
    for scheme in ("turbo8v3", "turbo4v2", "turbo3v8", "turbo2v4", "turbo0v3"):
        assert difference(filled(scheme, 260, dim=dim), 3, 1) < 1e-3, scheme


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo0v4"])
def test_values_of_another_width_and_a_batch(scheme: str) -> None:
    mx.random.seed(4)
    for dim, value_dim in ((128, 64), (48, 80)):
        cache = filled(scheme, 200, dim=dim, value_dim=value_dim, batch=2, heads=3)
        assert difference(cache, 2, 3) < 1e-3


@pytest.mark.parametrize("scheme", ["turbo4", "turbo2", "turbo0v4"])
def test_segments_with_offsets_of_their_own(scheme: str) -> None:
    mx.random.seed(5)
    cache = filled(scheme, 1800, steps=500)
    if cache.scheme.key_bits:
        assert len(cache.stretches().segment_starts) >= 3
    assert difference(cache, 3, 1) < 1e-3
    assert difference(cache, 3, 5) < 1e-3


def test_stretches_that_end_anywhere() -> None:
    """Blocks of 64 tokens and fours of tokens are cut off at every place; the first tokens and the tail as well."""
    mx.random.seed(6)
    for first, tail, block, tokens in product((0, 1, 4, 7), (1, 2, 33), (1, 5, 67), (9, 101, 330)):
        cache = filled("turbo4v3", tokens, policy=Policy(first, tail, block))
        assert difference(cache, 2, 1) < 1e-3, (first, tail, block, tokens)


@pytest.mark.parametrize(("key_bits", "value_bits"), [(4, 4), (3, 2), (8, 8)])
def test_a_million_tokens(key_bits: int, value_bits: int) -> None:
    assert error_at_a_million(backend, key_bits, value_bits) < 2e-3


def test_sinks_take_their_share() -> None:
    mx.random.seed(7)
    for scheme, tokens in product(("none", "turbo4"), (3, 300)):
        cache = filled(scheme, tokens, batch=2, steps=1)
        sinks = mx.array([-30.0, 0.0, 2.0, 30.0, 1.0, -1.0])
        assert difference(cache, 3, 1, sinks=sinks) < 1e-3
        assert difference(cache, 3, 3, sinks=sinks) < 1e-3


def test_what_lies_behind_the_tokens_in_use_is_not_read() -> None:
    mx.random.seed(8)
    cache = filled("turbo3", 300)
    queries = mx.random.normal((1, 6, 1, 64))
    before = backend.attend(queries, cache.stretches(), 0.125, None, None)
    for buffer in cache._buffers():
        parts = [buffer.words, buffer.norms] if isinstance(buffer, PackedBuffer) else [buffer]
        for part in parts:
            assert isinstance(part, Buffer)
            assert part.array is not None
            assert part.array.shape[2] > part.count
            part.array[:, :, part.count :] = 60000
    after = backend.attend(queries, cache.stretches(), 0.125, None, None)
    assert mx.array_equal(before, after)


def test_scores_far_apart_stay_finite() -> None:
    mx.random.seed(9)
    cache = filled("turbo4", 300)
    for size in (1e-6, 1e3, 1e5):
        queries = size * mx.random.normal((1, 6, 1, 64))
        got = backend.attend(queries, cache.stretches(), 1.0, None, None)
        exact = reference.attend(queries, cache.stretches(), 1.0, None, None)
        assert mx.isfinite(got).all()
        if size < 1:
            assert float(mx.abs(got - exact).max()) < 1e-4


def test_long_steps_and_masks_are_attended_as_the_reference_does() -> None:
    mx.random.seed(10)
    cache = filled("turbo4", 100)
    length = MAX_ROWS + 1
    queries = mx.random.normal((1, 6, length, 64))
    mask = mx.random.uniform(0, 1, (1, 1, length, 100)) > 0.5
    for m in ("causal", mask):
        got = backend.attend(queries, cache.stretches(), 0.1, m, None)
        assert mx.allclose(got, reference.attend(queries, cache.stretches(), 0.1, m, None), atol=1e-5)


SPLIT = Policy(split=WIDTHS)


@pytest.fixture
def always_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where channels are alike, as random ones are."""
    monkeypatch.setattr(calibration, "WORTH_SPLITTING", 0.0)


@pytest.mark.usefixtures("always_split")
@pytest.mark.parametrize("scheme", ["turbo4", "turbo3", "turbo2", "turbo4v2"])
def test_split_keys_are_attended_at_every_length(scheme: str) -> None:
    mx.random.seed(16)
    for tokens, dim in product((101, 128, 164, 1000), (64, 80)):
        cache = filled(scheme, tokens, dim=dim, steps=1, policy=SPLIT)
        assert isinstance(cache.body_keys, PackedBuffer)
        assert isinstance(cache.body_keys.codec, SplitCodec)
        for group, length in product((1, 3), (1, 5)):
            assert difference(cache, group, length) < 1e-3, f"T={tokens} d={dim} group={group} L={length}"


@pytest.mark.usefixtures("always_split")
@pytest.mark.parametrize("dim", [20, 24, 72, 96, 112, 120, 128, 192, 256, 512])
def test_split_keys_at_any_head_dim(dim: int) -> None:
    mx.random.seed(17)
    for scheme, dtype in product(("turbo2", "turbo3v4", "turbo4"), (mx.float32, mx.bfloat16)):
        cache = filled(scheme, 260, dim=dim, batch=2, dtype=dtype, policy=SPLIT)
        assert difference(cache, 3, 2, dtype) < TOLERANCE[dtype], scheme


@pytest.mark.usefixtures("always_split")
@pytest.mark.parametrize("scheme", ["turbo4", "turbo2", "turbo0v4"])
def test_a_key_bias_is_scored(scheme: str) -> None:
    mx.random.seed(19)
    bias = KeyBias(20 * mx.random.normal((2 * 64,)), nn.RoPE(64))
    for policy, dtype in product((SPLIT, Policy()), (mx.float32, mx.float16)):
        cache = filled(scheme, 500, policy=policy, steps=90, key_bias=bias, batch=2, dtype=dtype)
        assert (cache.stretches().key_bias is bias) == bool(cache.scheme.key_bits)
        for length in (1, 5):
            assert difference(cache, 3, length, dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("dim", [20, 64, 72, 120, 128, 256])
def test_split_keys_are_encoded_and_read_as_by_the_reference(dim: int, bits: int) -> None:
    mx.random.seed(18)
    c = split_key_codec(dim, bits)
    x = mx.random.normal((2, 3, 37, dim)) / dim**0.5
    x[0, 0, 0] = 0
    x[0, 0, 1] *= 1e4
    x[0, 0, 2] *= 1e-6
    x[0, 0, 3] = mx.where(mx.arange(dim) % 2 == 0, 0, x[0, 0, 3])  # nothing in one of the halves, or little
    order = mx.stack([mx.random.permutation(dim) for _ in range(6)]).reshape(2, 3, dim).astype(mx.uint16)
    order[0, 0] = mx.arange(dim)
    offset, scale = 0.1 * mx.random.normal((2, 3, dim)), mx.random.uniform(0.5, 2, (2, 3, dim))
    for given in ((None, None), (offset, scale)):
        got, want = backend.encode(x, c, *given, order), reference.encode(x, c, *given, order)
        assert got.norms.dtype == mx.uint16
        vectors = (got.words != want.words).any(axis=-1) | (got.norms != want.norms)
        assert int(vectors.sum()) <= 1  # a coordinate next to a boundary, a norm half way between two steps
        read = backend.dequantise(want, c, mx.float32)
        assert mx.allclose(read, reference.dequantise(want, c, mx.float32), rtol=1e-5, atol=1e-7)
    assert not mx.abs(backend.dequantise(backend.encode(x, c, None, None, order), c, mx.float32)[0, 0, 0]).any()


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("dim", [10, 16, 64, 72, 80, 96, 112, 120, 128, 192, 256, 512])
def test_codes_and_norms_equal_float64(dim: int, bits: int) -> None:
    """Codes but for ties: a coordinate next to a boundary, two trial scales of equal cosine."""
    mx.random.seed(11)
    x = mx.random.normal((2, 3, 37, dim)) * mx.random.uniform(0.1, 30, (2, 3, 37, 1))
    exact = np.asarray(x, np.float64).reshape(-1, dim)
    length = np.linalg.norm(exact, axis=1)
    centroids = codebook.lloyd_max(dim, bits)
    boundaries = codebook.boundaries(centroids)
    for c in (codec(dim, bits, 5), key_codec(dim, bits), value_codec(dim, bits)):
        packed = backend.encode(x, c)
        codes = np.asarray(unpack(packed.words, bits, dim)).reshape(-1, dim).astype(np.int64)
        y = exact @ c.rotation.dense().T / length[:, None]
        right, cosines = [], []
        for trial in TRIALS[: c.trials]:
            expected = np.searchsorted(boundaries, trial * y)
            chosen = centroids[expected]
            cosines.append((chosen * y).sum(1) / np.linalg.norm(chosen, axis=1))
            nearest = np.abs((trial * y)[..., None] - boundaries).min(2)
            assert (nearest < 1e-6).mean() < 1e-2
            right.append(((codes == expected) | (nearest < 1e-6)).all(1))
        best = np.array(cosines) > np.max(cosines, axis=0) - 1e-6
        assert (np.array(right) & best).any(0).all()
        chosen = centroids[codes]
        divisor = np.linalg.norm(chosen, axis=1) if c.norm == "matched" else (chosen * y).sum(1)
        np.testing.assert_allclose(np.asarray(packed.norms).reshape(-1), length / divisor, rtol=6e-4)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("dim", [10, 24, 72, 80, 120, 128, 512])
def test_packing_and_unpacking_are_exact(dim: int, bits: int) -> None:
    mx.random.seed(12)
    c = key_codec(dim, bits)
    codes = mx.random.randint(0, 1 << bits, (1, 2, 5, dim)).astype(mx.uint32)
    packed = reference.encode(mx.random.normal((1, 2, 5, dim)), c)._replace(words=pack(codes, bits))
    assert mx.array_equal(
        backend.dequantise(packed, c, mx.float32), c.centroids[codes] * packed.norms.astype(mx.float32)[..., None]
    )
    x = mx.random.normal((1, 2, 5, dim))
    words = backend.encode(x, c).words
    assert mx.array_equal(words, pack(unpack(words, bits, dim), bits))  # nothing stands in the last word's spare bits


def test_offsets_and_scales_are_folded_in() -> None:
    mx.random.seed(13)
    c = key_codec(80, 4)
    x, offset = mx.random.normal((2, 2, 70, 80)) + 3, mx.random.normal((2, 2, 80)) + 3
    scale = mx.random.uniform(0.5, 2, (2, 2, 80))
    for arguments in ((offset, None), (None, scale), (offset, scale), (offset.astype(mx.float16), scale)):
        got, expected = backend.encode(x, c, *arguments), reference.encode(x, c, *arguments)
        assert float((unpack(got.words, 4, 80) != unpack(expected.words, 4, 80)).mean()) < 1e-3


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_extreme_vectors_stay_finite(bits: int) -> None:
    x = mx.zeros((1, 1, 4, 64))
    x[0, 0, 1] = 1e-8
    x[0, 0, 2, 7] = 1e5
    x[0, 0, 3] = 1e5
    packed = backend.encode(x, value_codec(64, bits))
    decoded = backend.dequantise(packed, value_codec(64, bits), mx.float32)
    assert mx.isfinite(decoded).all()
    assert float(mx.abs(decoded[0, 0, :2]).max()) < 1e-6


def test_results_keep_their_type_and_shape() -> None:
    c = value_codec(64, 4)
    packed = backend.encode(mx.random.normal((2, 3, 5, 64)).astype(mx.bfloat16), c)
    assert packed.words.shape == (2, 3, 5, 8)
    assert packed.norms.dtype == mx.float16
    assert backend.dequantise(packed, c, mx.bfloat16).dtype == mx.bfloat16


def test_two_threads_may_attend_and_encode_at_once() -> None:
    mx.random.seed(14)
    cache, queries = filled("turbo4", 700), mx.random.normal((1, 6, 1, 64))
    x, c = mx.random.normal((1, 2, 64, 64)), key_codec(64, 4)
    stretches = cache.stretches()
    expected = np.asarray(backend.attend(queries, stretches, 0.1, None, None))
    words = np.asarray(backend.encode(x, c).words)
    mx.eval(queries, x, *cache.all_arrays(), c.rotation.signs, c.rotation.mixer, c.centroids, c.boundaries)
    wrong: list[Any] = []

    def work() -> None:
        try:
            with mx.stream(mx.new_stream(mx.cpu)):  # a stream belongs to its thread
                for _ in range(30):
                    if not np.array_equal(np.asarray(backend.attend(queries, stretches, 0.1, None, None)), expected):
                        wrong.append("attend")
                    if not np.array_equal(np.asarray(backend.encode(x, c).words), words):
                        wrong.append("encode")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_each_entry_is_compiled_once_and_cached_with_its_neighbours() -> None:
    mx.random.seed(15)
    for scheme, dtype, length in (("none", mx.float16, 1), ("turbo4", mx.float32, 1), ("turbo0v8", mx.bfloat16, 4)):
        for split in ((), WIDTHS):
            cache = filled(scheme, 200, dim=80, value_dim=24, dtype=dtype, policy=Policy(split=split))
            difference(cache, 2, length, dtype, mx.zeros(4))
    split_codec, order = split_key_codec(64, 3), mx.arange(64, dtype=mx.uint16)[None, None]
    packed = backend.encode(mx.ones((1, 1, 1, 64)), split_codec, None, None, order)
    backend.dequantise(packed, split_codec, mx.float16)
    backend.dequantise(backend.encode(mx.ones((1, 1, 1, 8)), key_codec(8, 2)), key_codec(8, 2), mx.float16)
    for function in (attend, encode, dequantise):
        compiled: Any = inspect.getclosurevars(function).nonlocals["compiled"]
        assert len(compiled.signatures) == 1, "\n".join(map(str, compiled.signatures))
        assert compiled.targetoptions["nogil"]
        cache_file = compiled._cache._cache_file
        assert cache_file._load_index()
        stamp, cache_file._source_stamp = cache_file._source_stamp, (0.0, 0)  # as after a change to any file
        try:
            assert not cache_file._load_index()
        finally:
            cache_file._source_stamp = stamp


_PROBE = """
import numba, numpy as np
from turboquant.backends.cpu_kernels.lanes import nearest_sixteens, unpack, unpack_split
from turboquant.backends.cpu_kernels.layout import table
@numba.njit
def look_up(words, bits, split, entries, out):
    if split:
        unpack_split(words, bits, entries, np.float32(0.5), out)
    else:
        unpack(words, bits, entries, out)
@numba.njit
def nearest(y, boundaries, centroids, codes, out):
    nearest_sixteens(y, np.float32(1.5), boundaries, centroids, codes, out)
random = np.random.RandomState(1)
for bits, dim, split in [(2, 64, 0), (3, 72, 0), (4, 128, 0), (4, 24, 0), (2, 72, 1), (3, 64, 1), (4, 40, 1)]:
    widths = (bits + 1, bits - 1) if split else (bits,)
    tables = [np.sort(random.standard_normal(1 << width).astype(np.float32)) for width in widths]
    words = random.randint(0, 1 << 32, -(-dim * bits // 32), dtype=np.uint32)
    out = np.zeros(dim, np.float32)
    entries = np.concatenate([table(tables[0], size=32), table(tables[1])]) if split else table(tables[0])
    look_up(words, bits, split, entries, out)
    stream = sum(int(word) << 32 * i for i, word in enumerate(words))
    def code(start, width):
        return stream >> start & (1 << width) - 1
    if split:
        want = [tables[0][code(2 * bits * j, bits + 1)] for j in range(dim // 2)]
        want += [tables[1][code(2 * bits * j + bits + 1, bits - 1)] / 2 for j in range(dim // 2)]
    else:
        want = [tables[0][code(bits * j, bits)] for j in range(dim)]
    assert out.tolist() == want, (bits, dim, split)
    y = random.standard_normal(48).astype(np.float32)
    codes, chosen, edges = np.zeros(48, np.uint32), np.zeros(48, np.float32), (tables[0][1:] + tables[0][:-1]) / 2
    size = max(16, tables[0].size)
    nearest(y, table(edges, 3e38, size), table(tables[0], size=size), codes, chosen)
    assert codes.tolist() == np.searchsorted(edges, np.float32(1.5) * y).tolist()
    assert chosen.tolist() == tables[0][codes].tolist()
text = next(iter(look_up.inspect_llvm().values()))
print([name for name in ("permvar.sf.512", "vpermi2var.ps.512", "avx2.permps") if name in text])
"""


@pytest.mark.parametrize(
    ("features", "used"),
    [("+avx512f", "['permvar.sf.512', 'vpermi2var.ps.512']"), ("+avx2", "['avx2.permps']"), ("", "[]")],
    ids=["avx512", "avx2", "any machine"],
)
def test_look_ups_on_other_machines(features: str, used: str) -> None:
    """Compiled as for a machine with just these features."""
    host = binding.get_host_cpu_features()
    if features and not host.get(features[1:], False):
        pytest.skip(f"this machine has no {features[1:]}")
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features or "-avx"}
    done = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == used
