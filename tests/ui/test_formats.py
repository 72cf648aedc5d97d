"""Sizes, times and counts as people read them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.shared import formats, theme


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (44.4, "44 s"), (59.6, "1 min"), (90, "2 min"), (3600, "1 h 0 min"), (4830, "1 h 20 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(512, "512"), (4096, "4k"), (40_960, "40k"), (131_072, "128k"), (1 << 20, "1M"), (32_767, "32,767")],
)
def test_context_lengths(tokens: int, text: str) -> None:
    assert formats.tokens(tokens) == text


@pytest.mark.parametrize(
    ("count", "text"), [(812, "812"), (3449, "3.4k"), (12_345, "12k"), (1_200_000, "1.2M"), (4_022_000_000, "4.0B")]
)
def test_rough_counts(count: int, text: str) -> None:
    assert formats.about(count) == text


def test_a_day_and_a_speed() -> None:
    assert formats.day(1_790_000_000) == "21 Sep 2026"
    assert formats.speed(23_400_000) == "23.4 MB/s"


def test_the_number_that_tells_two_titles_apart_stays(qapp: object) -> None:
    title, metrics = "A long story about a lighthouse (12)", QFontMetrics(theme.font())
    assert formats.short(title, 20) == "A long story a… (12)"
    assert formats.short("A long story about a lighthouse", 13) == "A long story…"
    assert formats.elided(title, metrics, 10_000) == title
    narrow = formats.elided(title, metrics, metrics.horizontalAdvance(title) - 20)
    assert narrow.startswith("A long story")
    assert narrow.endswith("… (12)")
    assert metrics.horizontalAdvance(narrow) <= metrics.horizontalAdvance(title) - 20


def test_figures_keep_their_order_from_right_to_left(qtbot: QtBot) -> None:
    assert formats.isolated("4-bit · 2.3 GB") == "4-bit · 2.3 GB"
    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        assert formats.isolated("4-bit · 2.3 GB") == "\u200e4-bit · 2.3 GB\u200e"
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
