"""The GGUF importer: the same numbers and the same model as the file holds, or a reason and nothing left behind."""

from __future__ import annotations

import json
import os
import resource
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlx_lm.models import llama

from app.engine.gguf import container
from app.engine.gguf.importing import GgufError, folder_name, import_gguf
from app.errors import Interrupted
from tests.engine_kit import load as loaded
from tests.unit.app.engine.gguf_writer import TOKENS, llama_metadata, llama_tensors, write


def tiny(path: Path, kind: Any = "F32", **changes: Any) -> Path:
    return write(path / "tiny.gguf", llama_metadata(**changes), llama_tensors(), kind)


def refused(path: Path, source: Path, reason: str) -> None:
    before = sorted(path.iterdir())
    with pytest.raises(GgufError, match=reason):
        import_gguf(source, path / "model")
    assert sorted(path.iterdir()) == before


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", ["F32", "F16", "Q4_0", "Q4_1", "Q8_0"])
def test_every_type_reads_as_mlx_reads_it(tmp_path: Path, kind: str) -> None:
    source = tiny(tmp_path, kind)
    theirs, ours = mx.load(str(source)), container.read(source).tensors
    for name, tensor in ours.items():
        base = name.removesuffix(".weight")
        expected = theirs[name]
        if f"{base}.scales" in theirs:
            scales, biases = theirs[f"{base}.scales"], theirs[f"{base}.biases"]
            for part, packed in zip((expected, scales, biases), tensor.packed(), strict=True):
                np.testing.assert_array_equal(np.array(part), packed)
            bits = tensor.type.bits
            expected = mx.dequantize(
                expected, scales.astype(mx.float32), biases.astype(mx.float32), group_size=32, bits=bits
            )
        np.testing.assert_allclose(np.array(expected.astype(mx.float32)), tensor.floats(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("kind", "error"), [("BF16", 4e-3), ("F16", 5e-4), ("Q8_0", 4e-3), ("Q4_0", 8e-2), ("Q4_1", 6e-2)]
)
def test_every_type_reads_as_what_was_written(tmp_path: Path, kind: str, error: float) -> None:
    read, written = container.read(tiny(tmp_path, kind)).tensors, llama_tensors()
    for name, array in written.items():
        assert np.abs(read[name].floats() - array).max() <= error * max(np.abs(array).max(), 1.0), name


def reference_llama(weights: dict[str, np.ndarray]) -> llama.Model:
    """The tiny llama with its rows in GGUF's order, which is right under the interleaved rotary layout."""
    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj"}
    names |= {"attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    names |= {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    names |= {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    model = llama.Model(
        llama.ModelArgs("llama", 64, 2, 96, 4, 1e-5, len(TOKENS), num_key_value_heads=2, rope_traditional=True)
    )
    parts = []
    for name, array in weights.items():
        *block, part, _ = name.split(".")
        prefix = f"model.layers.{block[1]}." if block else ""
        parts.append((f"{prefix}{names[part]}.weight", mx.array(array)))
    model.load_weights(parts)
    return model


def test_an_imported_model_computes_what_the_weights_say(tmp_path: Path) -> None:
    model, _ = mlx_lm.load(str(import_gguf(tiny(tmp_path), tmp_path / "model", "float32")))
    prompt = mx.array([[5, 60, 17, 90, 33]])
    expected = reference_llama(llama_tensors())(prompt)
    assert mx.abs(model(prompt) - expected).max().item() < 1e-5


def test_quantised_weights_stay_as_stored(tmp_path: Path) -> None:
    kinds = dict.fromkeys(llama_tensors(), "Q4_1") | {"token_embd.weight": "Q8_0", "blk.0.attn_v.weight": "F16"}
    source = tiny(tmp_path, kinds)
    folder = import_gguf(source, tmp_path / "model", "quantized")
    quantization = json.loads((folder / "config.json").read_bytes())["quantization"]
    assert quantization == {"group_size": 32, "bits": 4, "model.embed_tokens": {"group_size": 32, "bits": 8}}
    model, _ = mlx_lm.load(str(folder))
    stored = container.read(source).tensors
    assert model.model.layers[0].self_attn.v_proj.weight.dtype == mx.float16
    np.testing.assert_array_equal(
        np.array(model.model.layers[1].mlp.down_proj.weight), stored["blk.1.ffn_down.weight"].packed()[0]
    )
    floats = {name: tensor.floats() for name, tensor in stored.items()}
    prompt = mx.array([[5, 60, 17, 90, 33]])
    assert mx.abs(model(prompt) - reference_llama(floats)(prompt)).max().item() < 0.02


def test_progress_ends_at_one_and_never_falls(tmp_path: Path) -> None:
    steps: list[float] = []
    import_gguf(tiny(tmp_path), tmp_path / "model", "float16", steps.append)
    assert steps == sorted(steps)
    assert steps[-1] == 1.0


# ---------------------------------------------------------------- the tokenizer


def test_the_tiny_tokenizer_ends_where_the_file_says(tmp_path: Path) -> None:
    folder = import_gguf(tiny(tmp_path, tokenizer__ggml__eot_token_id=5), tmp_path / "model")
    _, tokenizer = mlx_lm.load(str(folder))
    assert tokenizer.eos_token_id == 0
    assert json.loads((folder / "generation_config.json").read_bytes())["eos_token_id"] == [0, 5]
    assert tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False) == "Hi"


