"""Cache files: the same bits come back, and whatever is damaged or foreign is refused."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache

import turboquant
from tests.contract import families
from tests.unit.turboquant.test_plan import tiny
from turboquant import codec as codec_module
from turboquant import snapshot
from turboquant.errors import SaveCancelled, SnapshotDamaged, SnapshotError, SnapshotMismatch, TurboQuantError
from turboquant.schemes import SCHEMES

NAMES = [scheme.name for scheme in SCHEMES]
PRINT = "a fingerprint"


def filled(model: Any, scheme: str, tokens: int) -> list[Any]:
    caches = turboquant.make_cache(model, scheme)
    mx.random.seed(tokens)
    vocabulary = 64 if model.model_type != "llama" else 512
    for length in (max(tokens - 3, 0), *[1] * min(tokens, 3)):
        if length:
            mx.eval(model(mx.random.randint(0, vocabulary, (1, length)), cache=caches))
    return caches


@pytest.mark.parametrize("tokens", [0, 1, 90, 400])
@pytest.mark.parametrize("scheme", NAMES)
def test_a_cache_comes_back_bit_for_bit(tiny_llama: Any, tmp_path: Path, scheme: str, tokens: int) -> None:
    caches = filled(tiny_llama, scheme, tokens)
    path = tmp_path / "cache.tq"
    written = snapshot.save(path, caches, list(range(tokens)), PRINT)
    assert written == path.stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == ["cache.tq"]
    header = snapshot.read_header(path)
    assert (header["scheme"], header["tokens"], header["fingerprint"]) == (scheme, list(range(tokens)), PRINT)
    again = snapshot.load(path, tiny_llama, PRINT, scheme)
    assert again.tokens == list(range(tokens))
    for mine, theirs in zip(caches, again.caches, strict=True):
        assert theirs.describe() == mine.describe()
        assert theirs.arrays().keys() == mine.arrays().keys()
        for name, array in mine.arrays().items():
            assert theirs.arrays()[name].dtype == array.dtype
            assert mx.array_equal(theirs.arrays()[name], array)
    for _ in range(25):  # a flush comes within behind 90 and 400 tokens
        one, other = (tiny_llama(mx.array([[3]]), cache=c) for c in (caches, again.caches))
        assert mx.array_equal(one, other)


@pytest.mark.parametrize("family", ["gemma3_text", "deepseek_v3", "qwen3_next"])
def test_layers_of_mlx_lms_own_kinds_come_back_too(tmp_path: Path, family: str) -> None:
    model = tiny(family)
    for tokens in (0, 1, 40):
        caches = filled(model, "turbo4", tokens)
        snapshot.save(tmp_path / "c", caches, list(range(tokens)), PRINT)
        again = snapshot.load(tmp_path / "c", model, PRINT).caches
        assert turboquant.plan.describe(again) == turboquant.plan.describe(caches)
        for _ in range(30):
            one, other = (model(mx.array([[3]]), cache=c) for c in (caches, again))
            assert mx.array_equal(one, other)


@pytest.mark.parametrize("joined", [True, False], ids=["parts of plain caches", "no parts"])
@pytest.mark.parametrize("name", ["falcon_h1", "baichuan_m1", "minimax_m3_vl", "longcat_flash"])
def test_what_an_earlier_version_stored_of_joined_caches_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, joined: bool
) -> None:
    """It kept them raw, as one: sound files, which say why they don't serve and stay where they are."""
    model, tokens = families.tiny(name), list(range(60))
    plain = make_prompt_cache(model)
    mx.eval(model(mx.array([tokens]), cache=plain))
    with monkeypatch.context() as earlier:
        if not joined:
            earlier.setattr(snapshot, "CacheList", type(None))
        snapshot.save(tmp_path / "c", plain, tokens, PRINT)
    before = (tmp_path / "c").read_bytes()
    if joined and name == "longcat_flash":  # two latents: raw in every version
        assert snapshot.load(tmp_path / "c", model, PRINT, "turbo4").tokens == tokens
        return
    with pytest.raises(SnapshotMismatch, match=r"another version|was stored as (Rotating)?KVCache"):
        snapshot.load(tmp_path / "c", model, PRINT)
    assert (tmp_path / "c").read_bytes() == before


def test_a_bfloat16_cache_keeps_its_type(tiny_llama: Any, tmp_path: Path) -> None:
    tiny_llama.set_dtype(mx.bfloat16)
    caches = filled(tiny_llama, "turbo4", 200)
    snapshot.save(tmp_path / "c", caches, list(range(200)), PRINT)
    again = snapshot.load(tmp_path / "c", tiny_llama, PRINT).caches
    one, other = (tiny_llama(mx.array([[3]]), cache=c) for c in (caches, again))
    assert one.dtype == mx.bfloat16
    assert mx.array_equal(one, other)


