"""The dropdown of schemes, closest first. What was measured here is bold; what is predicted is outlined, in italics.

How close a scheme stays to the uncompressed cache was measured before, on one model: the tooltip says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.events import SchemeOption
from app.ui.memory.scheme_list import SchemeList
from app.ui.shared import formats, theme
from app.ui.shared.painting import saved
from app.ui.shared.tones import DOT, paint_dot

OPTION_ROLE = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex
Source = Literal["measured", "predicted", "raw"]
GUTTER = 30  # for the tick, at the usual size of text
LIST_WIDTH = 356  # of the opened list, where the window is that wide
CLOSE, NEAR = 0.005, 0.03  # nats a token: up to these a dot is green, amber


class SchemePicker(QComboBox):
    """`scheme_picked(name)` when the user has chosen. `set_measured` gives what the current one saves."""

    scheme_picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("KV cache scheme"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click or the wheel leaves the caret in the text
        self._current = ""
        self._measured = 0.0
        self._raw = False
        self._sizes: Mapping[str, int] = {}
        self._list = SchemeList(self.model(), _Delegate(self), self)
        self._list.chosen.connect(self.on_activated)
        self._list.closed.connect(self.on_list_closed)
        self.activated.connect(self.on_activated)
        theme.theme().changed.connect(self.on_theme_changed)

    def set_options(self, options: Sequence[SchemeOption]) -> None:
        self.clear()
        for option in sorted(options, key=_closest_first):
            self.addItem(option.name, option)
        self._describe_rows()
        self.set_current(self._current)

    def _describe_rows(self) -> None:
        """Their tooltips, and what a screen reader says of them."""
        for row in range(self.count()):
            option = self.itemData(row)
            words = self.explain(option)
            self.setItemData(row, formats.tip(words), Qt.ItemDataRole.ToolTipRole)
            heard = (option.name, self.takes(option), self.predicted(option), words)
            self.setItemData(row, ". ".join(part for part in heard if part), Qt.ItemDataRole.AccessibleTextRole)

    def set_current(self, name: str) -> None:
        self._current = name
        self.setCurrentIndex(self.findText(name))
        option = self.currentData(OPTION_ROLE)
        self.setToolTip(formats.tip(self.explain(option)) if isinstance(option, SchemeOption) else "")
        self.update()

    def set_measured(self, ratio: float, raw: bool = False, sizes: Mapping[str, int] | None = None) -> None:
        """fp16 bytes over measured bytes of the current scheme; 0: nothing is cached yet. `raw`: none of it is packed
        yet. `sizes`: the bytes that this conversation takes with each scheme.
        """
        self._measured, self._raw, self._sizes = ratio, raw, sizes or {}
        self.update()
        self._list.update()

    def takes(self, option: SchemeOption) -> str:
        """What this conversation takes with it at its present length; empty where that isn't known."""
        size_bytes = self._sizes.get(option.name, 0)
        return self.tr("now {0}").format(formats.data_size(size_bytes)) if size_bytes else ""

    def saving(self, option: SchemeOption) -> tuple[str, Source]:
        """(what the current scheme saves here in words, where that comes from)."""
        if self._raw:
            return self.tr("still uncompressed"), "raw"
        if self._measured:
            return self.tr("{0} measured").format(formats.ratio(self._measured)), "measured"
        return self.predicted(option), "predicted"

    def predicted(self, option: SchemeOption) -> str:
        """What a scheme comes to in a long conversation: what the list compares, the current one too."""
        return self.tr("{0} predicted").format(formats.ratio(option.ratio))

    def describe(self, option: SchemeOption) -> str:
        def part(bits: int) -> str:
            return self.tr("{0}-bit").format(bits) if bits else "fp16"

        if option.key_bits == option.value_bits:
            return self.tr("{0} keys and values").format(part(option.key_bits))
        return self.tr("{0} keys, {1} values").format(part(option.key_bits), part(option.value_bits))

    def remark(self, option: SchemeOption) -> str:
        """The line below a scheme's name: its widths, or the scheme that makes it needless."""
        better = self.better(option)
        if better is None:
            return self.describe(option)
        if better.ratio > option.ratio * 1.005:
            return self.tr("{0} is smaller and closer").format(better.name)
        return self.tr("{0} is as small and closer").format(better.name)

    def better(self, option: SchemeOption) -> SchemeOption | None:
        """A closer scheme of the list that is no larger, if there is one."""
        found = self.itemData(self.findText(option.fidelity.better)) if option.fidelity else None
        return found if isinstance(found, SchemeOption) else None

    def closeness(self, option: SchemeOption) -> tuple[str, str]:
        """(how far it is from the uncompressed cache in a word or two, a colour)."""
        colors = theme.colors()
        if option.fidelity is None:
            return self.tr("not measured"), ""
        kld = option.fidelity.kld
        color = colors.good if kld <= CLOSE else colors.warn if kld <= NEAR else colors.bad
        if not option.key_bits and not option.value_bits:
            return self.tr("exact"), color
        return self.tr("KL {0}").format(_divergence(kld)), color

    def explain(self, option: SchemeOption) -> str:
        """The tooltip: what the figures of a row mean and where they are from."""
        said = self.describe(option)
        if self._sizes and option.name != "none":
            said += "\n\n" + self.tr(
                "This conversation takes {0} with it at its present length. What is predicted is what a long one comes "
                "to: the first and the newest tokens stay uncompressed."
            ).format(formats.data_size(self._sizes.get(option.name, 0)))
        found = option.fidelity
        if found is None:
            return said + "\n\n" + self.tr("How close it stays to the uncompressed cache wasn't measured.")
        if option.key_bits or option.value_bits:
            said += "\n\n" + self.tr(
                "KL divergence from the uncompressed cache {0}; the same likeliest next token {1} % of the time."
            ).format(_divergence(found.kld), formats.decimal(100 * found.top1, 1))
            said += "\n" + self.tr("Measured on {0}, {1} texts, {2} tokens, version {3}; other models differ.").format(
                found.model, found.texts, formats.count(found.tokens), found.version
            )
        if self.better(option):
            said += "\n" + self.remark(option) + "."
        return said

    def on_activated(self, row: int) -> None:
        """The present one too: choosing it takes back a switch that waits."""
        name = self.itemText(row)
        # The old one stays shown until the engine has switched.
        self.setCurrentIndex(self.findText(self._current))
        self.scheme_picked.emit(name)

    # ------------------------------------------------------------ the list

    def view(self) -> QAbstractItemView:
        return self._list.view

    def showPopup(self) -> None:
        self._describe_rows()
        self._list.open(self.findText(self._current))

    def hidePopup(self) -> None:
        self._list.close_list()

    def on_list_closed(self) -> None:
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # scrolling past must not rebuild a cache

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys open the list, where Enter chooses; a closed one would switch with each press."""
        if event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Escape) or event.modifiers():
            super().keyPressEvent(event)
        else:
            self.showPopup()

    def on_theme_changed(self) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(theme.font(1.08)).height() + 22)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colors = theme.colors()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            focus = self.hasFocus()
            painter.setPen(QColor(colors.accent if focus else colors.line))
            painter.setBrush(QColor(colors.hover if self.underMouse() else colors.background))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
            left = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            room = 18 + theme.sized(16)  # for the arrow
            area = self.rect().adjusted(room, 0, -13, 0) if left else self.rect().adjusted(13, 0, -room, 0)
            option = self.currentData(OPTION_ROLE)
            painter.setFont(theme.font(1.08, bold=True))
            painter.setPen(QColor(colors.text if self.isEnabled() else colors.muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, self._current)
            if isinstance(option, SchemeOption):
                paint_saving(painter, area, *self.saving(option))
            arrow, side = theme.icon("down", colors.muted), theme.sized(16)
            x = 12 if left else self.width() - 12 - side
            arrow.paint(painter, QRect(x, (self.height() - side) // 2, side, side))


def _divergence(kld: float) -> str:
    if kld < 0.00005:
        return "< " + formats.decimal(0.0001, 4)
    return formats.decimal(kld, 4 if kld < 0.01 else 3)


def _closest_first(option: SchemeOption) -> tuple[bool, float, float]:
    """What wasn't measured comes last; what is equally close, the larger first."""
    return option.fidelity is None, option.fidelity.kld if option.fidelity else 0.0, option.ratio


