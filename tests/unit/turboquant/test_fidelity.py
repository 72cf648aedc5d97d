"""The measurements that ship, the page made of them, and the commands that make them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turboquant import fidelity, fidelity_report, terminal
from turboquant.__main__ import main
from turboquant.errors import TurboQuantError
from turboquant.fidelity_document import document
from turboquant.measuring import recalls
from turboquant.needle import QUESTION, needle
from turboquant.schemes import SCHEMES, parse
from turboquant.side_by_side import Variant

ROOT = Path(__file__).parents[3]


def test_every_scheme_was_measured() -> None:
    measured = fidelity.measured()
    assert set(measured) == {scheme.name for scheme in SCHEMES}
    assert measured["none"].kld < 1e-6
    assert measured["turbo8"].kld < measured["turbo4"].kld < measured["turbo3"].kld < measured["turbo2"].kld
    for found in measured.values():
        assert found.texts == 6
        assert 0.5 < found.top1 <= 1


def test_the_page_says_what_was_measured() -> None:
    held = fidelity_report.read(ROOT / "turboquant" / fidelity.DATA)
    page = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    assert page == document(held["sections"]), "`python -m turboquant report --only nothing` writes it anew"
    assert "Not measured yet" not in page


def test_calibration_was_never_measured_to_harm() -> None:
    """Of every pair of texts, prompted with one and going on with the other; and as a context grows."""
    held = fidelity_report.read(ROOT / "turboquant" / fidelity.DATA)["sections"]
    pairs = 0
    for section, limit in (("schemes", 1.1), ("cross", 1.1), ("contexts", 1.0)):
        for run in held[section]:
            kld: dict[Any, dict[bool, float]] = {}
            for row in run["rows"]:
                if row["scheme"] in fidelity_report.COMPARED and not row["policy"]:
                    key = row["scheme"], row["text"], row.get("prompt"), row["context"]
                    kld.setdefault(key, {})[row["calibrate"]] = row["kld"]
            assert {key: both for key, both in kld.items() if both[True] > limit * both[False]} == {}
            pairs += len(kld)
    assert pairs >= 3 * (6 + 36 + 4)


def test_a_scheme_is_beaten_by_a_closer_one_that_is_no_larger() -> None:
    divergences = {"none": 0.0, "turbo0v4": 0.005, "turbo8v4": 0.004, "turbo4": 0.02, "turbo3": 0.1, "turbo4v2": 0.2}
    beaten = {name: fidelity.better(parse(name), divergences) for name in divergences}
    assert beaten == {
        "none": "", "turbo0v4": "turbo8v4", "turbo8v4": "", "turbo4": "", "turbo3": "", "turbo4v2": "turbo3",
    }  # fmt: skip


def test_report_writes_the_page_and_refuses_what_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, page = tmp_path / "data.json", tmp_path / "page.md"
    arguments = ["report", "--data", str(data), "--out", str(page)]
    assert main([*arguments, "--only", "nothing"]) == 0
    assert page.read_text().count("Not measured yet") == len(fidelity_report.SECTIONS)
    assert main([*arguments, "--only", "schemes,depths"]) == 2
    assert "depths" in capsys.readouterr().err
    assert main([*arguments, "--texts", str(tmp_path)]) == 2
    assert "genesis.txt" in capsys.readouterr().err
    data.write_text("{}")
    assert main([*arguments, "--only", "nothing"]) == 2
    assert data.read_text() == "{}"


def test_a_section_is_measured_again_in_its_place(
    tiny_llama: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Letters:
        def encode(self, text: str, **_: Any) -> list[int]:
            return [ord(letter) % 512 for letter in text]

    monkeypatch.setattr(fidelity_report, "TOKENS", 8)
    data = tmp_path / "data.json"
    texts = {"genesis": "In the beginning " * 40, "other": "And the earth was " * 40}
    for name in ("first", "second", "first"):
        bench = fidelity_report.Bench(name, tiny_llama, Letters(), texts, lambda fed: None)
        fidelity_report.measure(bench, ["models", "schemes"], data)
    held = fidelity_report.read(data)["sections"]
    assert [run["model"] for run in held["models"]] == ["second", "first"]
    assert {(row["text"], row["scheme"]) for row in held["models"][0]["rows"]} == {
        (text, scheme) for text in texts for scheme in ("none", "turbo0v4", "turbo4")
    }
    page = document(held)
    assert "| turbo8v2 |" in page
    assert page.count("Not measured yet") == 3
    assert json.loads(data.read_text())["sections"] == held


def test_tables_for_people_and_for_pages() -> None:
    rows = [{"name": "a", "share": 0.123456, "count": 3, "said": "0.12"}]
    assert terminal.markdown(rows).splitlines() == [
        "| name | share | count | said |", "|---|--:|--:|--:|", "| a | 0.1235 | 3 | 0.12 |",
    ]  # fmt: skip
    assert terminal.markdown([]) == ""


# ---------------------------------------------------------------- needle


def test_needle_counts_what_each_row_says(tiny_llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is made to say the code in the uncompressed row and in one of two others."""
    from turboquant import needle as module

    def encode(text: str) -> list[int]:
        return [ord(letter) for letter in text]

    prompts = []

    def answers(model: Any, prompt: list[int], length: int, variants: list[Variant]) -> list[list[int]]:
        prompts.append("".join(map(chr, prompt)))
        code = prompts[-1].split("is ")[1][:5]
        right = encode(" " + code)
        assert length == len(right)
        return [right, right, [*right[:-1], 1]]

    monkeypatch.setattr(module, "_answers", answers)
    haystack = encode("And the waters prevailed. " * 60)
    variants = [Variant(parse("turbo4")), Variant(parse("turbo2"))]
    found = list(needle(tiny_llama, encode, haystack, [400, 500], [0, 50, 100], variants))
    assert [len(prompt) for prompt in prompts] == [400] * 3 + [500] * 3
    for prompt, depth in zip(prompts, (0, 50, 100) * 2, strict=True):
        place = prompt.split("the code of the ")[1].split()[0]
        assert prompt.endswith(QUESTION.format(place=place))
        before = prompt.index(" Remember")
        assert before == pytest.approx((len(prompt) - 130) * depth / 100, abs=20)
    assert {(r.scheme, r.found, r.reference_found) for r in found} == {("turbo4", True, True), ("turbo2", False, True)}
    rows = [{"model": "m"} | vars(recall) for recall in found]
    assert recalls(rows) == [
        {"model": "m", "scheme": "turbo4", "400": "3 of 3", "500": "3 of 3"},
        {"model": "m", "scheme": "turbo2", "400": "0 of 3", "500": "0 of 3"},
    ]


def test_needle_goes_through_the_caches(tiny_llama: Any) -> None:
    def encode(text: str) -> list[int]:
        return [ord(letter) % 512 for letter in text]

    haystack = encode("And the waters prevailed. " * 60)
    found = list(needle(tiny_llama, encode, haystack, [300], [50], [Variant(parse("none")), Variant(parse("turbo4"))]))
    assert [r.scheme for r in found] == ["none", "turbo4"]
    assert found[0].found == found[0].reference_found
    with pytest.raises(TurboQuantError, match="prompt of 3000 tokens"):
        list(needle(tiny_llama, encode, haystack, [3000], [50], []))
    with pytest.raises(TurboQuantError, match="per cent"):
        list(needle(tiny_llama, encode, haystack, [300], [101], []))
