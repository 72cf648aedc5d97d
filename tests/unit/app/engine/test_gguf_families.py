"""Imported models of every architecture compute what their weights say, and their tokenizers what they said."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer

from app.engine.gguf import container
from app.engine.gguf import weights as gguf_weights
from app.engine.gguf.blocks import TYPES
from app.engine.gguf.importing import GgufError, import_gguf
from tests.unit.app.engine.gguf_writer import TOKENS, metadata, tensors, write

PROMPT = mx.array([[5, 60, 17, 90, 33, 2, 71, 18, 101, 44, 9, 9, 120, 7]])  # longer than the tiny gemma's window
NORM = 1e-5


def logits(folder: Path) -> mx.array:
    model, _ = mlx_lm.load(str(folder))
    model.set_dtype(mx.float32)
    return model(PROMPT)


# ---------------------------------------------------------------- what the weights say, in NumPy


def reference(architecture: str, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Logits by the papers' formulas over GGUF's own tensors, in float64 and without mlx-lm."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    gemma = architecture == "gemma3"
    ids = np.array(PROMPT)[0]
    x = w["token_embd.weight"][ids] * (float(mx.array(8.0, mx.bfloat16)) if gemma else 1)

    def norm(values: np.ndarray, name: str) -> np.ndarray:
        return values / np.sqrt((values**2).mean(-1, keepdims=True) + NORM) * w[f"{name}.weight"]

    for i in range(2 if architecture == "llama" else 3):
        block = f"blk.{i}."
        windowed = gemma and i % 2 == 0

        def project(values: np.ndarray, name: str, block: str = block) -> np.ndarray:
            return values @ w[f"{block}{name}.weight"].T + w.get(f"{block}{name}.bias", 0)

        h = norm(x, f"{block}attn_norm")
        q, k, v = (project(h, f"attn_{part}").reshape(len(ids), -1, 16) for part in "qkv")
        if architecture in ("qwen3", "gemma3"):
            q, k = norm(q, f"{block}attn_q_norm"), norm(k, f"{block}attn_k_norm")
        q, k = (rotate(t, interleaved=architecture == "llama") for t in (q, k))
        scores = np.einsum("ihd,jhd->hij", q, np.repeat(k, 2, axis=1)) / 4
        distance = np.arange(len(ids))[:, None] - np.arange(len(ids))
        scores[:, (distance < 0) | (distance >= 8 if windowed else distance < 0)] = -np.inf
        chances = np.exp(scores - scores.max(-1, keepdims=True))
        chances /= chances.sum(-1, keepdims=True)
        out = np.einsum("hij,jhd->ihd", chances, np.repeat(v, 2, axis=1)).reshape(len(ids), -1)
        out = project(out, "attn_output")
        x = x + (norm(out, f"{block}post_attention_norm") if gemma else out)
        h = norm(x, f"{block}ffn_norm")
        gate = project(h, "ffn_gate")
        bell = 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        gate = gate * (bell if gemma else 1 / (1 + np.exp(-gate)))
        out = project(gate * project(h, "ffn_up"), "ffn_down")
        x = x + (norm(out, f"{block}post_ffw_norm") if gemma else out)
    return norm(x, "output_norm") @ w["token_embd.weight"].T


def rotate(x: np.ndarray, interleaved: bool) -> np.ndarray:
    """Rotary positions of base 10,000: pairs are neighbours in GGUF's llama, halves elsewhere."""
    angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(8) / 8)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :8], x[..., 8:])
    turned = first * cos - second * sin, first * sin + second * cos
    return np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "gemma3"])
def test_an_imported_model_computes_what_its_weights_say(tmp_path: Path, architecture: str) -> None:
    weights = tensors(architecture)
    # All rotary bases alike: the reference has one.
    own = {"gemma3__rope__freq_base": 10000.0} if architecture == "gemma3" else {}
    source = write(tmp_path / "m.gguf", metadata(architecture, **own, **layers(architecture)), weights)
    expected = reference(architecture, weights)
    got = np.array(logits(import_gguf(source, tmp_path / "model", "float32"))[0])
    assert np.abs(got - expected).max() < 2e-4 * np.abs(expected).max()


def layers(architecture: str) -> dict[str, Any]:
    return {"llama__block_count": 2} if architecture == "llama" else {}


