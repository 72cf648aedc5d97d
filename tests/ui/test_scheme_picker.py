"""The dropdown says how close each scheme was measured to be, and which ones no longer make sense."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.events import SchemeFidelity, SchemeOption
from app.ui.memory.scheme_picker import SchemePicker
from app.ui.shared import theme


def option(name: str, keys: int, values: int, ratio: float, kld: float | None, better: str = "") -> SchemeOption:
    found = None if kld is None else SchemeFidelity(kld, 0.912, 1536, 6, "Small <1B>", "0.1.0", better)
    return SchemeOption(name, keys, values, ratio, found)


OPTIONS = (
    option("turbo2", 2, 2, 7.1, 0.06),
    option("turbo8", 8, 8, 1.9, None),
    option("turbo4v2", 4, 2, 4.9, 0.016, "turbo3"),
    option("turbo3", 3, 3, 4.9, 0.0126),
    option("none", 0, 0, 1.0, 0.0),
    option("turbo0v4", 0, 4, 1.6, 0.0006, "turbo8v4"),
    option("turbo8v4", 8, 4, 2.6, 0.0004),
    option("turbo8v8", 8, 8, 1.94, 0.00001),
)


def filled(qapp: object) -> SchemePicker:
    picker = SchemePicker()
    picker.set_options(OPTIONS)
    return picker


def test_the_closest_come_first_and_what_was_not_measured_last(qapp: object) -> None:
    picker = filled(qapp)
    names = [picker.itemText(row) for row in range(picker.count())]
    assert names == ["none", "turbo8v8", "turbo8v4", "turbo0v4", "turbo3", "turbo4v2", "turbo2", "turbo8"]


def test_a_scheme_that_another_one_beats_says_which(qapp: object) -> None:
    picker = filled(qapp)
    remarks = {o.name: picker.remark(o) for o in OPTIONS}
    assert remarks["turbo0v4"] == "turbo8v4 is smaller and closer"
    assert remarks["turbo4v2"] == "turbo3 is as small and closer"
    assert remarks["turbo3"] == "3-bit keys and values"
    picker.set_options([o for o in OPTIONS if o.name != "turbo8v4"])
    assert picker.remark(OPTIONS[5]) == "fp16 keys, 4-bit values", "not offered here"


def test_words_and_colours_follow_the_measurement(qapp: object) -> None:
    picker = filled(qapp)
    colors = theme.colors()
    said = {o.name: picker.closeness(o) for o in OPTIONS}
    assert said == {
        "none": ("exact", colors.good),
        "turbo8v4": ("KL 0.0004", colors.good),
        "turbo8v8": ("KL < 0.0001", colors.good),
        "turbo0v4": ("KL 0.0006", colors.good),
        "turbo3": ("KL 0.013", colors.warn),
        "turbo4v2": ("KL 0.016", colors.warn),
        "turbo2": ("KL 0.060", colors.bad),
        "turbo8": ("not measured", ""),
    }


def test_the_tooltip_says_what_was_measured_on_what(qapp: object) -> None:
    picker = filled(qapp)
    said = {o.name: picker.explain(o) for o in OPTIONS}
    for part in ("KL divergence", "0.016", "91.2 %", "Small <1B>, 6 texts, 1,536 tokens, version 0.1.0", "turbo3"):
        assert part in said["turbo4v2"]
    assert "wasn't measured" in said["turbo8"]
    assert "KL" not in said["none"]
    picker.set_current("turbo4v2")
    assert "Small &lt;1B&gt;" in picker.toolTip()
    assert picker.toolTip() == picker.itemData(picker.findText("turbo4v2"), Qt.ItemDataRole.ToolTipRole)


def test_the_dots_are_painted(qapp: object) -> None:
    picker = filled(qapp)
    window = QWidget()
    window.resize(330, 560)
    picker.setParent(window)
    picker.resize(300, 40)
    picker.set_current("none")
    window.show()
    picker.showPopup()
    image = picker.view().viewport().grab().toImage()
    picker.hidePopup()
    seen = {image.pixel(x, y) & 0xFFFFFF for x in range(image.width()) for y in range(image.height())}
    colors = theme.colors()
    assert {int(color[1:], 16) for color in (colors.good, colors.warn, colors.bad)} <= seen