def paint_closeness(painter: QPainter, area: QRect, text: str, color: str) -> int:
    """A dot and a few words at the lower trailing corner; returns the width that they take."""
    font = theme.font(theme.SMALL)
    width = QFontMetrics(font).horizontalAdvance(text)
    painter.setFont(font)
    painter.setPen(QColor(theme.colors().muted))
    painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignTrailing, text)
    if not color:
        return width
    mirrored, dot = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft, theme.sized(DOT)
    x = area.left() + width + 5 if mirrored else area.right() - width - dot - 4
    paint_dot(painter, x, area.bottom() - QFontMetrics(font).height() / 2 + 1, color)
    return width + dot + 5


def paint_saving(painter: QPainter, area: QRect, text: str, source: Source) -> int:
    """Measured: bold. Predicted: italic in an outline. Still raw: small and quiet. Returns the width that it takes."""
    colors = theme.colors()
    align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignTrailing
    if source != "predicted":
        measured = source == "measured"
        painter.setFont(theme.font(0.95, bold=True) if measured else theme.font(theme.SMALL))
        painter.setPen(QColor(colors.text if measured else colors.muted))
        painter.drawText(area, align, text)
        return painter.fontMetrics().horizontalAdvance(text)
    font = theme.font(theme.SMALL, italic=True)
    metrics = QFontMetrics(font)
    width, height = metrics.horizontalAdvance(text) + 16, metrics.height() + 6
    mirrored = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
    left = area.left() if mirrored else area.right() - width + 1
    pill = QRectF(left + 0.5, area.center().y() - height / 2 + 0.5, width - 1, height - 1)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QColor(colors.line))
    painter.drawRoundedRect(pill, height / 2, height / 2)
    painter.setFont(font)
    painter.setPen(QColor(colors.muted))
    painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)
    return width


