"""The command line: the fields that it promises, and what it says to bad input."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turboquant.__main__ import main
from turboquant.schemes import SCHEMES, parse

GENESIS = (
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness. "
)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err


def test_schemes_lists_names_widths_and_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "schemes", "--head-dim", "80")
    assert [row["name"] for row in rows] == [scheme.name for scheme in SCHEMES]
    for row in rows:
        scheme = parse(row["name"])
        assert (row["key_bits"], row["value_bits"]) == (scheme.key_bits, scheme.value_bits)
        assert row["bytes_per_token_per_head"] == scheme.bytes_per_token(80)
        assert row["ratio"] == pytest.approx(320 / row["bytes_per_token_per_head"], abs=1e-4)


def test_a_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes", "--head-dim", "80"]) == 0
    *lines, empty, said = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(SCHEMES)
    assert not empty
    assert "80 channels" in said
    assert lines[0].split() == ["name", "key_bits", "value_bits", "bytes_per_token_per_head", "ratio"]


def test_a_head_dim_without_a_codec_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "7" in refused(capsys, "schemes", "--head-dim", "7")
    assert "7" in refused(capsys, "bench", "--head-dim", "7", "--tokens", "64")


@pytest.mark.parametrize("config", ["[]", "null", "3", '"llama"'])
def test_a_config_that_is_no_object_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    assert "model_type" in refused(capsys, "inspect", str(tmp_path))


@pytest.mark.parametrize("option", ["--out", "--data"])
def test_a_report_that_cant_be_written_is_not_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str
) -> None:
    assert "no folder" in refused(
        capsys, "report", option, str(tmp_path / "missing" / "page"), "--texts", str(tmp_path)
    )


def test_eval_refuses_bad_input_before_any_work(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(GENESIS)
    assert "turbo4v2" in refused(capsys, "eval", "--text", str(text), "--schemes", "turbo4,turbo5")
    assert refused(capsys, "eval", "--text", str(tmp_path / "missing")).endswith(
        "be read: No such file or directory.\n"
    )
    assert refused(capsys, "inspect", str(tmp_path / "missing.json")).endswith("be read: No such file or directory.\n")
    assert "config.json" in refused(capsys, "eval", "--text", str(text), "--model", str(tmp_path))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    assert "can't be read: it is no UTF-8 text" in refused(capsys, "eval", "--text", str(tmp_path / "bytes"))


def test_eval_on_the_real_model(capsys: pytest.CaptureFixture[str], tmp_path: Path, starter_model_path: Path) -> None:
    """Short, and through the decode path: no scheme is no change, and fewer bits are further away."""
    text = tmp_path / "text"
    text.write_text(GENESIS * 3)
    arguments = ["--model", str(starter_model_path), "--text", str(text), "--prompt", "140", "--tokens", "24"]
    result = answer(capsys, "eval", *arguments, "--schemes", "none,turbo4,turbo2")
    assert set(result) == {"model", "backend", "results"}
    none, turbo4, turbo2 = result["results"]
    assert set(none) >= {"scheme", "ppl", "kld", "top1", "kv_used_bytes", "kv_fp16_bytes", "seconds"}
    assert none["kld"] < 1e-4
    assert none["top1"] == 1
    assert none["kld"] < turbo4["kld"] < turbo2["kld"] < 1
    assert turbo4["ppl"] == pytest.approx(none["ppl"], rel=0.05)
    assert none["kv_fp16_bytes"] == 164 * 30 * 3 * 2 * 64 * 2
    assert none["kv_used_bytes"] > turbo4["kv_used_bytes"] > turbo2["kv_used_bytes"]
    assert not math.isnan(turbo2["ppl"])
    short = [*arguments[:4], "--prompt", "4000"]
    assert "longer text" in refused(capsys, "eval", *short)


def test_needle_says_what_it_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, starter_model_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text(GENESIS)
    arguments = ["--model", str(starter_model_path), "--text", str(text), "--contexts", "64", "--schemes", "turbo4"]
    assert main(["needle", *arguments, "--depths", "0,100"]) == 0
    _, line, empty, said = capsys.readouterr().out.splitlines()
    assert " of " in line
    assert not empty
    assert said.startswith("At each length 2 code words were asked for: how many were found, of those")


def test_help_says_what_the_program_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "Key/value caches of MLX models" in capsys.readouterr().out


def test_the_program_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "turboquant", "schemes", "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["name"] == "none"


@pytest.mark.parametrize("arguments", [("bench", "--tokens", text) for text in ("abc", "0", "-5", "64,")])
def test_senseless_numbers_are_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "--tokens" in capsys.readouterr().err


def test_a_model_folder_that_cant_be_loaded_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "text").write_text(GENESIS)
    for config in ("{}", "not json", json.dumps({"model_type": "nonesuch"})):
        (tmp_path / "config.json").write_text(config)
        assert "can't be loaded" in refused(capsys, "eval", "--text", str(tmp_path / "text"), "--model", str(tmp_path))
