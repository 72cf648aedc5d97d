"""What a model takes, predicted from its config.json: against what it then takes, and against machines of any size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten

from app.engine import fit, loader
from app.errors import AppError
from tests.contract import families
from tests.engine_kit import load
from turboquant import inspect, make_cache, report, schemes

GB = 10**9
LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-5,
    "vocab_size": 128256,
    "rope_theta": 500000.0,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "quantization": {"group_size": 64, "bits": 4},
}


def machine(total: int, available: int | None = None, limit: int | None = None) -> fit.Machine:
    return fit.Machine.of(total, available or total, limit or total)


# ---------------------------------------------------------------- predicted and measured


def held_bytes(model: Any, scheme: str, tokens: int) -> int:
    """Allocated bytes of the caches after a prefill of all tokens but one, and one step of decoding."""
    caches = make_cache(model, scheme)
    ids = mx.arange(tokens) % 50
    for start in range(0, tokens - 1, 512):
        model(ids[None, start : min(start + 512, tokens - 1)], cache=caches)
    model(ids[None, -1:], cache=caches)
    mx.eval([cache.state for cache in caches])
    return report.measure(caches).allocated_bytes


@pytest.mark.parametrize(
    ("family", "scheme"),
    [
        ("llama", "none"),
        ("llama", "turbo4v2"),
        ("gemma3_text", "turbo4"),
        ("gemma3n", "turbo2"),
        ("gpt_oss", "turbo8"),
        ("qwen3_next", "turbo4"),
        ("deepseek_v3", "turbo4"),
    ],
)
def test_the_cache_takes_what_was_predicted(family: str, scheme: str) -> None:
    model = families.tiny(family)
    predicted = fit.Forecast(families.config(family), cpu=True)
    measured = held_bytes(model, scheme, 900)
    assert predicted.cache_bytes(scheme, 900) == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize("family", ["llama", "gemma2", "gemma3n", "gpt_oss", "qwen3_moe", "deepseek_v3", "mamba2"])
def test_the_weights_take_what_was_predicted(family: str) -> None:
    model = families.tiny(family)
    assert fit.Forecast(families.config(family), cpu=True).weights_bytes == loader.weights_bytes(model)


def test_the_starter_takes_what_was_predicted(starter_model_path: Path) -> None:
    loaded = load(starter_model_path)
    config = json.loads((starter_model_path / "config.json").read_bytes())
    predicted = fit.Forecast(config)
    assert predicted.weights_bytes == pytest.approx(loaded.info.weights_bytes, rel=0.05)
    for scheme in ("none", "turbo4"):
        measured = held_bytes(loaded.model, scheme, 160)
        assert predicted.cache_bytes(scheme, 160) == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize(
    "quantization",
    [
        {"group_size": 32, "bits": 4},
        {"group_size": 32, "bits": 8, "model.embed_tokens": False},
        {"group_size": 32, "bits": 4, "mode": "mxfp4", "lm_head": {"group_size": 64, "bits": 8}},
    ],
)
def test_quantised_weights_take_what_was_predicted(quantization: dict[str, Any]) -> None:
    config = {**families.config("llama"), "quantization": quantization, "torch_dtype": "float16"}
    model = inspect.build(config)
    usual = {key: value for key, value in quantization.items() if key in ("group_size", "bits", "mode")}
    nn.quantize(
        model, **usual, class_predicate=lambda path, module: quantization.get(path, hasattr(module, "to_quantized"))
    )  # type: ignore[attr-defined]
    expected = sum(array.nbytes for _, array in tree_flatten(model.parameters()))
    assert fit.Forecast(config, cpu=False).weights_bytes == expected
    assert fit.Forecast(config, 12345, cpu=False).weights_bytes == 12345  # what the files hold is better known
    assert fit.Forecast(config, 12345, cpu=True).weights_bytes > expected  # dequantised, whatever the files hold


def test_a_model_that_also_sees_keeps_its_text_part_only() -> None:
    config = families.config("gemma3") | {"vision_config": {}}
    assert fit.Forecast(config, 10**12, cpu=False).weights_bytes < 10**7


def test_an_output_layer_that_goes_is_not_counted() -> None:
    """Gemma 3 makes one and lets it go: its files hold none."""
    tied, untied = (families.config("gemma3_text") | {"tie_word_embeddings": tied} for tied in (True, False))
    head = families.VOCABULARY * families.COMMON["hidden_size"] * 4
    assert fit.Forecast(untied, cpu=True).weights_bytes - fit.Forecast(tied, cpu=True).weights_bytes == head


def test_every_family_can_be_judged() -> None:
    for family in families.modules():
        if family not in families.CANNOT:
            found = fit.judge(json.dumps(families.config(family)), machine=machine(16 * GB))
            assert found.verdict == "fits", family
            assert found.schemes[0].cache_bytes[0] > 0, family


# ---------------------------------------------------------------- against a machine


def forecast(**changes: Any) -> fit.Forecast:
    return fit.Forecast(LLAMA_8B | changes, cpu=False)


@pytest.mark.parametrize(
    ("total", "available", "limit", "verdict", "words"),
    [
        (4 * GB, 3 * GB, 3 * GB, "too large", "the model and a short conversation take 4.67 GB"),
        (16 * GB, 2 * GB, 12 * GB, "tight", "when other programs give memory back: it takes at least 4.67 GB"),
        (16 * GB, 5.25 * GB, 12 * GB, "tight", "short conversations"),
        (16 * GB, 12 * GB, 12 * GB, "fits", "without compression"),
        (64 * GB, 60 * GB, 48 * GB, "fits", "can reach 131,072 tokens even without compression"),
    ],
)
def test_the_verdict_says_numbers(total: float, available: float, limit: float, verdict: str, words: str) -> None:
    found = fit.fit(forecast(), machine(int(total), int(available), int(limit)))
    assert found.verdict == verdict, found.words
    assert words in found.words, found.words


def test_weights_that_a_cpu_unpacks_are_called_so() -> None:
    found = fit.fit(fit.Forecast(LLAMA_8B, cpu=True), machine(64 * GB, 60 * GB, 48 * GB))
    assert found.words.startswith("Fits: the model takes 32.1 GB (as float32)"), "more than the download's 4.5 GB"


def test_lengths_and_schemes() -> None:
    found = fit.fit(forecast(), machine(16 * GB, 12 * GB, 12 * GB))
    assert found.lengths == (4096, 8192, 32768, 131072)
    assert found.layers_total == 32
    assert [entry.scheme for entry in found.schemes] == [scheme.name for scheme in schemes.SCHEMES]
    none, turbo4 = (next(e for e in found.schemes if e.scheme == name) for name in ("none", "turbo4"))
    # By hand: 32 layers, 8 heads, key and value of 128 in 2 bytes; capacity comes in steps of 128 tokens.
    assert none.cache_bytes[0] == 32 * 8 * 2 * 128 * 2 * (4096 + 128)
    assert 3.4 < none.cache_bytes[3] / turbo4.cache_bytes[3] < 3.9
    assert none.longest_tokens < turbo4.longest_tokens <= 131072
    assert (none.layers_compressed, turbo4.layers_compressed) == (0, 32)


def test_the_longest_context_is_the_longest_that_fits() -> None:
    whole = forecast()
    limit = 7 * GB
    for scheme in ("none", "turbo4v2"):
        longest = whole.longest_tokens(scheme, limit)
        assert whole.needed_bytes(scheme, longest) <= limit < whole.needed_bytes(scheme, longest + 1)
    assert whole.longest_tokens("none", whole.weights_bytes) == 0


def test_windows_grow_to_their_width_only() -> None:
    whole = fit.Forecast(families.config("gemma3_text"), cpu=True)
    grown = whole.cache_bytes("none", 4096) - whole.cache_bytes("none", 2048)
    full = families.COMMON["num_key_value_heads"] * 32 * 2 * 2 * 2048  # two of the four layers, in 16 bits
    assert grown == 2 * full


def test_layers_that_stay_raw_are_named() -> None:
    found = fit.fit(fit.Forecast(families.config("qwen3_next"), cpu=True), machine(16 * GB))
    assert any("recurrent state" in note for note in found.notes)


@pytest.mark.parametrize("total", [8 * GB, 16 * GB, 24 * GB, 64 * GB, 192 * GB])
def test_something_stays_for_the_system(total: int) -> None:
    whole = machine(total)
    assert total * 0.7 < whole.usable_bytes <= total * 0.9
    assert 0 < whole.free_bytes <= whole.usable_bytes
    assert machine(total, 100).free_bytes == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "can't be read"),
        ("[]", "isn't an object"),
        ('{"model_type": "whisper"}', "whisper"),
        ('{"model_type": "llama"}', "can't build"),
    ],
)
def test_what_cannot_be_said_has_a_reason(text: str, words: str) -> None:
    with pytest.raises(AppError, match=words):
        fit.judge(text)


@pytest.mark.parametrize("window", [float("nan"), float("inf"), "x"])
def test_a_window_that_is_no_number_has_a_reason(window: Any) -> None:
    """JSON as Python reads it holds NaN and Infinity."""
    with pytest.raises(AppError, match="can't build"):
        fit.judge(json.dumps(families.config("gpt_oss", sliding_window=window)))


def test_asking_changes_no_random_numbers() -> None:
    """A reply with a seed may be under way."""
    mx.random.seed(5)
    expected = mx.random.uniform(shape=(4,)).tolist()
    mx.random.seed(5)
    fit.judge(json.dumps(families.config("llama")))
    assert mx.random.uniform(shape=(4,)).tolist() == expected
