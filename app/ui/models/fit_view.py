"""What a model takes on this machine: a verdict in words, the memory there is, and a table of context and scheme.

All of it is predicted but for the machine's memory, so the figures are in italics and the caption says so.
"""

from __future__ import annotations

import html

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.events import ModelFit, SchemeFit
from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label
from app.ui.shared.tones import StatusLine, Tone

BAR_HEIGHT = 10
BAR_LENGTH = 8192  # the context whose cache the bar shows, or the model's own where that is shorter
TONES: dict[str, Tone] = {"fits": "good", "tight": "warn", "too large": "bad"}


class FitView(QWidget):
    """Shows a ModelFit, or why there is none. `scheme` is the one in use: it is set off, and the bar is about it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scheme = "turbo4"
        self._fit: ModelFit | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        title = small_label(self.tr("Fit on this computer"), self)
        title.setFont(theme.font(theme.SMALL, bold=True))
        self.words = StatusLine(self)
        self.bar = MemoryBar(self)
        self.legend = small_label("", self)
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setWordWrap(True)
        self.memory = small_label("", self)
        self.memory.setWordWrap(True)
        self.table = _Table(self)
        self.caption = small_label("", self)
        self.caption.setWordWrap(True)
        self.notes = small_label("", self)
        self.notes.setWordWrap(True)
        for widget in (title, self.words, self.bar, self.legend, self.memory, self.table, self.caption, self.notes):
            column.addWidget(widget)
        theme.theme().changed.connect(self.on_theme_changed)
        self.show_words("")

    def show_words(self, words: str) -> None:
        """No figures: they are being worked out, or can't be, for this reason."""
        self._fit = None
        self.setVisible(bool(words))
        self.words.show_status(words, "muted")
        for widget in (self.bar, self.legend, self.memory, self.table, self.caption, self.notes):
            widget.hide()

    def show_fit(self, fit: ModelFit) -> None:
        self._fit = fit
        self.show()
        self.words.show_status(fit.words, TONES[fit.verdict])
        schemes = sorted(fit.schemes, key=lambda scheme: -scheme.cache_bytes[-1] if scheme.cache_bytes else 0)
        at = max((n for n, length in enumerate(fit.lengths) if length <= BAR_LENGTH), default=0)
        ours = next((s for s in schemes if s.scheme == self.scheme), None)
        cache = self.tr("cache with {0} at {1}").format(self.scheme, formats.tokens(fit.lengths[at]))
        self.bar.show_fit(fit, ours.cache_bytes[at] if ours and ours.cache_bytes else 0, cache)
        self.legend.setText(self.bar.legend())
        self.legend.setAccessibleName(self.bar.accessibleName())
        words = self.tr("Weights {0} · {1} free now of {2} that models may take · {3} in this computer")
        sizes = (fit.weights_bytes, fit.free_bytes, fit.usable_bytes, fit.total_bytes)
        self.memory.setText(words.format(*map(formats.data_size, sizes)))
        self.table.show_fit(fit, schemes, self.scheme)
        self.caption.setText(
            self.tr(
                "Predicted: weights, work space and cache together, by context. Longest: the context for which the "
                "memory that is free now suffices."
            )
        )
        self.notes.setText("\n".join(fit.notes))
        for widget in (self.bar, self.legend, self.memory, self.table, self.caption):
            widget.show()
        self.notes.setVisible(bool(fit.notes))

    def on_theme_changed(self) -> None:
        if self._fit is not None:
            self.show_fit(self._fit)