def test_tokens_that_the_caches_dont_hold_are_refused(tiny_llama: Any, tmp_path: Path) -> None:
    with pytest.raises(TurboQuantError, match="Nothing was written"):
        snapshot.save(tmp_path / "c", filled(tiny_llama, "turbo4", 10), [1, 2, 3], PRINT)
    assert not list(tmp_path.iterdir())


def test_a_save_given_up_leaves_the_old_file_and_nothing_else(tiny_llama: Any, tmp_path: Path) -> None:
    path, caches = tmp_path / "cache.tq", filled(tiny_llama, "turbo3", 300)
    path.write_bytes(b"old")
    asked = iter([False, False, True])
    with pytest.raises(SaveCancelled):
        snapshot.save(path, caches, list(range(300)), PRINT, lambda: next(asked))
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_a_write_that_fails_leaves_the_old_file(tiny_llama: Any, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "c"
    snapshot.save(path, filled(tiny_llama, "turbo4", 10), list(range(10)), PRINT)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        snapshot.save(path, filled(tiny_llama, "turbo4", 20), list(range(20)), PRINT)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, bytes, Path]:
    model = tiny("qwen3_next")
    folder = tmp_path_factory.mktemp("snapshots")
    snapshot.save(folder / "c", filled(model, "turbo4", 150), list(range(150)), PRINT)
    return model, (folder / "c").read_bytes(), folder


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_bit_is_noticed(sound: tuple[Any, bytes, Path], data: st.DataObject) -> None:
    model, content, folder = sound
    damaged = bytearray(content)
    beginning = st.integers(0, 2000)  # where the structure is
    position = data.draw(beginning | st.integers(0, len(content) - 1))
    damaged[position] ^= 1 << data.draw(st.integers(0, 7))
    (folder / "damaged").write_bytes(damaged)
    with pytest.raises((SnapshotDamaged, SnapshotMismatch)):
        snapshot.load(folder / "damaged", model, PRINT)
    assert (folder / "damaged").read_bytes() == damaged  # never rewritten


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(0, 300) | st.integers(0, 10**9), junk=st.binary(max_size=40))
def test_any_cut_or_added_bytes_are_noticed(sound: tuple[Any, bytes, Path], length: int, junk: bytes) -> None:
    model, content, folder = sound
    cut = content[: length % len(content)] + junk
    if cut == content:
        return
    (folder / "cut").write_bytes(cut)
    with pytest.raises(SnapshotError):
        snapshot.load(folder / "cut", model, PRINT)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_what_isnt_a_cache_file_is_refused(sound: tuple[Any, bytes, Path], content: bytes) -> None:
    model, whole, folder = sound
    for start in (b"", whole[:8], whole[: snapshot._PREFIX.size]):
        (folder / "junk").write_bytes(start + content)
        with pytest.raises(SnapshotError):
            snapshot.load(folder / "junk", model, PRINT)
        with pytest.raises(SnapshotError):
            snapshot.read_header(folder / "junk")


def test_a_missing_file_or_a_folder_is_refused(tiny_llama: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(SnapshotDamaged):
            snapshot.load(path, tiny_llama, PRINT)


def rewritten(content: bytes, change: Any) -> bytes:
    """The file with another header, its checksum made to match: damage that no checksum can find."""
    size = snapshot._PREFIX.size
    magic, version, length, _ = snapshot._PREFIX.unpack(content[:size])
    header = json.loads(content[size : size + length])
    if change(header) == "version":
        version += 1
    text = json.dumps(header).encode()
    body = snapshot._PREFIX.pack(magic, version, len(text), zlib.crc32(text)) + text + content[size + length : -32]
    return body + hashlib.blake2b(body, digest_size=32).digest()


def set_codec(side: str = "keys", **values: Any) -> Any:
    def change(header: Any) -> None:
        for layer in header["layers"]:
            if "cache" in layer:
                layer["cache"]["codecs"][side].update(values)

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_codec(seed=7),
        set_codec(codebook=99),
        set_codec(dim=128),
        set_codec(bits=2),
        set_codec(norm="another"),
        set_codec(trials=1),
        set_codec(lower_seed=7),
        set_codec("values", seed=7),
        set_codec("values", codebook=99),
        set_codec("values", dim=128),
        set_codec("values", norm="matched"),
        set_codec("values", trials=1),
        lambda header: header.update(fingerprint="another"),
        lambda header: header.update(scheme="turbo2"),
        lambda header: header["layers"].pop(),
        lambda header: header["layers"].reverse(),
        lambda header: "version",  # the format's version
    ],
    ids=[
        *("seed", "codebook", "dim", "bits", "norm", "trials", "lower_seed"),
        *("value seed", "value codebook", "value dim", "value norm", "value trials"),
        *("model", "scheme", "layer-missing", "layer-order", "version"),
    ],
)
def test_another_codec_model_or_version_is_refused(sound: tuple[Any, bytes, Path], change: Any) -> None:
    model, content, folder = sound
    (folder / "foreign").write_bytes(rewritten(content, change))
    with pytest.raises(SnapshotError):
        snapshot.load(folder / "foreign", model, PRINT, "turbo4")
    (folder / "same").write_bytes(rewritten(content, lambda header: None))
    assert snapshot.load(folder / "same", model, PRINT, "turbo4").tokens == list(range(150))


