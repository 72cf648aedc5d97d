"""The live chart: measured bytes of a conversation's cache against its tokens.

Solid accent: measured, paler while everything is still raw. Dashed: what other schemes would take. Grey: fp16, the
ceiling. Lines end at the plot's right edge and are named beside it, switches are named above it, so that no label
crosses a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.memory.chart_data import BASELINE, COMPARED, SHORT_TOKENS, History, Marker, Point, axis_end, spread, ticks
from app.ui.shared import formats, theme

LABEL_SCALE = 0.8
HEIGHT = 272


@dataclass(frozen=True)
class _Scale:
    """From tokens and bytes to the plot's pixels."""

    plot: QRectF
    end_tokens: int
    end_bytes: float

    def x(self, tokens: float) -> float:
        return self.plot.left() + self.plot.width() * tokens / self.end_tokens

    def y(self, size_bytes: float) -> float:
        return self.plot.bottom() - self.plot.height() * size_bytes / self.end_bytes

    def at(self, tokens: float, size_bytes: float) -> QPointF:
        return QPointF(self.x(tokens), self.y(size_bytes))

    def tokens(self, x: float) -> float:
        return (x - self.plot.left()) / self.plot.width() * self.end_tokens


class MemoryChart(QWidget):
    """Draws a `History`; hover, or the arrow keys, read its values."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Memory of this conversation"))
        self.history = History()
        self._scheme = ""
        self._held = False
        self._hover: Point | None = None
        theme.theme().changed.connect(self.on_theme_changed)

    def sizeHint(self) -> QSize:
        return QSize(300, theme.at_scale(HEIGHT))

    def on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    # ------------------------------------------------------------ content

    def show_history(self, history: History, scheme: str, held: bool = True) -> None:
        """`held`: what was measured last is there still; else the curve has no end that stands for now."""
        self.history = history
        self._scheme, self._held = scheme, held
        self._hover = None
        self._show()

    def set_scheme(self, scheme: str) -> None:
        self._scheme = scheme
        self.update()

    def refresh(self) -> None:
        """The history has grown."""
        self._held = True
        self._show()

    def _show(self) -> None:
        last = self.history.points[-1] if self.history.points else None
        if last:
            self.setAccessibleDescription(
                self.tr("{0} measured at {1} tokens with {2}; {3} uncompressed").format(
                    formats.data_size(last.used_bytes), formats.count(last.tokens), last.scheme,
                    formats.data_size(last.fp16_bytes),
                )
            )  # fmt: skip
        self.update()

    # ------------------------------------------------------------ reading values

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover = self.history.nearest(self._scale().tokens(event.position().x()))
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = None
        self.update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        points = self.history.points
        if step is None or not points:
            super().keyPressEvent(event)
            return
        place = points.index(self._hover) if self._hover in points else len(points) - 1
        self._hover = points[max(0, min(place + step, len(points) - 1))]
        self.update()

    @property
    def hovered(self) -> Point | None:
        return self._hover

    # ------------------------------------------------------------ painting

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(theme.font(LABEL_SCALE))

    def _scale(self) -> _Scale:
        metrics = self._metrics()
        left = metrics.horizontalAdvance("000") + 8
        right = QFontMetricsF(theme.font(LABEL_SCALE, bold=True)).horizontalAdvance("turbo4v2") + 13
        top = metrics.height() + 6 + (2 * metrics.height() + 8 if self.history.markers else 0)
        bottom = 2 * metrics.height() + 14
        plot = QRectF(left, top, self.width() - left - right, self.height() - top - bottom)
        end = axis_end(max((p.tokens for p in self.history.points), default=0))
        highest = max((p.used_bytes for p in self.history.points), default=0)
        return _Scale(plot, end, max(self.history.fp16_per_token() * end, highest * 1.05, 1.0))

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            painter.setFont(theme.font(LABEL_SCALE))
            scale = self._scale()
            self._paint_axes(painter, scale)
            if not self.history.last_tokens():
                if not self.history.points:  # else its first token is awaited
                    painter.setPen(QColor(theme.colors().muted))
                    painter.drawText(scale.plot, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap,
                                     self.tr("The curve begins with the first message."))  # fmt: skip
                return
            self._paint_lines(painter, scale)
            self._paint_markers(painter, scale)
            self._paint_measured(painter, scale)
            if self._hover is not None:
                self._paint_readout(painter, scale, self._hover)
            elif self.hasFocus():
                painter.setPen(QPen(QColor(theme.colors().accent), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _paint_axes(self, painter: QPainter, scale: _Scale) -> None:
        colors, metrics, plot = theme.colors(), self._metrics(), scale.plot
        line, text = QColor(colors.line), QColor(colors.muted)
        known = self.history.last_tokens() > 0
        divisor, unit = formats.bytes_unit(scale.end_bytes) if known else (1e6, "MB")
        height = metrics.height()
        for value in ticks(scale.end_bytes / divisor, 5) if known else [0.0]:
            y = round(scale.y(value * divisor)) + 0.5
            painter.setPen(QPen(line, 1, Qt.PenStyle.SolidLine if value == 0 else Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(text)
            box = QRectF(0, y - height / 2, plot.left() - 7, height)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, formats.plain(value))
        painter.drawText(QRectF(0, plot.top() - height - 5, plot.left() - 7, height), Qt.AlignmentFlag.AlignRight, unit)
        painter.setPen(QPen(line, 1))
        x = round(plot.left()) + 0.5
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        painter.setPen(text)
        for value in ticks(scale.end_tokens, 4, whole=True):
            words = formats.count(int(value))
            width = metrics.horizontalAdvance(words)
            left = scale.x(value) - width / 2
            painter.drawText(QPointF(left, plot.bottom() + height + 2), words)
        row = QRectF(plot.left(), plot.bottom() + height + 2 - metrics.ascent(), self.width() - plot.left() - 4, height)
        painter.drawText(row, Qt.AlignmentFlag.AlignRight, self.tr("tokens"))
        self._paint_legend(painter, QPointF(plot.left(), plot.bottom() + 2 * height + 5))

    def _paint_legend(self, painter: QPainter, place: QPointF) -> None:
        """What solid and dashed lines are."""
        colors, metrics = theme.colors(), self._metrics()
        solid, dashed = QPen(QColor(colors.accent), 2.2), QPen(QColor(colors.what_if), 1.2)
        dashed.setDashPattern([4, 3])
        x, length = place.x(), 1.6 * metrics.height()
        for pen, words in ((solid, self.tr("measured")), (dashed, self.tr("predicted"))):
            middle = place.y() - metrics.xHeight() / 2
            painter.setPen(pen)
            painter.drawLine(QPointF(x, middle), QPointF(x + length, middle))
            painter.setPen(QColor(colors.muted))
            painter.drawText(QPointF(x + length + 6, place.y()), words)
            x += length + metrics.horizontalAdvance(words) + 20

    def _paint_lines(self, painter: QPainter, scale: _Scale) -> None:
        """fp16, the what-if lines, and all their names in the column at the right."""
        colors = theme.colors()
        names: list[tuple[float, str, str, bool]] = []
        per_token = self.history.fp16_per_token()
        if per_token:
            painter.setPen(QPen(QColor(colors.ceiling), 1.4))
            painter.drawLine(scale.at(0, 0), scale.at(scale.end_tokens, per_token * scale.end_tokens))
            names.append((scale.y(per_token * scale.end_tokens), "fp16", colors.muted, False))
        last = self.history.points[-1]
        for scheme in self._drawn():
            current = scheme == self._scheme
            goes_on = current and self._held
            line = self.history.forecast(scheme, last.tokens if goes_on else 0, scale.end_tokens)
            if not line:
                continue
            if goes_on:
                line[0] = (last.tokens, last.used_bytes)
            pen = QPen(QColor(colors.accent if current else colors.what_if), 1.2)
            pen.setDashPattern([4, 3])
            places = [scale.at(*knot) for knot in line]
            self._polyline(painter, pen, places)
            names.append((places[-1].y(), scheme, colors.accent if current else colors.muted, current))
        self._paint_names(painter, scale, sorted(names))

    def _drawn(self) -> list[str]:
        """The schemes with a predicted line: always the same ones, and the conversation's own."""
        own = [] if self._scheme in (*COMPARED, BASELINE) else [self._scheme]
        return [*COMPARED, *own]

    def _paint_names(self, painter: QPainter, scale: _Scale, names: Sequence[tuple[float, str, str, bool]]) -> None:
        metrics, plot = self._metrics(), scale.plot
        height = metrics.height()
        middles = spread([n[0] for n in names], height, plot.top(), plot.bottom() - height / 2 + 2)
        for (end, name, color, bold), middle in zip(names, middles, strict=True):
            if abs(end - middle) > 1.5:
                painter.setPen(QPen(QColor(theme.colors().line), 1))
                painter.drawLine(QPointF(plot.right() + 1, end), QPointF(plot.right() + 8, middle))
            painter.setFont(theme.font(LABEL_SCALE, bold=bold))
            painter.setPen(QColor(color))
            box = QRectF(plot.right() + 10, middle - height / 2, self.width() - plot.right() - 10, height)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, metrics.elidedText(
                name, Qt.TextElideMode.ElideRight, box.width() + 6))  # fmt: skip
        painter.setFont(theme.font(LABEL_SCALE))

    def _paint_markers(self, painter: QPainter, scale: _Scale) -> None:
        """A tick for each; names above it from the newest back, where there is room: hovering tells the others."""
        colors, metrics = theme.colors(), self._metrics()
        height, free_right = metrics.height(), float(self.width())
        for group in reversed(self.history.marker_groups()):
            x = round(scale.x(group[0].tokens)) + 0.5
            upper = min(scale.y(max(m.bytes_before, m.bytes_after)) for m in group)
            painter.setPen(QPen(QColor(colors.line), 1))
            painter.drawLine(QPointF(x, scale.plot.top() - 3), QPointF(x, upper))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.accent))
            top = scale.plot.top() - 3
            painter.drawPolygon(QPolygonF([QPointF(x - 3.5, top - 5), QPointF(x + 3.5, top - 5), QPointF(x, top)]))
            names, sizes = self._marker_words(group)
            width = max(metrics.horizontalAdvance(names), metrics.horizontalAdvance(sizes)) + 4
            left = max(0.0, min(x - width / 2, self.width() - width))
            if left + width > free_right:
                continue
            free_right = left - 10
            box = QRectF(left, top - 11 - 2 * height, width, height)
            painter.setPen(QColor(colors.muted))
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, names)
            painter.setPen(QColor(colors.text))
            painter.drawText(box.translated(0, height - 1), Qt.AlignmentFlag.AlignHCenter, sizes)

    def _marker_words(self, group: Sequence[Marker]) -> tuple[str, str]:
        """The schemes and the sizes that one change, or several at one count, go through."""
        schemes = [group[0].from_scheme, *(marker.to_scheme for marker in group)]
        sizes = [formats.data_size(size) for size in (group[0].bytes_before, *(m.bytes_after for m in group))]
        if len(group) > 2:  # more than there is room for
            schemes, sizes = ([row[0], "…", row[-1]] for row in (schemes, sizes))
        return " → ".join(schemes), " → ".join(sizes)

    def _paint_measured(self, painter: QPainter, scale: _Scale) -> None:
        colors = theme.colors()
        accent = QColor(colors.accent)
        solid = QPen(accent, 2.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
        raw, dotted = QPen(solid), QPen(accent, 1.6, Qt.PenStyle.DotLine)
        pale = QColor(accent)
        pale.setAlphaF(0.45)
        raw.setColor(pale)
        line, pen = [scale.at(0, 0)], solid
        previous: Point | None = None
        for point in self.history.points:
            switched = previous is not None and previous.scheme != point.scheme and previous.tokens == point.tokens
            wanted = dotted if switched else raw if self.history.is_raw(point) else solid
            if wanted is not pen:
                self._polyline(painter, pen, line)
                line, pen = [line[-1]], wanted
            line.append(scale.at(point.tokens, point.used_bytes))
            previous = point
        self._polyline(painter, pen, line)
        if not self._held:
            return
        painter.setPen(QPen(QColor(colors.panel), 2))
        painter.setBrush(accent)
        radius = 4.6 * theme.theme().scale
        painter.drawEllipse(line[-1], radius, radius)

    def _polyline(self, painter: QPainter, pen: QPen, places: list[QPointF]) -> None:
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(places))

    def _paint_readout(self, painter: QPainter, scale: _Scale, point: Point) -> None:
        colors, metrics, plot = theme.colors(), self._metrics(), scale.plot
        place = scale.at(point.tokens, point.used_bytes)
        painter.setPen(QPen(QColor(colors.muted), 1))
        painter.drawLine(QPointF(place.x(), plot.top()), QPointF(place.x(), plot.bottom()))
        painter.setBrush(QColor(colors.panel))
        painter.setPen(QPen(QColor(colors.accent), 2))
        painter.drawEllipse(place, 4, 4)
        rows = [(point.scheme, formats.data_size(point.used_bytes), True)]
        fp16 = point.fp16_bytes or self.history.fp16_per_token() * point.tokens
        if fp16:
            rows.append(("fp16", formats.data_size(fp16), False))
        others = [(self.history.predicted(point, name), name) for name in self._drawn() if name != point.scheme]
        rows += [(name, formats.data_size(size), False) for size, name in sorted(others, reverse=True) if size]
        heads = [self.tr("{0} tokens", "", point.tokens).format(formats.count(point.tokens))]
        if self.history.is_raw(point):
            reading = point.tokens >= SHORT_TOKENS
            heads.append(
                self.tr("uncompressed while the prompt is read")
                if reading
                else self.tr("all tokens still uncompressed")
            )
        for change in self.history.markers:
            if abs(scale.x(change.tokens) - place.x()) < 5:
                heads += self._marker_words([change])
        column = max(metrics.horizontalAdvance(row[0]) for row in rows) + 14
        sizes = max(metrics.horizontalAdvance(row[1]) for row in rows) + 4
        width = max(column + sizes, *(metrics.horizontalAdvance(head) for head in heads)) + 18
        height = metrics.height() * (len(rows) + len(heads)) + 16
        box = self._readout_box(place, width, height, plot)
        painter.setPen(QPen(QColor(colors.line), 1))
        painter.setBrush(QColor(colors.background))
        painter.drawRoundedRect(box, 6, 6)
        y = box.top() + 6 + metrics.ascent()
        painter.setPen(QColor(colors.muted))
        for head in heads:
            painter.drawText(QPointF(box.left() + 9, y), head)
            y += metrics.height()
        y += 3
        for name, size, measured in rows:
            predicted = not measured and name != "fp16"
            painter.setFont(theme.font(LABEL_SCALE, bold=measured, italic=predicted))
            painter.setPen(QColor(colors.text if measured else colors.muted))
            painter.drawText(QPointF(box.left() + 9, y), name)
            across = QRectF(box.left(), y - metrics.ascent(), width - 9, metrics.height())
            painter.drawText(across, Qt.AlignmentFlag.AlignRight, size)
            y += metrics.height()
        painter.setFont(theme.font(LABEL_SCALE))

    def _readout_box(self, place: QPointF, width: float, height: float, plot: QRectF) -> QRectF:
        """Beside the point read, right or left; above or below it without room. The lines' names stay free."""
        top = max(0.0, min(plot.top(), self.height() - height - 1))
        end = plot.right() if width <= plot.right() else self.width()
        for left in (place.x() + 12, place.x() - 12 - width):
            if 0 <= left <= end - width:
                return QRectF(left, top, width, height)
        left = max(0.0, min(place.x() - width / 2, end - width))
        above = place.y() - 12 - height
        return QRectF(left, above if above >= 0 else place.y() + 12, width, height)
