"""What inspect foretells from a configuration alone, against the caches of the model itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tests.contract import families
from turboquant import inspect, plan, report
from turboquant.__main__ import main
from turboquant.errors import TurboQuantError, UnsupportedModel

TOKENS = 700
NAMES = [name for name in families.modules() if name not in families.CANNOT]
LARGE: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "intermediate_size": 28672,
    "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-5, "vocab_size": 128256,
}  # fmt: skip


def filled(name: str, scheme: str, **changes: Any) -> list[Any]:
    """The caches of the tiny model after a prompt and one more token."""
    model = families.tiny(name, **changes)
    caches = plan.make_cache(model, scheme)
    tokens = mx.random.randint(0, families.VOCABULARY, (1, TOKENS))
    for start in range(0, TOKENS - 1, 256):
        mx.eval(model(tokens[:, start : min(start + 256, TOKENS - 1)], cache=caches))
    mx.eval(model(tokens[:, -1:], cache=caches))
    return caches


def check(caches: list[Any], config: dict[str, Any], scheme: str) -> None:
    layers = inspect.inspect_config(config, scheme, TOKENS, dtype=mx.float32)
    for cache, verdict, told in zip(caches, plan.describe(caches), layers, strict=True):
        if scheme != "none":
            assert (told.scheme, told.reason) == (verdict.scheme, verdict.reason)
        if told.note or "rotated" in verdict.note:
            assert told.note == verdict.note
        assert told.allocated_bytes == pytest.approx(cache.nbytes, rel=0.05)
    measured = report.measure(caches)
    assert sum(layer.allocated_bytes for layer in layers) == pytest.approx(measured.allocated_bytes, rel=0.05)
    assert sum(layer.used_bytes for layer in layers) == pytest.approx(measured.used_bytes, rel=0.05)


@pytest.mark.parametrize("scheme", ["turbo4", *(pytest.param(s, marks=pytest.mark.slow) for s in ("none", "turbo0v2"))])
@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_foretold_for_every_family(name: str, scheme: str) -> None:
    check(filled(name, scheme), families.config(name), scheme)


@pytest.mark.parametrize("scheme", ["turbo4", "turbo4v2", "turbo2"])
@pytest.mark.parametrize("name", ["gemma3_text", "gpt_oss", "gemma4_text", "llama"])
def test_bytes_of_windows_worth_packing_are_foretold(name: str, scheme: str) -> None:
    caches = filled(name, scheme, sliding_window=256)
    assert all(verdict.scheme == scheme for verdict in plan.describe(caches))
    check(caches, families.config(name, sliding_window=256), scheme)


def test_keys_that_cannot_be_split_are_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """38 channels can be rotated, half of them can't."""
    config = {**families.config("qwen2"), "hidden_size": 152}
    caches = filled("qwen2", "turbo3", hidden_size=152)
    check(caches, config, "turbo3")
    told = inspect.inspect_config(config, "turbo3", TOKENS, dtype=mx.float32)
    assert {layer.note for layer in told} == {"keys stay uniform: half of 38 channels can't be rotated"}
    assert not any(layer.note for layer in inspect.inspect_config(config, "turbo0v4", TOKENS))
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["inspect", str(tmp_path)]) == 0
    assert "half of 38 channels" in capsys.readouterr().out


def test_a_large_model_costs_neither_memory_nor_random_numbers() -> None:
    mx.random.seed(3)
    expected = mx.random.uniform(shape=(4,)).tolist()
    mx.random.seed(3)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    layers = inspect.inspect_config(LARGE, "turbo4", 131072)
    assert mx.get_peak_memory() - before < 1 << 20
    assert mx.random.uniform(shape=(4,)).tolist() == expected
    assert len(layers) == 80
    assert {(x.kind, x.kv_heads, x.key_dim, x.value_dim, x.window, x.scheme) for x in layers} == {
        ("attention", 8, 128, 128, 0, "turbo4")
    }
    # 131072 tokens of 8 heads at 132 bytes, a hundred of them raw
    assert layers[0].used_bytes == pytest.approx(131072 * 8 * 132, rel=0.005)


def test_every_length_and_scheme_comes_of_one_look() -> None:
    traces = inspect.examine_config(families.config("gemma3_text"))
    for scheme in ("none", "turbo3"):
        for tokens in (0, 1, 31, 33, 5000):
            told = inspect.forecast(traces, scheme, tokens)
            assert told == inspect.inspect_config(families.config("gemma3_text"), scheme, tokens)
    assert all(layer.used_bytes == layer.allocated_bytes == 0 for layer in inspect.forecast(traces, "turbo4", 0))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "no model_type"),
        ({"model_type": 5}, "no model_type"),
        ({"model_type": "unheard_of"}, "not supported"),
        ({"model_type": "llama"}, "hidden_size"),
        ({**LARGE, "num_attention_heads": 0}, "llama"),
        ({**LARGE, "model_file": "theirs.py"}, "own code"),
        ({**LARGE, "num_key_value_heads": 7}, "can't run"),
        ({"model_type": "olmo"}, "olmo"),
    ],
)
def test_a_config_that_makes_no_model_says_why(config: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedModel, match=said):
        inspect.inspect_config(config, "turbo4", 100)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(families.config("qwen3_next")))
    assert main(["inspect", str(tmp_path), "--scheme", "turbo3", "--tokens", "2000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["layers_compressed"] == 1
    assert [layer["kind"] for layer in told["layers"]] == ["state", "attention"]
    assert [layer["scheme"] for layer in told["layers"]] == [None, "turbo3"]
    assert "recurrent state" in told["layers"][0]["reason"]
    assert told["used_bytes"] == sum(layer["used_bytes"] for layer in told["layers"]) < told["none_used_bytes"]
    assert main(["inspect", str(tmp_path / "config.json")]) == 0
    table = capsys.readouterr().out
    assert "1 of 2 layers compressed with turbo4" in table
    assert "MB a layer at 4096 tokens" in table.splitlines()[0]
    assert main(["inspect", str(tmp_path), "--scheme", "turbo5"]) == 2
    (tmp_path / "config.json").write_text("[")
    assert main(["inspect", str(tmp_path)]) == 2
    assert "can't be read" in capsys.readouterr().err


def test_the_errors_are_this_librarys() -> None:
    assert issubclass(UnsupportedModel, TurboQuantError)