def test_a_begin_token_is_put_in_front_where_the_file_asks_for_it(tmp_path: Path) -> None:
    folder = import_gguf(tiny(tmp_path, tokenizer__ggml__add_bos_token=True), tmp_path / "model")
    _, tokenizer = mlx_lm.load(str(folder))
    assert tokenizer.encode("Hi") == [1, TOKENS.index("H"), TOKENS.index("i")]


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"general__architecture": "mamba"}, "architecture mamba"),
        ({"general__architecture": None}, "general.architecture is missing"),
        ({"llama__block_count": 3}, "lacks tensors .*blk.2"),
        ({"llama__block_count": 1}, "holds unknown tensors .*blk.1"),
        ({"llama__block_count": 0}, "block_count is 0"),
        ({"llama__block_count": 2**31}, "layers"),
        ({"llama__embedding_length": 128}, "shape"),
        ({"llama__attention__head_count": 0}, "head_count is 0"),
        ({"llama__attention__head_count_kv": 3}, "key/value heads"),
        ({"llama__attention__head_count_kv": [2, 2]}, "is of type list"),
        ({"llama__attention__value_length": 8}, "different widths"),
        ({"llama__rope__dimension_count": 8}, "part of each head"),
        ({"llama__rope__scaling__type": "yarn"}, "yarn scaling"),
        ({"llama__rope__scaling__type": "linear"}, "scaling.factor is missing"),
        ({"llama__rope__freq_base": float("nan")}, "freq_base is nan"),
        ({"llama__rope__freq_base": float("inf")}, "freq_base is inf"),
        ({"llama__attention__layer_norm_rms_epsilon": -1e-5}, "epsilon is -"),
        ({"general__architecture": "x" * 70_000}, "architecture x{40} can't"),
        ({"tokenizer__ggml__bos_token_id": "1"}, "bos_token_id is of type str"),
        ({"tokenizer__ggml__tokens": [*TOKENS[:-1], "x" * 2000]}, "more than 1024 characters"),
        ({"tokenizer__ggml__tokens": list(range(len(TOKENS)))}, "or none"),
        ({"split__count": 3}, "one of 3 files"),
        ({"llama__expert_count": 8}, "experts"),
        ({"llama__context_length": None}, "context_length is missing"),
        ({"tokenizer__ggml__model": "t5"}, "tokenizer"),
        ({"tokenizer__ggml__pre": "no-such"}, "no-such"),
        ({"tokenizer__ggml__tokens": TOKENS[:-1]}, "shape"),
        ({"tokenizer__ggml__tokens": [*TOKENS[:-1], TOKENS[5]]}, "inconsistent"),
        ({"tokenizer__ggml__merges": ["no such"]}, "inconsistent"),
        ({"tokenizer__ggml__eos_token_id": None}, "end token"),
        ({"tokenizer__ggml__eos_token_id": 9999}, "vocabulary"),
        ({"tokenizer__ggml__eot_token_id": 9999}, "vocabulary"),
        ({"tokenizer__ggml__add_bos_token": True, "tokenizer__ggml__bos_token_id": None}, "begin token"),
        ({"general__alignment": 0}, "alignment"),
    ],
)
def test_a_file_that_would_come_out_wrong_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    refused(tmp_path, tiny(tmp_path, **changes), reason)


def test_types_that_are_not_read_are_named(tmp_path: Path) -> None:
    tensors = llama_tensors() | {"token_embd.weight": np.zeros((4, 256), np.float32)}
    source = write(tmp_path / "k.gguf", llama_metadata(), tensors, {"token_embd.weight": "TQ1_0"})
    refused(tmp_path, source, "type TQ1_0")


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    tensors = llama_tensors()
    tensors["blk.1.ffn_up.weight"][3, 3] = np.nan
    refused(tmp_path, write(tmp_path / "nan.gguf", llama_metadata(), tensors), "finite")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "isn't a GGUF"),
        (b"GGUF", "damaged"),
        (b"PK\x03\x04 not a model at all", "isn't a GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(40), "version 0x1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(40), "version 0x3000000"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + b"\xff" * 40, "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0) + bytes(40), "axes"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63) + bytes(40), "damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63) + bytes(40), "damaged"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "other.gguf").write_bytes(content)
    refused(tmp_path, tmp_path / "other.gguf", reason)


