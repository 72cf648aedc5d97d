"""The chart's numbers, and that its labels keep clear of its lines."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui.memory.chart_data import History, Marker, Point, axis_end, nice_step, spread, ticks
from app.ui.memory.memory_chart import MemoryChart
from app.ui.shared import formats, theme


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


def test_changes_at_one_count_are_one_marker() -> None:
    changes = [
        Marker(9, "a", "b", 4, 3, "encoded"),
        Marker(9, "b", "c", 3, 2, "encoded"),
        Marker(12, "c", "a", 2, 4, ""),
    ]
    assert History(markers=changes).marker_groups() == [changes[:2], changes[2:]]


def test_a_cache_that_was_cut_back_cuts_the_curve() -> None:
    history = History([Point(100, 10, "turbo4"), Point(200, 20, "turbo4")], [Marker(200, "a", "b", 2, 1, "encoded")])
    history.add(Point(150, 15, "turbo4"))
    assert [p.tokens for p in history.points] == [100, 150]
    assert history.markers == []


def test_of_stored_changes_those_are_marked_that_the_curve_makes() -> None:
    points = [Point(t, t, "turbo4") for t in (0, 128, 300)] + [Point(t, t, "turbo2") for t in (300, 400, 500)]
    real = Marker(300, "turbo4", "turbo2", 3, 2, "requantised")
    at_end = Marker(500, "turbo2", "turbo3", 3, 2, "requantised")
    of_another = [Marker(300, "turbo3", "turbo2", 3, 2, ""), Marker(450, "turbo4", "turbo2", 3, 2, "")]
    history = History(points)
    history.add_stored([real, *of_another, at_end])
    assert history.markers == [real, at_end]


def test_changes_at_one_count_are_named_in_their_order(qtbot: QtBot) -> None:
    chart = MemoryChart()
    qtbot.addWidget(chart)
    steps = [("turbo4", "turbo0v4", 3, 6), ("turbo0v4", "turbo2", 6, 2), ("turbo2", "turbo3", 2, 4)]
    group = [Marker(9, *names, *(1_000_000 * size for size in sizes), "rebuilt") for *names, sizes in
             ((a, b, (c, d)) for a, b, c, d in steps)]  # fmt: skip
    assert chart._marker_words(group[:1]) == ("turbo4 → turbo0v4", "3.0 MB → 6.0 MB")
    assert chart._marker_words(group[:2]) == ("turbo4 → turbo0v4 → turbo2", "3.0 MB → 6.0 MB → 2.0 MB")
    assert chart._marker_words(group) == ("turbo4 → … → turbo3", "3.0 MB → … → 4.0 MB")


def test_a_prompt_whose_first_token_is_awaited_has_no_scale(qtbot: QtBot) -> None:
    chart = MemoryChart()
    qtbot.addWidget(chart)
    chart.resize(304, 268)
    chart.show_history(History([Point(0, 0, "turbo4")], curves={"turbo4": ((0, 0), (100, 1000))}), "turbo4")
    image, accent = chart.grab().toImage(), QColor(theme.colors().accent)
    plot = chart._scale().plot.toRect()
    assert not any(
        image.pixelColor(x, y) == accent for x in range(plot.left(), plot.right()) for y in range(plot.bottom())
    )


def test_what_if_lines_come_from_predictions_only() -> None:
    point = Point(1000, 10, "turbo4", 100, (("turbo2", 5_000),))
    history = History([point], curves={"turbo2": ((0, 0), (68, 680), (168, 880))})
    assert history.forecast("turbo2", 0, 1068) == [(0, 0), (68, 680), (168, 880), (1068, 2680)], "bends at 68"
    assert history.forecast("turbo2", 100, 268) == [(100, 744), (168, 880), (268, 1080)]
    assert history.predicted(point, "turbo2") == 5_000
    assert history.predicted(Point(68, 1, "turbo4"), "turbo2") == 680, "of a point without predictions of its own"
    assert history.forecast("turbo3", 0, 100) == []
    assert history.predicted(point, "turbo3") == 0


def test_the_raw_stretch_is_told_from_the_rest() -> None:
    points = [Point(500, 5_000, "turbo4"), Point(700, 7_010, "turbo4"), Point(710, 2_000, "turbo4", 7_100)]
    history = History(points)
    assert [history.is_raw(point) for point in points] == [True, True, False]
    assert not history.is_raw(Point(500, 5_000, "none"))
    assert not History(points[:2]).is_raw(points[0]), "unknown without fp16's size"


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


@pytest.mark.parametrize("width", [200, 304, 420])
def test_the_readout_keeps_clear_of_its_point(qtbot: QtBot, width: int) -> None:
    chart = filled(qtbot)
    chart.resize(width, 268)
    plot = chart._scale().plot
    for x in range(int(plot.left()), int(plot.right()), 7):
        for y in (plot.top(), plot.center().y(), plot.bottom()):
            place = QPointF(x, y)
            box = chart._readout_box(place, 130, 120, plot)
            assert not box.contains(place)
            assert box.right() <= max(plot.right(), 131), "the lines' names stay free"


def test_the_raw_stretch_is_drawn_paler(qtbot: QtBot) -> None:
    chart = MemoryChart()
    qtbot.addWidget(chart)
    chart.resize(304, 268)
    points = [Point(t, t * (10_000 if t <= 700 else 3_000), "turbo4", t * 10_000) for t in range(10, 1400, 10)]
    chart.show_history(History(points), "turbo4")
    image, scale = chart.grab().toImage(), chart._scale()

    def blue(tokens: int, size: int) -> int:
        at = scale.at(tokens, size).toPoint()
        color = image.pixelColor(at)
        return color.blue() - color.red()

    assert blue(1200, 3_600_000) > blue(400, 4_000_000) + 40


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
