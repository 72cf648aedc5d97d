"""bench and selftest: the fields that they promise, what they leave out, and that a fault is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from mlx_lm.models import gemma3_text

from tests.contract import families
from tests.engine_kit import make_model
from turboquant import backends, bench, bench_model, selftest
from turboquant.__main__ import main
from turboquant.errors import TurboQuantError
from turboquant.kernels.golden import Golden
from turboquant.plan import packable
from turboquant.trace import parts

SMALL = ["--head-dim", "64", "--kv-heads", "2", "--group", "2", "--repeats", "2"]
FEW = ((64, 2), (80, 3))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TILE", 256), ("LATER", 64), ("CPU_LAYERS", 2)):
        monkeypatch.setattr(bench, name, value)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- attention


def test_bench_measures_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "bench", "--tokens", "256,300", "--schemes", "turbo4,turbo0v2", *SMALL)
    assert set(result) == {"machine", "backend", "rows", "operations"}
    assert result["backend"] == backends.choose().name
    assert [(row["T"], row["scheme"]) for row in result["rows"]] == [
        (tokens, scheme) for tokens in (256, 300) for scheme in ("turbo4", "turbo0v2")
    ]
    for row in result["rows"]:
        assert (row["head_dim"], row["kv_heads"], row["group"]) == (64, 2, 2)
        assert all(row[name] > 0 for name in ("ours_ms", "mlx_fp16_ms", "mlx_fp32_ms", "mlx_affine4_ms"))
    found = [(row["operation"], row["tokens"], row["scheme"]) for row in result["operations"]]
    assert found == [
        *(("step", tokens, scheme) for tokens in (256, 300) for scheme in ("turbo4", "turbo0v2")),
        *(("prefill", 300, scheme) for scheme in ("turbo4", "turbo0v2")),
        ("encode", 64, "turbo4"),
        ("dequantise", bench.TILE, "turbo4"),
    ]
    assert all(row["ours_ms"] > 0 and row["mlx_ms"] > 0 for row in result["operations"])


def test_what_mlx_has_no_counterpart_for_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "bench", "--tokens", "200", "--schemes", "turbo3", *SMALL, "--head-dim", "80")
    assert [row["mlx_affine4_ms"] for row in result["rows"]] == [None]
    assert [row["mlx_ms"] is None for row in result["operations"]] == [False, False, True, True]


def test_lengths_that_do_not_fit_are_left_out_and_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "free_bytes", lambda: 12_000_000)
    assert main(["bench", "--tokens", "64,100000", "--schemes", "turbo4", *SMALL, "--json"]) == 0
    printed = capsys.readouterr()
    assert {row["T"] for row in json.loads(printed.out)["rows"]} == {64}
    assert "100000 tokens are left out: they take 0.6 GB, 0.0 are free." in printed.err


def test_whole_steps_that_would_take_long_are_left_out_and_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "SECONDS", 0.0)
    assert main(["bench", "--tokens", "200", "--schemes", "turbo4", *SMALL, "--json"]) == 0
    printed = capsys.readouterr()
    assert "step" not in {row["operation"] for row in json.loads(printed.out)["operations"]}
    assert "200 tokens: whole steps are left out" in printed.err


# ---------------------------------------------------------------- generation


def test_bench_of_a_model_counts_tokens_beside_mlx_lms_own_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "tiny")
    options = ["--tokens", "40,600", "--schemes", "none,turbo2", "--new-tokens", "3"]
    result = answer(capsys, "bench", "--model", str(folder), *options)
    assert (result["model"], result["backend"]) == ("tiny", backends.choose().name)
    assert [(row["tokens"], row["scheme"]) for row in result["rows"]] == [
        (tokens, scheme) for tokens in (40, 600) for scheme in ("mlx-lm", "none", "turbo2")
    ]
    for row in result["rows"]:
        assert set(row) == {field.name for field in fields(bench_model.Speed)}
        assert row["tokens_per_s"] > 0
        assert (row["relative"] == 1) == (row["scheme"] == "mlx-lm")
    none, turbo2 = result["rows"][4:]
    assert turbo2["kv_bytes"] < none["kv_bytes"] / 2
    assert main(["bench", "--model", str(folder), "--tokens", "40", "--schemes", "none", "--new-tokens", "2"]) == 0
    assert ("float32" in capsys.readouterr().out) == bench.on_cpu()


def test_a_random_model_has_the_shape_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 300}
    model: Any = bench_model.random_model(**small, num_attention_heads=2, num_key_value_heads=1, head_dim=64)
    assert len(model.layers) == 2
    (mlx_lm, turbo4) = bench_model.generation(model, 200, ["turbo4"], new_tokens=2, rounds=1)
    assert mlx_lm.relative == 1
    assert turbo4.tokens_per_s > 0
    monkeypatch.setattr(bench_model, "free_bytes", lambda: 1_000_000_000)
    with pytest.raises(TurboQuantError, match=r"takes 1?\d\.\d GB, 1\.0 are free"):
        bench_model.random_model()


def test_sliding_windows_are_filled_too() -> None:
    args = gemma3_text.ModelArgs(
        "gemma3_text", 64, 2, 64, 2, head_dim=32, vocab_size=300, num_key_value_heads=1, sliding_window=128,
        sliding_window_pattern=2,
    )  # fmt: skip
    model = gemma3_text.Model(args)
    for name in (bench_model.MLX_LM, "turbo4"):
        caches = bench_model._filled(model, name, 500)
        assert [cache.offset for cache in caches] == [500, 500]
        assert bench_model._rate(model, caches, 2) > 0
        assert [cache.offset for cache in caches] == [504, 504]


@pytest.mark.parametrize("name", ["falcon_h1", "baichuan_m1", "minimax_m3_vl", "longcat_flash", "llama4"])
def test_caches_that_are_joined_or_chunked_are_filled_too(name: str) -> None:
    model = families.tiny(name, vocab_size=300)
    filled = {scheme: bench_model._filled(model, scheme, 500) for scheme in (bench_model.MLX_LM, "none", "turbo2")}
    for caches in filled.values():
        held = [part.offset for cache in caches for part in parts(cache) if hasattr(part, "offset")]
        assert held
        assert set(held) == {500}
    mlx_lm, none, turbo2 = bench_model.generation(model, 500, ["none", "turbo2"], new_tokens=2, rounds=1)
    assert mlx_lm.kv_bytes * 2 >= bench_model.needed_bytes(model, 500) >= mlx_lm.kv_bytes
    assert (turbo2.kv_bytes < none.kv_bytes) == bool(packable(filled["turbo2"]))


def test_a_models_own_kind_of_cache_is_named() -> None:
    with pytest.raises(TurboQuantError, match="LayerCache"):
        bench_model.generation(families.tiny("deepseek_v41", vocab_size=300), 500, ["turbo4"], new_tokens=2, rounds=1)


# ---------------------------------------------------------------- selftest


def test_selftest_finds_nothing_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} >= {"encode", "dequantise", "attend"}
    assert sum("split" in line for line in lines) >= 3
    assert all(line.endswith("ok") for line in lines)


def test_selftest_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "CODECS", FEW)
    monkeypatch.setattr(selftest, "ATTENTION", selftest.ATTENTION[:1])
    result = answer(capsys, "selftest")
    assert set(result) == {"version", "backend", "notice", "checks", "ok"}
    assert result["ok"]
    assert all(set(check) == {"operation", "case", "error", "limit", "ms", "ok"} for check in result["checks"])


@pytest.mark.parametrize("operation", ["encode", "dequantise", "attend"])
def test_selftest_finds_a_wrong_backend(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    wrong = copy.copy(backends.choose())
    right = getattr(wrong, operation)

    def spoiled(*arguments: Any) -> Any:
        result = right(*arguments)
        return result._replace(words=result.words ^ 1) if operation == "encode" else result * 1.1

    monkeypatch.setattr(wrong, operation, spoiled)
    monkeypatch.setattr(backends, "choose", lambda: wrong)
    monkeypatch.setattr(selftest, "CODECS", FEW)
    monkeypatch.setattr(selftest, "ATTENTION", selftest.ATTENTION[2:4])
    failed = {check.operation for check in selftest.run() if not check.ok}
    # attention dequantises where many queries are at work; the reference's own packing spoils no comparison
    assert failed == {operation}
    assert main(["selftest"]) == 1


def test_a_kernel_that_was_refused_fails_the_selftest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results are the reference's, and so are right."""
    gpu = copy.copy(backends.choose())
    monkeypatch.setattr(gpu, "name", "metal")
    monkeypatch.setattr(backends, "choose", lambda: gpu)
    monkeypatch.setattr(selftest, "_golden", lambda step: iter(()))
    monkeypatch.setattr(selftest, "CODECS", FEW)
    monkeypatch.setattr(selftest, "ATTENTION", ())
    assert all(check.ok for check in selftest.run())
    monkeypatch.setattr(gpu, "notice", "The GPU kernel tq_encode doesn't serve here.")
    failed = [check for check in selftest.run() if not check.ok]
    assert [(check.operation, check.case) for check in failed] == [("kernels", gpu.notice)]


def test_a_kernel_that_does_not_compile_fails_the_selftest(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = copy.copy(backends.choose())
    monkeypatch.setattr(gpu, "name", "cuda")
    monkeypatch.setattr(backends, "choose", lambda: gpu)

    def checks(*_: Any) -> Iterator[Golden]:
        yield Golden("encode d=64 3 bit", 0.0, 0.0)
        raise RuntimeError("[compile] Unable to build the library\nline 7: …")

    monkeypatch.setattr("turboquant.kernels.golden.checks", checks)
    first, second = selftest._golden(1)
    assert first.ok
    assert not second.ok
    assert second.case == "[compile] Unable to build the library"


def test_full_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "HEAD_DIMS", (64, 72))
    monkeypatch.setattr(selftest, "_all_attention", lambda: iter(selftest.ATTENTION[:1]))
    cases = [check.case for check in selftest.run(full=True)]
    assert {f"d={dim} {bits} bit" for dim in (64, 72) for bits in (2, 3, 4, 8)} <= set(cases)
    assert not selftest.Check("attend", "", float("nan"), 1.0, 0.0).ok