@pytest.mark.parametrize(
    "kind",
    [  # of those kept packed each, of the others one in four: these are float16 alike, and their blocks have tests
        pytest.param(kind.name, marks=() if kind.bits or number % 4 == 0 else pytest.mark.slow)
        for number, kind in enumerate(sorted(TYPES.values(), key=lambda kind: kind.name))
    ],
)
def test_kept_small_it_computes_what_the_dequantised_weights_do(tmp_path: Path, kind: str) -> None:
    """Every type of tensor. Kept packed, codes are the file's; else float16."""
    weights = tensors(width=256)
    meta = metadata("llama", llama__block_count=2, llama__embedding_length=256, llama__feed_forward_length=384)
    meta["llama.attention.key_length"] = 16
    kinds = {name: kind for name, array in weights.items() if array.shape[-1] == 256}
    source = write(tmp_path / "m.gguf", meta, weights, kinds)
    small = import_gguf(source, tmp_path / "small", "quantized")
    bits = next(known.bits for known in TYPES.values() if known.name == kind)
    quantization = json.loads((small / "config.json").read_bytes()).get("quantization")
    assert quantization == ({"group_size": 32, "bits": bits} if bits else None)
    expected = logits(import_gguf(source, tmp_path / "full", "float32"))
    assert mx.abs(logits(small) - expected).max().item() < 0.01 * mx.abs(expected).max().item()


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K"])
def test_packed_codes_mean_what_the_blocks_mean(tmp_path: Path, kind: str) -> None:
    """To float16's precision where a block multiplies two numbers for a scale, else to the last bit."""
    weights = {"token_embd.weight": np.random.default_rng(1).normal(0, 0.2, (40, 256)).astype(np.float32)}
    tensor = container.read(write(tmp_path / "m.gguf", {"general.architecture": "x"}, weights, kind)).tensors
    (tensor,) = tensor.values()
    words, scales, biases = (mx.array(part) for part in tensor.packed())
    scales, biases = scales.astype(mx.float32), biases.astype(mx.float32)
    got = np.array(mx.dequantize(words, scales, biases, group_size=32, bits=tensor.type.bits))
    exact = tensor.floats()
    error = 2e-3 if kind.endswith("K") else 0
    assert np.abs(got - exact).max() <= error * np.abs(exact).max()


@pytest.mark.parametrize("weights", ["float32", "quantized"])
def test_tensors_are_the_same_whatever_stretches_they_come_in(
    tmp_path: Path, weights: gguf_weights.WeightKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "m.gguf", metadata("llama", llama__block_count=2), tensors(), "Q8_0")
    whole = import_gguf(source, tmp_path / "whole", weights) / "model.safetensors"
    monkeypatch.setattr(gguf_weights, "_STRETCH", 1)  # a head's rows at a time
    steps: list[float] = []
    parts = import_gguf(source, tmp_path / "parts", weights, steps.append) / "model.safetensors"
    assert parts.read_bytes() == whole.read_bytes()
    assert len(steps) > 60


# ---------------------------------------------------------------- Llama 3.1's positions


def llama3_factors(factor: float) -> np.ndarray:
    """As mlx-lm computes them from the settings: the frequencies over those without scaling."""
    from mlx_lm.models.rope_utils import Llama3RoPE

    rope = Llama3RoPE(16, base=10000.0, scaling_config={"factor": factor})
    return np.array(rope._freqs / 10000.0 ** (mx.arange(0, 16, 2) / 16))


def test_scaled_positions_are_told_from_their_factors(tmp_path: Path) -> None:
    weights = tensors() | {"rope_freqs.weight": llama3_factors(32.0)}
    folder = import_gguf(write(tmp_path / "m.gguf", metadata("llama", llama__block_count=2), weights), tmp_path / "m")
    model, _ = mlx_lm.load(str(folder))
    rope = model.model.layers[0].self_attn.rope
    np.testing.assert_allclose(
        np.array(rope._freqs / 10000.0 ** (mx.arange(0, 16, 2) / 16)), llama3_factors(32.0), 1e-5
    )


def test_other_factors_are_refused(tmp_path: Path) -> None:
    weights = tensors() | {"rope_freqs.weight": np.linspace(1, 8, 8, dtype=np.float32)}
    source = write(tmp_path / "m.gguf", metadata("llama", llama__block_count=2), weights)
    with pytest.raises(GgufError, match="rotary positions"):
        import_gguf(source, tmp_path / "m")
    assert not (tmp_path / "m").exists()


# ---------------------------------------------------------------- tokenizers


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> sentencepiece.SentencePieceProcessor:
    """SentencePiece's BPE with a token a byte, learned from made-up words; one piece is matched whole."""
    folder = tmp_path_factory.mktemp("pieces")
    lines = [" ".join(WORDS.choices(SYLLABLES, k=30)) for _ in range(300)]
    (folder / "text").write_text("\n".join(lines))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"),
        model_prefix=str(folder / "m"),
        vocab_size=600,
        model_type="bpe",
        byte_fallback=True,
        user_defined_symbols=["<tool>"],
        control_symbols=["<end>"],
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "m.model"))


