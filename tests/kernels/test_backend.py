"""The GPU backend's own code, its kernels emulated, against the reference."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.nn import RoPE

from tests.cache_kit import error_at_a_million
from tests.kernels.emulated import EmulatedLauncher
from turboquant.backends import gpu, reference, verified
from turboquant.backends.decoding import RING, Tickets
from turboquant.backends.gpu import GpuBackend
from turboquant.backends.reference import ReferenceBackend
from turboquant.backends.verified import Verified
from turboquant.cache import TurboQuantCache
from turboquant.calibration import PLENTY
from turboquant.codec import Packed, key_codec, unpack, value_codec
from turboquant.kernels.specs import Kernel, Launch, Target
from turboquant.key_bias import KeyBias
from turboquant.segments import PackedBuffer, Policy, Stretches
from turboquant.split import SplitCodec
from turboquant.version import __version__


@pytest.fixture
def runs() -> EmulatedLauncher:
    return EmulatedLauncher("metal")


@pytest.fixture
def backend(runs: EmulatedLauncher) -> GpuBackend:
    return GpuBackend(runs, Verified(None))


def random_cache(
    scheme: str,
    dim: int,
    *,
    tokens: int = 150,
    rows: int = 1,
    group: int = 2,
    dtype: mx.Dtype = mx.float16,
    batch: int = 1,
    split: tuple[int, ...] = (),
) -> tuple[TurboQuantCache, mx.array]:
    """A packed cache of two kv heads, the newest `rows` tokens just added, and queries for them."""
    mx.random.seed(11)
    cache = TurboQuantCache(scheme, policy=Policy(first=4, tail=8, block=16, split=split))
    keys = mx.random.normal((batch, 2, tokens, dim)) + 2 * mx.random.normal((1, 2, 1, dim))
    values = mx.random.normal((batch, 2, tokens, dim))
    uneven = mx.linspace(-3, 3, dim).exp() if split else mx.array(1.0)  # where splitting pays
    queries = (mx.random.normal((batch, 2 * group, tokens, dim)) * uneven).astype(dtype)
    first = tokens - rows
    cache.update_and_fetch(keys[:, :, :first].astype(dtype), values[:, :, :first].astype(dtype))
    cache.calibration.observe(queries[:, :, :first], 2)
    cache.compress()
    cache.update_and_fetch(keys[:, :, first:].astype(dtype), values[:, :, first:].astype(dtype))
    return cache, queries[:, :, first:]


class Everything(Verified):
    def __contains__(self, name: str) -> bool:
        return True


def relative(got: mx.array, want: mx.array) -> float:
    a, b = (np.array(x.astype(mx.float32)) for x in (got, want))
    return float(np.abs(a - b).max() / np.abs(b).max())


@pytest.mark.parametrize(
    ("scheme", "dim", "rows", "dtype"),
    [
        ("turbo4", 64, 1, mx.float16),
        ("turbo3", 80, 1, mx.bfloat16),
        ("turbo4v2", 128, 3, mx.float16),
        ("turbo0v4", 64, 1, mx.float32),
        ("turbo0v2", 72, 2, mx.bfloat16),
        ("turbo8", 96, 8, mx.float32),
    ],
)
def test_decoding_equals_the_reference(
    backend: GpuBackend, runs: EmulatedLauncher, scheme: str, dim: int, rows: int, dtype: mx.Dtype
) -> None:
    cache, queries = random_cache(scheme, dim, rows=rows, dtype=dtype)
    mask = "causal" if rows > 1 else None
    got = backend.attend(queries, cache.stretches(), dim**-0.5, mask, None)
    assert runs.calls == ["attend"]  # short: one dispatch
    assert not backend.notice
    assert got.dtype == dtype
    want = ReferenceBackend().attend(queries.astype(mx.float32), cache.stretches(), dim**-0.5, mask, None)
    assert got.shape == want.shape
    assert relative(got, want) < {mx.float32: 1e-4, mx.float16: 2e-3, mx.bfloat16: 1e-2}[dtype]


@pytest.mark.parametrize("target", ["metal", "cuda"])
@pytest.mark.parametrize(("scheme", "dim", "rows"), [("turbo4", 64, 1), ("turbo3", 128, 2), ("turbo2", 80, 12)])
def test_split_keys(target: Target, scheme: str, dim: int, rows: int) -> None:
    """Encoded, attended and laid out by kernels alone."""
    runs = EmulatedLauncher(target)
    backend = GpuBackend(runs, Verified(None))
    cache, queries = random_cache(scheme, dim, rows=rows, split=(2, 3, 4))
    kv, mask = cache.stretches(), "causal" if rows > 1 else None
    assert isinstance(kv.body_keys, PackedBuffer)
    assert isinstance(kv.body_keys.codec, SplitCodec)
    got = backend.attend(queries, kv, dim**-0.5, mask, None)
    assert runs.calls == (["attend"] if rows <= 8 else ["rotate", "rotate", "dequantise", "dequantise", "rotate"])
    assert not backend.notice
    want = ReferenceBackend().attend(queries.astype(mx.float32), kv, dim**-0.5, mask, None)
    assert relative(got, want) < 4e-3
    mx.random.seed(6)
    x = mx.random.normal((1, 2, 9, dim))
    given = kv.offsets[:, :, 0], kv.channel_scale, kv.channel_order
    packed, plain = (b.encode(x, kv.body_keys.codec, *given) for b in (backend, ReferenceBackend()))
    assert runs.calls[-1] == "encode"
    codec = kv.body_keys.codec
    assert relative(codec.decode_rotated(packed), codec.decode_rotated(plain)) < 0.2  # a code next to a boundary
    assert float((packed.words != plain.words).mean()) < 0.02
    assert not backend.notice


@pytest.mark.parametrize("target", ["metal", "cuda"])
def test_a_key_bias_and_rows_out_of_sight(target: Target) -> None:
    runs = EmulatedLauncher(target)
    backend = GpuBackend(runs, Verified(None))
    cache, queries = random_cache("turbo4", 64)
    bias = KeyBias(mx.random.normal((128,)) * 3, RoPE(64))
    for changes in ({"key_bias": bias}, {"hidden": 30}, {"key_bias": bias, "hidden": 145}):
        kv = replace(cache.stretches(), **changes)
        got = backend.attend(queries, kv, 0.125, None, None)
        want = ReferenceBackend().attend(queries.astype(mx.float32), kv, 0.125, None, None)
        assert relative(got, want) < 2e-3, changes
    assert runs.calls == ["attend"] * 3
    assert not backend.notice


def test_a_check_looks_at_a_part_of_a_long_cache(runs: EmulatedLauncher) -> None:
    """A check at first use must not take a long cache's time."""
    seen: list[int] = []

    class Counting(ReferenceBackend):
        def attend(
            self,
            queries: mx.array,
            kv: Stretches,
            scale: float,
            mask: mx.array | str | None,
            sinks: mx.array | None,
            soft_cap: float = 0.0,
        ) -> mx.array:
            seen.append(kv.body_values.count)
            return super().attend(queries, kv, scale, mask, sinks, soft_cap)

    backend = GpuBackend(runs, Verified(None))
    backend._reference = Counting()
    cache, queries = random_cache("turbo2", 64, tokens=2600, dtype=mx.float32)
    got = backend.attend(queries, cache.stretches(), 0.125, None, None)
    assert seen == [gpu.SAMPLE]
    assert relative(got, ReferenceBackend().attend(queries, cache.stretches(), 0.125, None, None)) < 1e-4


