"""The chart's numbers, and that its labels keep clear of its lines."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui import formats
from app.ui.chart_data import History, Marker, Point, axis_end, distinct, nice_step, spread, ticks
from app.ui.memory_chart import MemoryChart


@given(st.floats(1e-3, 1e12), st.integers(1, 8))
def test_ticks_are_round_and_few(top: float, most: int) -> None:
    found = ticks(top, most)
    assert found[0] == 0
    assert len(found) <= most + 1
    assert found[-1] <= top * (1 + 1e-9)
    mantissa = float(f"{nice_step(top, most):e}".split("e")[0])
    assert mantissa in (1, 2, 2.5, 5)


@given(st.integers(0, 2_000_000))
def test_the_axis_ends_behind_the_last_token(tokens: int) -> None:
    assert tokens * 1.05 <= axis_end(tokens) <= max(tokens * 1.36, 160)


@given(st.lists(st.floats(0, 200), max_size=8))
def test_labels_never_overlap(wanted: list[float]) -> None:
    placed = spread(sorted(wanted), 12, 0, 200)
    assert len(placed) == len(wanted)
    assert all(b - a >= 12 - 1e-9 for a, b in pairwise(placed))
    assert all(-1e-9 <= y <= 200 for y in placed)


def test_close_lines_are_left_out() -> None:
    assert distinct([("a", 10), ("b", 12), ("c", 40), ("d", 90)], [88.0], 5, 4) == ["a", "c"]


def test_a_cache_that_was_cut_back_cuts_the_curve() -> None:
    history = History([Point(100, 10, "turbo4"), Point(200, 20, "turbo4")], [Marker(200, "a", "b", 2, 1, "encoded")])
    history.add(Point(150, 15, "turbo4"))
    assert [p.tokens for p in history.points] == [100, 150]
    assert history.markers == []


def test_what_if_lines_come_from_predictions_only() -> None:
    history = History([Point(1000, 10, "turbo4", 100, (("turbo2", 5_000), ("turbo4", 9_000)))])
    assert history.what_if("turbo2") == pytest.approx(5.0)
    assert history.what_if("turbo3") == 0
    assert History([Point(1000, 10, "turbo4")]).what_if("turbo2") == 0


def filled(qtbot: QtBot) -> MemoryChart:
    chart = MemoryChart()
    qtbot.addWidget(chart)
    chart.resize(304, 268)
    points = [
        Point(t, t * (6_000 if t < 1000 else 3_000), "turbo4" if t < 1000 else "turbo2", t * 23_040,
              (("none", t * 23_040), ("turbo4", t * 6_000), ("turbo2", t * 3_000)))
        for t in range(50, 2000, 50)
    ]  # fmt: skip
    chart.show_history(History(points, [Marker(1000, "turbo4", "turbo2", 6_000_000, 3_000_000, "encoded")]), "turbo2")
    chart.show()
    return chart


def test_hovering_reads_the_nearest_measured_point(qtbot: QtBot) -> None:
    chart = filled(qtbot)
    place = QPointF(chart._scale().x(1012), 100)
    button = Qt.MouseButton.NoButton
    chart.mouseMoveEvent(
        QMouseEvent(QEvent.Type.MouseMove, place, place, button, button, Qt.KeyboardModifier.NoModifier)
    )
    assert chart.hovered is not None
    assert chart.hovered.tokens == 1000
    chart.grab()
    chart.leaveEvent(QEvent(QEvent.Type.Leave))
    assert chart.hovered is None


def test_the_arrow_keys_read_values_too(qtbot: QtBot) -> None:
    chart = filled(qtbot)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.hovered is not None
    assert chart.hovered.tokens == 1850
    assert formats.data_size(chart.history.points[-1].used_bytes) in chart.accessibleDescription()


def test_names_stand_right_of_the_plot_where_no_line_runs(qtbot: QtBot) -> None:
    chart = filled(qtbot)
    image = chart.grab().toImage()
    scale = chart._scale()
    # Between the plot's edge and the names there is a gap that only leaders to moved names cross.
    assert scale.plot.right() + 9 < chart.width()
    assert image.width() == chart.width()
    assert scale.x(scale.end_tokens) == pytest.approx(scale.plot.right())


@pytest.mark.parametrize("points", [[], [Point(1, 0, "none")], [Point(1, 1, "none")], [Point(10**6, 10**12, "turbo4")]])
def test_any_history_can_be_drawn(qtbot: QtBot, points: list[Point]) -> None:
    chart = MemoryChart()
    qtbot.addWidget(chart)
    chart.resize(304, 268)
    chart.show_history(History(points), "turbo4")
    assert not chart.grab().isNull()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (812, "812 B"), (999_600, "1.0 MB"), (9_600_000, "9.6 MB"), (44_100_000, "44.1 MB"),
     (235_000_000, "235 MB"), (999_960_000, "1.00 GB"), (2_310_000_000, "2.31 GB"), (23_100_000_000, "23.1 GB")],
)  # fmt: skip
def test_bytes_for_people(size: int, text: str) -> None:
    assert formats.data_size(size) == text


def test_other_numbers_for_people() -> None:
    assert formats.count(1_234_567) == "1,234,567"
    assert formats.rate(42.34) == "42.3 tok/s"
    assert formats.rate(123.4) == "123 tok/s"
    assert formats.seconds(0.214) == "0.21 s"
    assert formats.plain(2.5) == "2.5"
    assert formats.plain(1500.0) == "1,500"