WORDS = random.Random(3)
SYLLABLES = ["".join(WORDS.choices("aeioubcdfglmnprst", k=WORDS.randint(2, 9))) for _ in range(400)]


def sentencepiece_metadata(pieces: sentencepiece.SentencePieceProcessor) -> dict[str, Any]:
    count = pieces.get_piece_size()

    def kind(index: int) -> int:
        if pieces.is_control(index):
            return 3
        if pieces.is_unknown(index):
            return 2
        return 6 if pieces.is_byte(index) else 4 if pieces.id_to_piece(index) == "<tool>" else 1

    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [pieces.id_to_piece(index) for index in range(count)],
        "tokenizer.ggml.scores": [float(pieces.get_score(index)) for index in range(count)],
        "tokenizer.ggml.token_type": [kind(index) for index in range(count)],
        "tokenizer.ggml.bos_token_id": pieces.bos_id(),
        "tokenizer.ggml.eos_token_id": pieces.eos_id(),
        "tokenizer.ggml.unknown_token_id": pieces.unk_id(),
    }


def sentencepiece_model(path: Path, pieces: sentencepiece.SentencePieceProcessor) -> Path:
    weights = tensors()
    weights["token_embd.weight"] = np.resize(weights["token_embd.weight"], (pieces.get_piece_size(), 64))
    meta = metadata("llama", llama__block_count=2) | sentencepiece_metadata(pieces)
    del meta["tokenizer.ggml.merges"]
    return import_gguf(write(path / "m.gguf", meta, weights), path / "model")


def test_a_sentencepiece_tokenizer_cuts_as_sentencepiece_does(
    tmp_path: Path, pieces: sentencepiece.SentencePieceProcessor
) -> None:
    tokenizer = Tokenizer.from_file(str(sentencepiece_model(tmp_path, pieces) / "tokenizer.json"))
    spans = random.Random(5)
    for number in range(1000):
        words = spans.choices([*SYLLABLES, "naïve", "שלום", "🙂", "12.5", "é", "Zz"], k=spans.randint(1, 8))
        text = spans.choice([" ", "  ", "\n", ""]).join(words)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert ids == pieces.encode(text), f"{number}: {text!r}"
        assert tokenizer.decode(ids) == text


def test_it_begins_and_matches_whole_tokens_as_llama_cpp_does(
    tmp_path: Path, pieces: sentencepiece.SentencePieceProcessor
) -> None:
    _, tokenizer = mlx_lm.load(str(sentencepiece_model(tmp_path, pieces)))
    ids = tokenizer.encode(SYLLABLES[0] + "<tool>")
    assert ids[0] == pieces.bos_id()
    assert ids[-1] == pieces.piece_to_id("<tool>")
    assert tokenizer.eos_token_id == pieces.eos_id()


@pytest.mark.parametrize(
    ("pre", "text", "parts"),
    [
        ("gpt-2", "I'm 1234 ok", ["I", "'m", "Ġ1234", "Ġok"]),
        ("smollm", "I'm 12 ok", ["I", "'m", "Ġ", "1", "2", "Ġok"]),
        ("llama-bpe", "I'M 12345 ok!\n\n x", ["I", "'M", "Ġ", "123", "45", "Ġok", "!ĊĊ", "Ġx"]),
        ("qwen2", "I'M 123 ok!\n\n x", ["I", "'M", "Ġ", "1", "2", "3", "Ġok", "!ĊĊ", "Ġx"]),
    ],
)
def test_byte_level_tokenizers_split_as_their_kind_does(tmp_path: Path, pre: str, text: str, parts: list[str]) -> None:
    meta = metadata("llama", llama__block_count=2, tokenizer__ggml__pre=pre)
    folder = import_gguf(write(tmp_path / "m.gguf", meta, tensors()), tmp_path / "model")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.pre_tokenizer is not None
    assert [part for part, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)] == parts


def test_a_tokenizer_that_loses_text_is_refused(tmp_path: Path) -> None:
    """A byte without a token would vanish from every text that has it."""
    tokens = [f"x{index}x" if token == "Ã" else token for index, token in enumerate(TOKENS)]
    meta = metadata("llama", llama__block_count=2, tokenizer__ggml__tokens=tokens)
    with pytest.raises(GgufError, match="back as they were"):
        import_gguf(write(tmp_path / "m.gguf", meta, tensors()), tmp_path / "model")