@pytest.mark.parametrize("held", NAMES)
def test_a_file_of_another_scheme_is_refused_where_one_is_asked_for(tiny_llama: Any, tmp_path: Path, held: str) -> None:
    snapshot.save(tmp_path / "c", filled(tiny_llama, held, 150), list(range(150)), PRINT)
    for wanted in NAMES:
        if wanted == held:
            assert snapshot.load(tmp_path / "c", tiny_llama, PRINT, wanted).scheme == held
        else:
            with pytest.raises(SnapshotMismatch, match=rf"\b{held}\b"):
                snapshot.load(tmp_path / "c", tiny_llama, PRINT, wanted)
    assert snapshot.load(tmp_path / "c", tiny_llama, PRINT).scheme == held


def test_header_with_hostile_values_is_refused(sound: tuple[Any, bytes, Path]) -> None:
    model, content, folder = sound

    def hostile(change: Any) -> None:
        (folder / "hostile").write_bytes(rewritten(content, change))
        with pytest.raises(SnapshotError):
            snapshot.load(folder / "hostile", model, PRINT)

    hostile(lambda header: header.clear())
    hostile(lambda header: header.update(layers=None))
    hostile(lambda header: header.update(tokens="none"))
    hostile(lambda header: header["layers"][-1]["cache"].update(obstacle="raw"))
    for token in (None, "1", 1.5, -1, [1], True):
        hostile(lambda header, token=token: header["tokens"].__setitem__(3, token))
    hostile(lambda header: [layer.update(arrays=[["x", "float16", [10**12]]]) for layer in header["layers"]])
    hostile(lambda header: [layer.update(arrays=[["x", "array", [1]]]) for layer in header["layers"]])
    hostile(lambda header: header["layers"][-1].pop("class"))
    hostile(lambda header: header["layers"][-1]["cache"].update(segment_starts=[5, 900]))
    hostile(lambda header: header["layers"][-1]["cache"].update(scheme="turbo9"))


def test_fingerprints_tell_models_apart(tiny_llama: Any) -> None:
    first = snapshot.fingerprint(tiny_llama)
    assert snapshot.fingerprint(tiny_llama) == first
    name, _ = tree_flatten(tiny_llama.parameters())[5]
    tiny_llama.set_dtype(mx.float16)
    assert snapshot.fingerprint(tiny_llama) != first
    assert snapshot.fingerprint(tiny("gemma3_text")) != first
    assert name


def test_a_changed_seed_in_the_program_refuses_old_files(sound: Any, monkeypatch: Any) -> None:
    model, _, folder = sound
    monkeypatch.setattr(codec_module, "KEY_SEED", 1234)
    with pytest.raises(SnapshotMismatch, match="codec"):
        snapshot.load(folder / "c", model, PRINT)


def test_a_model_without_a_layer_to_pack_comes_back_under_any_scheme(tmp_path: Path) -> None:
    model = tiny("deepseek_v3")
    snapshot.save(tmp_path / "c", filled(model, "turbo4", 40), list(range(40)), PRINT)
    again = snapshot.load(tmp_path / "c", model, PRINT, "turbo4")
    assert (again.scheme, len(again.tokens)) == ("turbo4", 40)
    with pytest.raises(TurboQuantError):
        snapshot.save(tmp_path / "c", filled(model, "turbo4", 40), list(range(39)), PRINT)


def test_a_fingerprint_sees_settings_and_every_part_of_a_weight() -> None:
    first, other = tiny("gemma3_text"), tiny("gemma3_text", rope_theta=5e5)
    prints = [snapshot.fingerprint(first), snapshot.fingerprint(other)]
    weights = first.model.layers[0].mlp.down_proj.weight
    first.model.layers[0].mlp.down_proj.weight = mx.concatenate([weights[:32], weights[32:] * 1.5])
    prints.append(snapshot.fingerprint(first))
    assert len(set(prints)) == 3


def test_many_threads_may_save_one_file(tiny_llama: Any, tmp_path: Path) -> None:
    caches = filled(tiny_llama, "turbo4", 150)
    mx.eval([cache.arrays() for cache in caches])

    def save(turn: int) -> int:
        return snapshot.save(tmp_path / "c", caches, list(range(150)), PRINT)

    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(save, range(12)))) == 1
    assert snapshot.load(tmp_path / "c", tiny_llama, PRINT).tokens == list(range(150))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
