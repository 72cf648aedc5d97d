"""Whether every layer is compressed, and what stays raw: the card at the foot of the memory panel."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.events import LayerVerdict, MemorySample
from app.ui.memory.chart_data import BASELINE, SHORT_TOKENS
from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label
from app.ui.shared.tones import DOT, paint_dot

FIRST_TOKENS = 4


class Engagement(QWidget):
    """ "30 of 30 layers turbo4", or the reasons; which tokens stay raw."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = column = QVBoxLayout(self)
        column.setSpacing(3)
        self.headline = QLabel(self)
        self.headline.setWordWrap(True)
        self.detail = small_label("", self)
        self.detail.setTextFormat(Qt.TextFormat.PlainText)  # a reason may come from a file
        self.detail.setWordWrap(True)
        column.addWidget(self.headline)
        column.addWidget(self.detail)
        self._layers: Sequence[LayerVerdict] = ()
        self._sample: MemorySample | None = None
        self._scheme, self._away, self._gone = "", False, False  # while there is no sample
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.clear()

    def clear(self, scheme: str = "") -> None:
        self._layers, self._sample = (), None
        self._scheme, self._away, self._gone = scheme, False, False
        self._show()

    def set_away(self) -> None:
        """There is a cache of which nothing is heard now: no model is loaded, or it is at another conversation."""
        self._away = True
        self._show()

    def set_gone(self) -> None:
        """There was a cache once."""
        self._gone = True
        self._show()

    def set_layers(self, layers: Sequence[LayerVerdict]) -> None:
        self._layers = layers
        self._show()

    def set_sample(self, sample: MemorySample) -> None:
        self._sample = sample
        self._show()

    def on_theme_changed(self) -> None:
        self._column.setContentsMargins(13 + theme.sized(DOT) + 7, 10, 12, 10)
        self.update()

    def _show(self) -> None:
        sample = self._sample
        tip = ""
        if sample is None:
            headline, detail = self._without_sample()
            self.headline.setText(headline)
            self.detail.setText(detail)
        else:
            if read_raw(sample):
                self.headline.setText(self.tr("{0}: nothing compressed yet").format(sample.scheme))
            elif all_raw(sample) and sample.scheme != "none":
                self.headline.setText(self.tr("{0}: nothing to compress yet").format(sample.scheme))
            elif sample.scheme == "none":
                self.headline.setText(
                    self.tr("{0} layers stay uncompressed").format(formats.count(sample.layers_total))
                )
            else:
                self.headline.setText(
                    self.tr("{0} of {1} layers {2}").format(
                        formats.count(sample.layers_compressed), formats.count(sample.layers_total), sample.scheme
                    )
                )
            self.detail.setText("\n".join(self._reasons() + self._raw_tokens(sample)))
        if self._layers:
            rows = [
                f"{layer.index + 1}: {layer.scheme or layer.reason}{layer.note and f' ({layer.note})'}"
                for layer in self._layers
            ]
            tip = formats.tip(self.tr("Layers") + "\n" + "\n".join(rows))
        self.detail.setVisible(bool(self.detail.text()))
        self.setToolTip(tip)
        self.update()

    def _without_sample(self) -> tuple[str, str]:
        if self._away:
            return self.tr("Not in use at the moment"), self.tr("The next reply goes on from here.")
        if self._gone:
            return self.tr("Nothing is cached now"), self.tr("The next reply reads the text again.")
        if self._scheme == "none":
            return self.tr("Nothing is cached yet"), ""
        return self.tr("Nothing is compressed yet"), self.tr("Layers are compressed at a reply's first token.")

    def _reasons(self) -> list[str]:
        """Layers that aren't compressed, grouped by reason."""
        groups: dict[str, int] = {}
        for layer in self._layers:
            if layer.scheme is None and layer.reason:
                groups[layer.reason] = groups.get(layer.reason, 0) + 1
        return [self.tr("{0}: {1}").format(formats.count(number), reason) for reason, number in groups.items()]

    def _raw_tokens(self, sample: MemorySample) -> list[str]:
        if sample.scheme == "none" or not sample.raw_tokens:
            return []
        if read_raw(sample):
            return [self.tr("Compressed when the prompt has been read.")]
        if all_raw(sample):
            return [self.tr("All {0} tokens are still uncompressed").format(formats.count(sample.raw_tokens))]
        first = min(FIRST_TOKENS, sample.raw_tokens)
        return [
            self.tr("The first {0} and the newest {1} tokens are uncompressed").format(
                formats.count(first), formats.count(sample.raw_tokens - first)
            )
        ]

    def dot(self) -> str:
        """The dot's colour: good when every layer is compressed, a warning when some aren't, grey when none has to."""
        colors = theme.colors()
        sample = self._sample
        if sample is None or sample.scheme == "none" or all_raw(sample):
            return colors.what_if
        return colors.good if sample.layers_compressed == sample.layers_total else colors.warn

    def paintEvent(self, _event: QPaintEvent) -> None:
        colors = theme.colors()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(colors.line))
            painter.setBrush(QColor(colors.background))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
            mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            x = self.width() - 13 - theme.sized(DOT) if mirrored else 13
            middle = self.headline.geometry().top() + self.headline.fontMetrics().height() / 2
            paint_dot(painter, x, middle, self.dot())


def all_raw(sample: MemorySample) -> bool:
    """A short cache holds only the tokens that always stay raw; a longer one, while a prompt is read."""
    return sample.raw_tokens >= sample.tokens


def read_raw(sample: MemorySample) -> bool:
    """A prompt is read that will be compressed."""
    return all_raw(sample) and sample.scheme != BASELINE and sample.tokens >= SHORT_TOKENS
