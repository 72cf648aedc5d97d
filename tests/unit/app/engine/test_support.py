"""What can run here, judged before a download."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from app.engine import support


def config(**values: Any) -> dict[str, Any]:
    return {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, **values}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ""),
        ({"model_type": "mistral"}, ""),  # one of mlx-lm's other names for llama
        ({"auto_map": {"AutoModel": "own.Model"}}, ""),  # of no account: mlx-lm knows the type
        ({"quantization": {"group_size": 64, "bits": 4}, "quantization_config": {"group_size": 64, "bits": 4}}, ""),
        ({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}}, ""),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, ""),
        ({"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}, ""),
        ({"model_type": "whisper"}, "whisper aren't known"),
        ({"model_type": "cache"}, "cache aren't known"),
        ({"model_type": "../llama"}, "aren't known"),
        ({"model_type": None}, "no model_type"),
        ({"model_file": "own.py"}, "never run"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_hidden_layers": 3_000_000}, "num_hidden_layers is 3000000"),
        ({"n_layer": 10**9}, "n_layer is 10"),
        ({"text_config": {"num_local_experts": 10**9}}, "num_local_experts is 10"),
        ({"max_position_embeddings": 2**63}, "max_position_embeddings is 92"),
        ({"max_position_embeddings": 10_485_760}, ""),
        ({"shared_expert_intermediate_size": 20480, "num_experts": 512}, ""),
        ({"moe_num_experts": 10**6}, "moe_num_experts is 10"),
        ({"hidden_size": 10**12}, "hidden_size is 10"),
        ({"quantization": {"group_size": 0, "bits": 4}}, "unknown way"),
        ({"text_config": {"vocab_size": "32000"}}, "vocab_size is '32000'"),
        ({"quantization": "4bit"}, "unknown way"),
        ({"quantization": {"group_size": 64, "bits": 4, "mode": "fp3"}}, "unknown way"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "bitsandbytes"),
        ({"text_config": {"quantization_config": {"quant_method": "hqq"}}}, "hqq"),
        ({"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized"}}, "float-quant"),
    ],
)
def test_a_config_is_judged(values: dict[str, Any], words: str) -> None:
    reason = support.unsupported(config(**values))
    assert words in reason
    assert bool(reason) is bool(words)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["config.json", "model.safetensors", "tokenizer.json"], ""),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "tokenizer.model"], ""),
        (["model.safetensors"], "no tokenizer"),
        (["pytorch_model.bin", "tokenizer.json"], "no weights"),
        (["adapters.safetensors", "tokenizer.json"], "no weights"),
        (["tiny-Q4_K_M.gguf", "README.md"], "GGUF"),
    ],
)
def test_files_are_judged(files: list[str], words: str) -> None:
    reason = support.unsupported(config(), files)
    assert words in reason
    assert bool(reason) is bool(words)


def test_every_module_said_to_be_a_model_is_one() -> None:
    """A release of mlx-lm that adds another helper beside its models fails here."""
    for name in sorted(support._known_modules()):
        module = importlib.import_module(f"mlx_lm.models.{name}")
        assert hasattr(module, "Model"), name
        assert hasattr(module, "ModelArgs"), name
    for name in support._NO_MODELS - {"olmo"}:
        assert not hasattr(importlib.import_module(f"mlx_lm.models.{name}"), "Model"), name
    with pytest.raises(SystemExit):
        importlib.import_module("mlx_lm.models.olmo")


@pytest.mark.parametrize(("platform", "words"), [("linux", "on a Mac only"), ("darwin", "")])
def test_what_needs_metal_is_told_elsewhere(platform: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert words in support.unsupported(config(model_type="bitnet"))
    assert bool(support.unsupported(config(model_type="bitnet"))) is bool(words)


def test_nothing_is_imported_for_a_known_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlx_lm.utils", None)  # its import would fail
    assert support.unsupported({"model_type": "qwen3"}) == ""
