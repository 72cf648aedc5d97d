"""How close the real cache must stay to the uncompressed one: the starter model, through the decode path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest

from tests.evaluation_models import PAIRS, with_key_bias
from turboquant.evaluate import Evaluation, evaluate
from turboquant.needle import needle
from turboquant.schemes import parse
from turboquant.side_by_side import Variant

TEXTS = Path(__file__).parents[2] / "data" / "texts"
LIMITS = {
    "turbo0v4": 0.003,
    "turbo4": 0.004,
    "turbo4v3": 0.009,
    "turbo4v2": 0.03,
    "turbo3": 0.013,
    "turbo2": 0.06,
    "turbo0v2": 0.03,
}
COMPARED = ("turbo4", "turbo3", "turbo2")
PROMPT = 256


@pytest.fixture(scope="module")
def starter(starter_model_path: Path) -> Any:
    return mlx_lm.load(str(starter_model_path))


@pytest.fixture(scope="module")
def texts(starter: Any) -> dict[str, list[int]]:
    return {path.stem: starter[1].encode(path.read_text(encoding="utf-8")) for path in sorted(TEXTS.glob("*.txt"))}


def compared() -> list[Variant]:
    return [Variant(parse(name), calibrate) for name in COMPARED for calibrate in (True, False)]


def divergences(found: Sequence[Evaluation]) -> dict[tuple[str, bool], float]:
    """Means over the texts."""
    sums: dict[tuple[str, bool], list[float]] = {}
    for one in found:
        sums.setdefault((one.scheme, one.calibrate), []).append(one.kld)
    return {key: sum(values) / len(values) for key, values in sums.items()}


def test_the_first_packed_tokens_stay_close(starter: Any, texts: dict[str, list[int]]) -> None:
    """A short look in every run; the limits themselves are a slow test's."""
    variants = [Variant(parse(name)) for name in COMPARED]
    for one in evaluate(starter[0], [texts["genesis"]], PROMPT, 24, variants):
        assert one.kld < 2 * LIMITS[one.scheme]


@pytest.mark.slow
def test_genesis_stays_within_the_limits(starter: Any, texts: dict[str, list[int]]) -> None:
    variants = [Variant(parse(name)) for name in LIMITS]
    found = evaluate(starter[0], [texts["genesis"]], PROMPT, 256, variants)
    assert {one.scheme: one.kld for one in found if one.kld > LIMITS[one.scheme]} == {}
    for one in found:
        scheme, per_token = parse(one.scheme), one.kv_fp16_bytes / one.context
        packed = one.context - one.raw_tokens
        raw_keys = 0 if scheme.key_bits else per_token / 2 * packed
        assert one.packed_bytes == pytest.approx(per_token * packed / scheme.ratio(64) - raw_keys, rel=0.01)
        assert one.raw_bytes == pytest.approx(per_token * one.raw_tokens + raw_keys, rel=0.01)
        assert one.kv_used_bytes == one.packed_bytes + one.raw_bytes + one.statistics_bytes


@pytest.mark.long
def test_calibration_pays_on_every_text_whatever_the_prompt(starter: Any, texts: dict[str, list[int]]) -> None:
    """Each text behind its own beginning, and behind that of the next: one that says nothing of it.

    Over 192 tokens: the KL of fewer is changed by a third, up or down, by no more than another rotation of the keys.
    """
    names = list(texts)
    changed = [texts[a][:PROMPT] + texts[b][PROMPT:] for a, b in zip(names, names[1:] + names[:1], strict=True)]
    found = evaluate(starter[0], [*texts.values(), *changed], PROMPT, 192, compared())
    kld = {(one.text, one.scheme, one.calibrate): one.kld for one in found}
    worse = {
        (text, scheme): (kld[text, scheme, True], kld[text, scheme, False])
        for text in range(len(names) + len(changed))
        for scheme in COMPARED
        if kld[text, scheme, True] > 1.1 * kld[text, scheme, False]
    }
    assert worse == {}
    means = divergences(found)
    assert all(means[scheme, True] < 0.6 * means[scheme, False] for scheme in COMPARED)


@pytest.mark.long
def test_calibration_does_not_grow_stale(starter: Any, texts: dict[str, list[int]]) -> None:
    found = evaluate(starter[0], [texts["genesis"]], PROMPT, 0, compared(), contexts=[1536], last=128)
    kld = divergences(found)
    assert all(kld[scheme, True] <= kld[scheme, False] for scheme in COMPARED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pairs", [pytest.param(name, marks=() if name == "all" else pytest.mark.long) for name in PAIRS]
)
def test_a_large_key_bias_is_borne(pairs: str, starter: Any, texts: dict[str, list[int]]) -> None:
    ids = texts["genesis"]
    model = with_key_bias(starter[0], ids[:PROMPT], PAIRS[pairs])
    turbo4 = parse("turbo4")
    on, off = evaluate(model, [ids], PROMPT, 96, [Variant(turbo4), Variant(turbo4, calibrate=False)])
    assert on.kld <= 0.02
    assert off.kld > 10 * on.kld, "otherwise nothing was at stake"


@pytest.mark.parametrize(
    ("count", "copied", "last"),
    [pytest.param(60, 320, 128, marks=pytest.mark.slow), pytest.param(200, 1024, 192, marks=pytest.mark.long)],
)
def test_lines_are_copied_as_exactly_as_uncompressed(starter: Any, count: int, copied: int, last: int) -> None:
    """Lines of JSON that a model repeats: what a cache has lost shows in the copy, more so with length."""
    lines = [f'{{"id": {n * 7919 % 1000}, "name": "{name}"}}' for n in range(70) for name in ("Anna", "Ben", "Cleo")]
    ids = starter[1].encode("\n".join(lines[:count]) + "\n")
    variants = [Variant(parse(name)) for name in ("none", "turbo4", "turbo0v4")]
    found = evaluate(starter[0], [ids + ids], len(ids) + 64, 0, variants, contexts=[len(ids) + copied], last=last)
    none, *packed = found
    assert none.top1 == 1
    assert none.ppl < 1.3, "otherwise nothing is copied"
    for one in packed:
        assert one.ppl < 1.02 * none.ppl
        assert one.top1 > 0.97


@pytest.mark.slow
def test_code_words_are_recalled(starter: Any, texts: dict[str, list[int]]) -> None:
    def encode(text: str) -> list[int]:
        return list(starter[1].encode(text, add_special_tokens=False))

    variants = [Variant(parse(name)) for name in ("turbo4", "turbo0v4")]
    found = list(needle(starter[0], encode, texts["genesis"], [700], [20, 40, 60, 80], variants))
    assert sum(recall.reference_found for recall in found) >= 2, "otherwise nothing was asked"
    assert [recall for recall in found if recall.reference_found and not recall.found] == []
    mx.clear_cache()