def test_counters_come_round_only_after_many_launches() -> None:
    tickets = Tickets()
    taken = [tickets.take(40) for _ in range(RING + 1)]
    assert taken[0] is taken[-1]
    assert len({id(ticket) for ticket in taken}) == RING
    assert all(ticket.shape == (64,) for ticket in taken)
    assert tickets.take(3).shape == (16,)


@pytest.mark.parametrize(("target", "calls"), [("metal", ["attend", "attend_merge"]), ("cuda", ["attend"])])
def test_a_long_cache_is_split(target: Target, calls: list[str]) -> None:
    """On CUDA the last group to come joins the splits, and products are float16's where outputs are."""
    runs = EmulatedLauncher(target)
    backend = GpuBackend(runs, Verified(None))
    for dtype, limit in ((mx.float32, 1e-4), (mx.bfloat16, 1e-2)):
        runs.calls.clear()
        cache, queries = random_cache("turbo4", 64, tokens=1700, dtype=dtype)
        got = backend.attend(queries, cache.stretches(), 0.125, None, None)
        assert runs.calls == calls
        assert len(cache.calibration.segment_starts) == 1
        want = ReferenceBackend().attend(queries.astype(mx.float32), cache.stretches(), 0.125, None, None)
        assert relative(got, want) < limit
        assert not backend.notice