class _Delegate(QStyledItemDelegate):
    def __init__(self, picker: SchemePicker) -> None:
        super().__init__(picker)
        self._picker = picker

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        height = QFontMetrics(theme.font()).height() + QFontMetrics(theme.font(theme.SMALL)).height()
        return QSize(theme.at_scale(LIST_WIDTH), height + 16)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        scheme = index.data(OPTION_ROLE)
        assert isinstance(scheme, SchemeOption)
        colors = theme.colors()
        with saved(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            rect: QRect = option.rect  # type: ignore[attr-defined]  # the stubs lack it
            state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
            active = state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
            painter.fillRect(rect, QColor(colors.background))
            if active:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(colors.selected))
                painter.drawRoundedRect(QRectF(rect).adjusted(0, 1, 0, -1), 6, 6)
            mirrored = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
            gutter = theme.sized(GUTTER)
            area = rect.adjusted(10, 6, -gutter, -6) if mirrored else rect.adjusted(gutter, 6, -10, -6)
            lead = Qt.AlignmentFlag.AlignLeading
            current = scheme.name == self._picker.currentText()
            painter.setFont(theme.font(bold=current))
            painter.setPen(QColor(colors.text if current or not self._picker.better(scheme) else colors.muted))
            painter.drawText(area, lead | Qt.AlignmentFlag.AlignTop, scheme.name)
            taken = paint_closeness(painter, area, *self._picker.closeness(scheme))
            painter.setFont(theme.font(theme.SMALL))
            painter.setPen(QColor(colors.muted))
            room = area.width() - taken - 8
            remark = painter.fontMetrics().elidedText(self._picker.remark(scheme), Qt.TextElideMode.ElideRight, room)
            painter.drawText(area, lead | Qt.AlignmentFlag.AlignBottom, remark)
            first_line = QRect(area.x(), area.y(), area.width(), QFontMetrics(theme.font()).height())
            taken = paint_saving(painter, first_line, self._picker.predicted(scheme), "predicted") + 8
            painter.setFont(theme.font(theme.SMALL, bold=current, italic=not current))
            painter.setPen(QColor(colors.text if current else colors.muted))
            beside = first_line.adjusted(taken, 0, 0, 0) if mirrored else first_line.adjusted(0, 0, -taken, 0)
            trail = Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(beside, trail, self._picker.takes(scheme))
            if current:
                side = theme.sized(16)
                x = rect.right() - 7 - side if mirrored else rect.left() + 8
                tick = QRect(x, area.center().y() - side // 2, side, side)
                theme.icon("check", colors.accent).paint(painter, tick)