def test_a_list_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of nothing but zeros behind it: 8 bytes an empty string, so a billion of them."""
    monkeypatch.setattr(container, "_HEADER_LIMIT_BYTES", 1 << 20)
    source = tmp_path / "endless.gguf"
    source.write_bytes(b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 8, 10**9))
    os.truncate(source, 9 * 10**9)
    refused(tmp_path, source, "damaged")


@pytest.mark.parametrize(
    ("name", "offset", "reason"),
    [("output_norm.weight", 32, "overlap"), ("output_norm.weight", 2**63, "beyond its end"), ("a" * 65, 0, "damaged")],
)
def test_tensors_that_lie_wrong_are_refused(tmp_path: Path, name: str, offset: int, reason: str) -> None:
    source = write(tmp_path / "tiny.gguf", llama_metadata(), llama_tensors())
    entry, changed = b"output_norm.weight" + struct.pack("<IQI", 1, 64, 0), name.encode()
    content = source.read_bytes()
    start, end = content.index(entry), content.index(entry) + len(entry)
    head = content[: start - 8] + struct.pack("<Q", len(changed)) + changed + entry[18:]
    source.write_bytes(head + struct.pack("<Q", offset) + content[end + 8 :])
    refused(tmp_path, source, reason)


def test_two_tensors_of_one_name_are_refused(tmp_path: Path) -> None:
    source = tiny(tmp_path)
    source.write_bytes(source.read_bytes().replace(b"blk.1.ffn_up.weight", b"blk.0.ffn_up.weight", 1))
    refused(tmp_path, source, "same name")


def test_a_file_that_shrinks_meanwhile_is_refused(tmp_path: Path) -> None:
    """As a disk that is pulled: a file that is mapped would end the program."""
    source = tiny(tmp_path)

    def cut(done: float) -> None:
        if done > 0.3:
            os.truncate(source, 20_000)

    with pytest.raises(GgufError, match="shorter"):
        import_gguf(source, tmp_path / "model", "float32", cut)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("Llama [4bit] *.gguf", "Llama [4bit] *"),
        ("Модель 7B é.gguf", "Модель 7B é"),
        (".hidden.gguf", "hidden"),
        ("...gguf", "model"),
        (".gguf", "gguf"),
        ("n" * 240 + ".gguf", "n" * 240),
    ],
)
def test_any_file_name_makes_a_folder_that_loads(tmp_path: Path, name: str, folder: str) -> None:
    source = tiny(tmp_path).rename(tmp_path / name)
    made = import_gguf(source, tmp_path / folder_name(source))
    assert made.name == folder
    assert loaded(made).info.name == folder


def test_a_second_import_may_begin_before_the_first_has_stopped(tmp_path: Path) -> None:
    source = tiny(tmp_path)

    def again(done: float) -> None:
        if done > 0.5:
            import_gguf(source, tmp_path / "model")
            raise Interrupted

    with pytest.raises(Interrupted):
        import_gguf(source, tmp_path / "model", progress=again)
    assert loaded(tmp_path / "model").info.layers == 2
    assert {path.name for path in tmp_path.iterdir()} == {"tiny.gguf", "model"}


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, tmp_path / "none.gguf", "can't be read")


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").write_text("x")
    refused(tmp_path, tiny(tmp_path), "exists already")
    assert (tmp_path / "model" / "mine").read_text() == "x"


def test_a_cancelled_import_leaves_nothing(tmp_path: Path) -> None:
    source = tiny(tmp_path)

    def cancel(done: float) -> None:
        if done > 0.5:
            raise Interrupted

    with pytest.raises(Interrupted):
        import_gguf(source, tmp_path / "model", "float32", cancel)
    assert list(tmp_path.iterdir()) == [source]


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow past 20 kB: the write in the middle fails as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = tiny(tmp_path)
    request.getfixturevalue("full_disk")
    refused(tmp_path, source, "couldn't be written")


def test_what_a_killed_import_left_is_removed(tmp_path: Path) -> None:
    """A process number may be taken again, by this process too; some numbers no process can have."""
    dead = [tmp_path / f".model.{owner}.part" for owner in (2**22 + 1, 2**200, os.getpid())]
    kept = [tmp_path / f".model.{owner}.part" for owner in ("1", "\N{SUPERSCRIPT TWO}", "my")]
    for folder in (*dead, *kept):
        folder.mkdir()
    import_gguf(tiny(tmp_path), tmp_path / "model")
    assert not any(folder.exists() for folder in dead)
    assert all(folder.exists() for folder in kept)


@settings(max_examples=100)
@given(place=st.floats(0, 1), change=st.integers(1, 255), cut=st.booleans())
@example(place=0.0, change=255, cut=True)
def test_damage_anywhere_ends_in_a_reason_or_a_whole_model(place: float, change: int, cut: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        source = tiny(path)
        content = bytearray(source.read_bytes())
        header = content.index(b"output_norm.weight") + 2000  # most of the damage goes where it matters
        at = int(place * (header - 1))
        if cut:
            del content[at:]
        else:
            content[at] ^= change
        source.write_bytes(content)
        try:
            import_gguf(source, path / "model", "float32")
        except GgufError:
            assert list(path.iterdir()) == [source]
        else:
            assert not cut
            assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
                f.name for f in (path / "model").iterdir()
            }