def test_segments_opened_while_decoding(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo3", 64, tokens=300, dtype=mx.float32)
    mx.random.seed(5)
    for _ in range(20):
        fresh = [mx.random.normal((1, 2, 16, 64)) + shift for shift in (3, 0)]
        cache.update_and_fetch(fresh[0], fresh[1])
    assert len(cache.calibration.segment_starts) > 1
    got = backend.attend(queries, cache.stretches(), 0.125, None, None)
    assert runs.calls == ["attend"]
    assert relative(got, ReferenceBackend().attend(queries, cache.stretches(), 0.125, None, None)) < 1e-4


def test_step_by_step_through_flushes_and_trims(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    """What is remembered of a layer must not outlive the tokens that it was found from."""
    cache, queries = random_cache("turbo4v3", 64, tokens=40, dtype=mx.float32)
    mx.random.seed(8)
    for step in range(24):
        if step == 12:
            cache.trim(9)
        fresh = mx.random.normal((2, 1, 2, 1, 64)) + 1
        cache.update_and_fetch(fresh[0], fresh[1])
        got = backend.attend(queries, cache.stretches(), 0.125, None, None)
        want = ReferenceBackend().attend(queries, cache.stretches(), 0.125, None, None)
        assert relative(got, want) < 1e-4, step
    assert runs.calls == ["attend"] * 24
    assert not backend.notice


@pytest.mark.slow
def test_a_million_tokens(backend: GpuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_verified", Everything(None))
    assert error_at_a_million(backend, 4, 4) < 2e-3


@pytest.mark.parametrize(("window", "keep"), [(0, 0), (16, 0), (16, 3)])
def test_a_raw_cache_is_left_to_mlx(
    backend: GpuBackend, monkeypatch: pytest.MonkeyPatch, window: int, keep: int
) -> None:
    """What the model fetched is all that it must see, behind a window that has moved on too; queries are observed."""
    cache = TurboQuantCache("none", window=window, keep=keep)
    cache.backend = backend
    attend = backend.attend
    monkeypatch.setattr(backend, "attend", None)
    for step, rows in enumerate((12, 1, 9, 1, 3, *[1] * 20)):
        mx.random.seed(step)
        mask = cache.make_mask(rows)
        fresh = mx.random.normal((2, 1, 2, rows, 32)).astype(mx.float16)
        queries = mx.random.normal((1, 4, rows, 32)).astype(mx.float16)
        fetched = cache.update_and_fetch(fresh[0], fresh[1])
        got = cache.attend_fetched(queries, *fetched, 0.2, mask, None)
        assert relative(got, ReferenceBackend().attend(queries, cache.stretches(), 0.2, mask, None)) < 2e-3, step
    assert cache.attended
    assert cache.calibration.observed == PLENTY
    monkeypatch.setattr(backend, "attend", attend)
    capped = cache.attend_fetched(queries, *fetched, 0.2, mask, None, 1.0)
    assert relative(capped, ReferenceBackend().attend(queries, cache.stretches(), 0.2, mask, None, 1.0)) < 2e-3


def test_no_length_is_compiled_twice(backend: GpuBackend) -> None:
    """One text up to SINGLE_ROWS tokens, another one beyond, whatever the length, the segments and the splits."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for tokens in (60, 150, 700, 1400, 2000, 9000):
        cache, queries = random_cache("turbo4", 64, tokens=tokens)
        found = backend._decoder.prepare(queries, cache.stretches(), 0.125, None)
        assert found is not None
        names[found[0].spec.single].add(found[0].name)
    assert [len(found) for found in names.values()] == [1, 1]


def test_what_is_known_of_a_layer_goes_with_it(backend: GpuBackend) -> None:
    cache, queries = random_cache("turbo4", 64)
    backend.attend(queries, cache.stretches(), 0.125, None, None)
    assert len(backend._decoder._layers) == 1
    del cache
    gc.collect()
    assert len(backend._decoder._layers) == 0


def test_sinks_and_batches(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo4", 64, rows=2, group=3, dtype=mx.float16, batch=2)
    sinks = mx.array([1.0, -2.0, 3.0, 0.5, 4.0, 2.0], dtype=mx.float16)
    got = backend.attend(queries, cache.stretches(), 0.125, "causal", sinks)
    assert runs.calls == ["attend"]
    want = ReferenceBackend().attend(
        queries.astype(mx.float32), cache.stretches(), 0.125, "causal", sinks.astype(mx.float32)
    )
    assert relative(got, want) < 2e-3


def test_prefill_over_packed_tokens_uses_rotated_rows(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo4", 80, rows=12, dtype=mx.float16, batch=2)
    got = backend.attend(queries, cache.stretches(), 80**-0.5, "causal", None)
    assert runs.calls == ["rotate", "rotate", "dequantise", "dequantise", "rotate"]  # queries, offsets, rows, output
    assert not backend.notice
    want = ReferenceBackend().attend(queries.astype(mx.float32), cache.stretches(), 80**-0.5, "causal", None)
    assert relative(got, want) < 4e-3


def test_heads_are_laid_out_together_as_far_as_there_is_room(
    backend: GpuBackend, runs: EmulatedLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels lay 16-bit rows out as such: twice as many heads as through float32, and launches of twice the size."""
    cache, queries = random_cache("turbo4", 64, rows=12)
    kv = cache.stretches()
    want = ReferenceBackend().attend(queries.astype(mx.float32), kv, 0.125, "causal", None)
    for heads, room in ((2, 0), (1, 1)):
        monkeypatch.setattr(reference, "WORKING_BYTES", 2 * 2 * kv.visible * 64 * 2 - room)
        runs.calls.clear()
        assert relative(backend.attend(queries, kv, 0.125, "causal", None), want) < 2e-3
        assert runs.calls.count("dequantise") == 2 * 2 // heads
        assert not backend.notice


def test_prefill_over_keys_without_their_bias(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo4", 64, rows=12, dtype=mx.float16, batch=2)
    kv = replace(cache.stretches(), key_bias=KeyBias(mx.random.normal((128,)) * 3, RoPE(64)))
    got = backend.attend(queries, kv, 0.125, "causal", None)
    assert runs.calls == ["rotate", "rotate", "dequantise", "rotate", "dequantise", "rotate"]  # and the bias
    want = ReferenceBackend().attend(queries.astype(mx.float32), kv, 0.125, "causal", None)
    assert relative(got, want) < 4e-3
    for begin, end in ((0, 3), (2, 145), (60, 150)):
        part = backend._rotated(kv, "keys", slice(1, 2), begin, end, mx.float32)
        assert relative(part, ReferenceBackend()._rotated(kv, "keys", slice(1, 2), begin, end, mx.float32)) < 1e-5
    assert not backend.notice


def test_some_heads_alone_are_rotated_rightly(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, _ = random_cache("turbo3", 72, batch=2)
    for part in ("keys", "values"):
        got = backend._rotated(cache.stretches(), part, slice(1, 2), 2, 145, mx.float32)
        want = ReferenceBackend()._rotated(cache.stretches(), part, slice(1, 2), 2, 145, mx.float32)
        assert relative(got, want) < 1e-5
    assert sorted(set(runs.calls)) == ["dequantise", "rotate"]


def test_a_mask_or_many_rows_take_the_inherited_path(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo4", 64, dtype=mx.float32)
    mask = mx.zeros((1, 1, 1, 150))
    got = backend.attend(queries, cache.stretches(), 0.125, mask, None)
    assert "attend" not in runs.calls
    assert relative(got, ReferenceBackend().attend(queries, cache.stretches(), 0.125, mask, None)) < 1e-4


def test_unsupported_head_dims_take_the_inherited_path(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    cache, queries = random_cache("turbo4", 74, dtype=mx.float32)  # 2 * 37
    backend.attend(queries, cache.stretches(), 0.125, None, None)
    assert runs.calls == []


@pytest.mark.parametrize(("dim", "bits"), [(64, 4), (80, 3), (128, 2), (96, 8)])
def test_encoding_equals_the_reference_but_for_ties(
    backend: GpuBackend, runs: EmulatedLauncher, dim: int, bits: int
) -> None:
    mx.random.seed(2)
    codec = key_codec(dim, bits)
    x = (mx.random.normal((1, 2, 9, dim)) * 3).astype(mx.float16)
    offset, scale = mx.random.normal((1, 2, dim)).astype(mx.float16), mx.random.uniform(0.5, 2, (1, 2, dim))
    for given in ((None, None), (offset, None), (offset, scale.astype(mx.float16))):
        got, want = backend.encode(x, codec, *given), ReferenceBackend().encode(x, codec, *given)
        assert got.words.shape == want.words.shape
        assert got.norms.shape == want.norms.shape
        differ = unpack(got.words, bits, dim) != unpack(want.words, bits, dim)
        assert float(differ.mean()) < 2e-3
    assert runs.calls == ["encode"] * 3
    assert not backend.notice


def test_keys_and_values_in_one_launch(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    mx.random.seed(3)
    keys, values = mx.random.normal((2, 3, 5, 80)), mx.random.normal((2, 3, 5, 64))
    codecs = key_codec(80, 4), value_codec(64, 3)
    got = backend.encode_pair(keys, codecs[0], values, codecs[1])
    assert runs.calls == ["encode_pair"]
    for packed, codec, x in zip(got, codecs, (keys, values), strict=True):
        want = ReferenceBackend().encode(x, codec)
        differ = unpack(packed.words, codec.bits, codec.dim) != unpack(want.words, codec.bits, codec.dim)
        assert float(differ.mean()) < 2e-3
    assert not backend.notice


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_dequantising(backend: GpuBackend, runs: EmulatedLauncher, dtype: mx.Dtype) -> None:
    codec = key_codec(72, 3)
    packed = codec.encode(mx.random.normal((1, 3, 7, 72)))
    got = backend.dequantise(packed, codec, dtype)
    assert got.dtype == dtype
    assert relative(got, codec.decode_rotated(packed, dtype)) < 1e-6
    assert runs.calls == ["dequantise"]


def test_few_vectors_stay_with_the_reference(backend: GpuBackend, runs: EmulatedLauncher) -> None:
    codec = key_codec(64, 2)
    packed = codec.encode(mx.random.normal((1, 1, 2, 64)))
    assert relative(backend.dequantise(packed, codec, mx.float32), codec.decode_rotated(packed)) == 0
    assert runs.calls == []


class Broken(EmulatedLauncher):
    """Kernels that compute something else, or don't compile."""

    def __init__(self, raises: bool) -> None:
        super().__init__("metal")
        self.raises = raises

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        self.calls.append(kernel.body)
        if self.raises:
            raise RuntimeError("[metal::Device] Unable to build metal library from source")
        return [mx.zeros(shape, getattr(mx, dtype)) for shape, dtype in zip(launch.shapes, launch.dtypes, strict=True)]


@pytest.mark.parametrize("raises", [True, False])
def test_a_wrong_kernel_is_replaced_and_named(raises: bool) -> None:
    runs = Broken(raises)
    backend = GpuBackend(runs, Verified(None))
    cache, queries = random_cache("turbo4", 64, dtype=mx.float32)
    want = ReferenceBackend().attend(queries, cache.stretches(), 0.125, None, None)
    for _ in range(3):
        got = backend.attend(queries, cache.stretches(), 0.125, None, None)
        assert relative(got, want) == 0
    assert runs.calls == ["attend"]  # asked once, never again
    assert "tq_attend" in backend.notice
    assert "reference" in backend.notice


def test_what_was_verified_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "kernels.json"
    codec = key_codec(64, 4)
    x = mx.random.normal((1, 1, 16, 64))
    calls: list[str] = []

    def counted(function: Callable[..., Packed]) -> Callable[..., Packed]:
        def call(*args: object, **kwargs: object) -> Packed:
            calls.append("reference")
            return function(*args, **kwargs)

        return call

    for expected in (1, 1):  # the second backend trusts what the first one found
        backend = GpuBackend(EmulatedLauncher("metal"), Verified(path))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReferenceBackend, "encode", counted(ReferenceBackend.encode))
            backend.encode(x, codec)
        assert len(calls) == expected
    (name,) = json.loads(path.read_text())
    assert name.startswith("tq_encode")
    path.write_text("not JSON")
    assert name not in Verified(path)


def test_each_version_and_device_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURBOQUANT_HOME", str(tmp_path))
    verified.of_this_machine().add("tq_something")
    (file,) = (tmp_path / "cache").iterdir()
    assert "mlx" in file.name
    assert __version__ in file.name
    assert "tq_something" in verified.of_this_machine()
    monkeypatch.setattr(verified, "__version__", "another")
    assert "tq_something" not in verified.of_this_machine()


def test_a_folder_that_cannot_be_written_costs_nothing_but_another_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = Verified(tmp_path / "file" / "kernels.json")
    found.add("tq_something")
    assert "tq_something" in found


@pytest.mark.parametrize("target", ["metal", "cuda"])
def test_windows_and_soft_caps(target: Target) -> None:
    backend = GpuBackend(EmulatedLauncher(target), Verified(None))
    cache, queries = random_cache("turbo4", 64, rows=3)
    got = backend.decode(queries, cache.stretches(), 0.125, window=50)
    tokens = cache.offset
    newest = np.arange(tokens - 3, tokens)[:, None]
    visible = (np.arange(tokens) <= newest) & (np.arange(tokens) > newest - 50)
    want = ReferenceBackend().attend(queries.astype(mx.float32), cache.stretches(), 0.125, mx.array(visible), None)
    assert relative(got, want) < 2e-3
    capped = backend.decode(queries, cache.stretches(), 0.125, soft_cap=1.0)
    plain = backend.decode(queries, cache.stretches(), 0.125)
    assert relative(capped, plain) > 0.05