class _Table(QTableWidget):
    """Schemes down, contexts across. A cell that exceeds what is free is marked by colour and sign."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("fitTable")
        self.setAccessibleName(self.tr("Memory by scheme and context"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(10)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionsClickable(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)

    def show_fit(self, fit: ModelFit, schemes: list[SchemeFit], current: str) -> None:
        heads = [self.tr("Scheme"), *map(formats.tokens, fit.lengths), self.tr("Longest")]
        self.setColumnCount(len(heads))
        self.setRowCount(len(schemes))
        for column, words in enumerate(heads):
            self.setHorizontalHeaderItem(column, _item(words, theme.font(theme.SMALL), trailing=column > 0))
        for row, scheme in enumerate(schemes):
            bold = scheme.scheme == current
            self.setItem(row, 0, _item(scheme.scheme, theme.font(theme.SMALL, bold=bold)))
            for column, cache in enumerate(scheme.cache_bytes, 1):
                self.setItem(row, column, self._cell(fit, cache, bold))
            longest = formats.tokens(scheme.longest_tokens) if scheme.longest_tokens else "–"
            item = _item(longest, theme.font(theme.SMALL, bold=bold, italic=True), trailing=True)
            if not scheme.longest_tokens:
                item.setToolTip(formats.tip(self.tr("Not even a short context fits in the memory that is free now")))
            elif scheme.longest_tokens >= fit.context_tokens:
                item.setToolTip(self.tr("All that the model was trained for"))
            self.setItem(row, len(heads) - 1, item)
        height = self.fontMetrics().height() + 5
        for row in range(len(schemes)):
            self.setRowHeight(row, height)
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + height * len(schemes) + 2)

    def _cell(self, fit: ModelFit, cache_bytes: int, bold: bool) -> QTableWidgetItem:
        total = fit.weights_bytes + fit.work_bytes + cache_bytes
        words = formats.data_size(total)
        tip = self.tr("Weights {0}, work space {1}, cache {2}").format(
            *map(formats.data_size, (fit.weights_bytes, fit.work_bytes, cache_bytes))
        )
        color = theme.colors().text
        if total > fit.usable_bytes:
            words, color = f"✕ {words}", theme.colors().bad
            tip += "\n" + self.tr("More than this computer has for models")
        elif total > fit.free_bytes:
            words, color = f"! {words}", theme.colors().warn
            tip += "\n" + self.tr("More than is free now: close other programs first")
        item = _item(words, theme.font(theme.SMALL, bold=bold, italic=True), trailing=True)
        item.setForeground(QColor(color))
        item.setToolTip(formats.tip(tip))
        return item

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.height())


def _item(words: str, font: QFont, trailing: bool = False) -> QTableWidgetItem:
    item = QTableWidgetItem(formats.isolated(words))
    item.setData(Qt.ItemDataRole.FontRole, font)
    item.setForeground(QColor(theme.colors().text))
    align = Qt.AlignmentFlag.AlignTrailing if trailing else Qt.AlignmentFlag.AlignLeading
    item.setTextAlignment(align | Qt.AlignmentFlag.AlignVCenter)
    return item


class MemoryBar(QWidget):
    """All memory as a bar: what others hold, this model, its cache, and what stays free. `legend` names the parts."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parts: list[tuple[str, int]] = []  # in words, and bytes
        self._total = 1
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def show_fit(self, fit: ModelFit, cache_bytes: int, cache: str) -> None:
        """`cache` says which one that is."""
        held, model = max(0, fit.total_bytes - fit.free_bytes), fit.weights_bytes + fit.work_bytes
        self._parts = [
            (self.tr("in use or reserved"), held),
            (self.tr("this model"), model),
            (cache, cache_bytes),
        ]
        self._total = fit.total_bytes
        self.setAccessibleName(" · ".join(f"{words} {formats.data_size(size)}" for words, size in self._all()))
        self.update()

    def _all(self) -> list[tuple[str, int]]:
        """What is free too, or missing."""
        left = self._total - sum(size for _, size in self._parts)
        return [*self._parts, (self.tr("free") if left >= 0 else self.tr("missing"), abs(left))]

    def _colors(self) -> list[str]:
        colors = theme.colors()
        missing = sum(size for _, size in self._parts) > self._total
        return [colors.what_if, colors.accent, colors.accent_focus, colors.bad if missing else colors.muted]

    def legend(self) -> str:
        """Each part's colour, name and size, as rich text."""
        signs = "■■■□" if self._total >= sum(size for _, size in self._parts) else "■■■■"
        return " &nbsp; ".join(
            f'<span style="color: {color}">{sign}</span>&nbsp;{html.escape(words)}&nbsp;{_whole(size)}'
            for (words, size), color, sign in zip(self._all(), self._colors(), signs, strict=True)
        )

    def on_theme_changed(self) -> None:
        self.setFixedHeight(theme.sized(BAR_HEIGHT))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        whole, shape = QRectF(self.rect()), QPainterPath()
        shape.addRoundedRect(whole, whole.height() / 2, whole.height() / 2)
        sizes = [size for _, size in self._parts]
        scale = whole.width() / max(self._total, sum(sizes), 1)  # what is too much still fits in the drawing
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setClipPath(shape)
            if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
                painter.translate(whole.width(), 0)
                painter.scale(-1, 1)
            painter.fillRect(whole, QColor(theme.colors().line))
            x = 0.0
            for size, color in zip(sizes, self._colors(), strict=False):
                painter.fillRect(QRectF(x, 0, size * scale, whole.height()), QColor(color))
                x += size * scale
            if sum(sizes) > self._total:  # where the machine's memory ends
                painter.fillRect(QRectF(self._total * scale - 1, 0, 2, whole.height()), QColor(theme.colors().bad))


def _whole(size_bytes: int) -> str:
    """Not broken between figure and unit."""
    return formats.data_size(size_bytes).replace(" ", "&nbsp;")
