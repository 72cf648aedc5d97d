"""The right column: the scheme, what the cache takes, its curve, and whether every layer is compressed."""

from __future__ import annotations

from collections.abc import Sequence

import psutil
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.events import MemorySample
from app.library.records import StoredCache
from app.ui.memory.engagement import Engagement, all_raw
from app.ui.memory.memory_chart import MemoryChart
from app.ui.memory.scheme_picker import SchemePicker
from app.ui.shared import formats, theme
from app.ui.shared.cards import ShortLabel, quiet_button, small_label


class MemoryPanel(QScrollArea):
    """Shows numbers that others measured. `cancel_clicked`: stop the rebuild, or take the pending switch back;
    `discard_clicked`: forget the cache.
    """

    cancel_clicked = Signal()
    discard_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._machine_bytes = psutil.virtual_memory().total
        self.setObjectName("panel")
        self.setAccessibleName(self.tr("Memory"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget(self)
        body.setObjectName("panelBody")
        self.setWidget(body)
        column = QVBoxLayout(body)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(6)
        column.addWidget(_section(self.tr("KV cache scheme"), body))
        self.picker = SchemePicker(body)
        column.addWidget(self.picker)
        self._pending = _Pending(body)
        self._pending.button.clicked.connect(self.cancel_clicked)
        column.addWidget(self._pending)
        row = QHBoxLayout()
        row.setSpacing(7)
        self.used = QLabel(body)
        self.used.setFont(theme.font(theme.LARGE, bold=True))
        self.used.setAccessibleName(self.tr("Measured size of the cache"))
        self.uncompressed = ShortLabel(body)
        self.uncompressed.setContentsMargins(0, 0, 0, 5)
        row.addWidget(self.used)
        row.addWidget(self.uncompressed, 1, Qt.AlignmentFlag.AlignBottom)
        column.addLayout(row)
        self.share = QProgressBar(body)
        self.share.setTextVisible(False)
        self.share.setRange(0, 1000)
        column.addWidget(self.share)
        column.addSpacing(8)
        column.addWidget(_section(self.tr("Memory of this conversation"), body))
        self.chart = MemoryChart(body)
        column.addWidget(self.chart)
        column.addSpacing(4)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(1, 1)
        self._values: dict[str, QLabel] = {}
        for key, words, tip in (
            (
                "context",
                self.tr("Context"),
                self.tr("Tokens of this conversation that the model has read, of those that it has room for"),
            ),
            ("speed", self.tr("Speed"), self.tr("Tokens a second while the last reply was written")),
            (
                "allocated",
                self.tr("Allocated"),
                self.tr("What the cache's buffers take: they grow in steps, ahead of the tokens that fill them"),
            ),
            (
                "program",
                self.tr("Program"),
                self.tr("Memory of the whole program (the model, this cache and the rest), of what this computer has"),
            ),
            ("snapshot", self.tr("Saved on disk"), self.tr("The compressed cache, kept for the next start")),
            (
                "again",
                self.tr("Reading it again"),
                self.tr(
                    "An estimate of how long reading the whole text again would take, which a saved cache spares: "
                    "from the speed at which this model last read a prompt"
                ),
            ),
            (
                "peak",
                self.tr("Peak while reading"),
                self.tr("The most that MLX held while the last prompt was read (above what it held afterwards)"),
            ),
        ):
            name, value = QLabel(words, body), QLabel("–", body)
            name.setProperty("role", "muted")
            value.setAccessibleName(words)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            name.setToolTip(formats.tip(tip))
            value.setToolTip(formats.tip(tip))
            value.setAlignment(Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter)
            value.setWordWrap(True)  # a longer language, or larger text, mustn't make the panel wider
            line = self._grid.rowCount()
            self._grid.addWidget(name, line, 0)
            self._grid.addWidget(value, line, 1)
            self._values[key] = value
            if key == "peak":
                self._peak_row = (name, value)
                for label in self._peak_row:
                    _keep_place(label)
        column.addLayout(self._grid)
        self.discard = quiet_button(self.tr("Discard the saved cache, keep the text"), body)
        self.discard.clicked.connect(self.discard_clicked)
        _keep_place(self.discard)
        column.addWidget(self.discard, 0, Qt.AlignmentFlag.AlignTrailing)
        column.addSpacing(4)
        self.engagement = Engagement(body)
        column.addWidget(self.engagement)
        column.addStretch(1)
        self.clear()

    # ------------------------------------------------------------ content

    def clear(self, scheme: str = "") -> None:
        """A conversation of which nothing is cached."""
        self.used.setText(formats.data_size(0))
        self.uncompressed.setText(self.tr("nothing cached yet"))
        self._show_share(0, 0)
        self.picker.set_measured(0)
        for label in self._values.values():
            label.setText("–")
        for label in self._peak_row:
            label.hide()
        self.discard.hide()
        self.engagement.clear(scheme)
        self.show_pending("")

    def show_last(self, used_bytes: int) -> None:
        """What the cache took when it was measured last; nothing is heard of it now."""
        self.used.setText(formats.data_size(used_bytes))
        self.uncompressed.setText(self.tr("measured last"))
        self._show_share(0, 0)
        self.engagement.set_away()

    def show_gone(self) -> None:
        """There was a cache once, which was discarded or didn't come along."""
        self.uncompressed.setText(self.tr("not cached now"))
        self._show_share(0, 0)
        self.engagement.set_gone()

    def show_context(self, tokens: int, context_tokens: int) -> None:
        """`context_tokens` is 0 while no model is loaded."""
        said = self.tr("{0} of {1}").format(formats.count(tokens), formats.count(context_tokens))
        self._set("context", said if context_tokens else "–")

    def show_sample(self, sample: MemorySample) -> None:
        self.used.setText(formats.data_size(sample.used_bytes))
        self._set("allocated", formats.data_size(sample.allocated_bytes))
        raw_tokens = sample.tokens if all_raw(sample) and sample.scheme != "none" else 0
        if not sample.tokens:
            self.uncompressed.setText(self.tr("nothing cached yet"))
        elif raw_tokens:
            self.uncompressed.setText(self.tr("still uncompressed"))
        elif sample.scheme == "none":
            self.uncompressed.setText(self.tr("uncompressed"))
        else:
            self.uncompressed.setText(self.tr("of {0} uncompressed").format(formats.data_size(sample.fp16_bytes)))
        self._show_share(sample.used_bytes, sample.fp16_bytes)
        if sample.used_bytes:
            sizes = {**dict(sample.predicted), sample.scheme: sample.used_bytes}
            self.picker.set_measured(sample.fp16_bytes / sample.used_bytes, bool(raw_tokens), sizes)
        resident, all_memory = formats.data_size(sample.resident_bytes), formats.data_size(self._machine_bytes)
        self._set("program", self.tr("{0} of {1}").format(resident, all_memory))
        self.engagement.set_sample(sample)

    def show_peak(self, sample: MemorySample) -> None:
        over = max(0, sample.peak_bytes - sample.active_bytes)
        self._set("peak", f"{formats.data_size(sample.peak_bytes)} (+{formats.data_size(over)})")
        for label in self._peak_row:
            label.show()

    def show_speed(self, tokens_per_s: float) -> None:
        self._set("speed", formats.rate(tokens_per_s) if tokens_per_s else "–")

    def show_saved(self, files: Sequence[StoredCache], loaded: bool, again_s: float = 0.0) -> None:
        """The cache files of the conversation, the one used last first; `loaded`: this run has read it; `again_s`:
        about how long the whole text takes to read, 0 where that isn't known.
        """
        words = "–"
        if files:
            words = formats.data_size(sum(file.size_bytes for file in files))
            seconds = files[0].load_s if loaded else files[0].save_s
            if seconds:
                spent = self.tr("loaded in {0}") if loaded else self.tr("saved in {0}")
                words += " · " + spent.format(formats.seconds(seconds))
        self._set("snapshot", words)
        self._set("again", self.tr("about {0}").format(formats.spell(again_s)) if again_s else "–")
        self.discard.setVisible(bool(files))

    def show_pending(self, text: str, done: int = 0, total: int = 0) -> None:
        """A switch that waits, or the progress of a rebuild; empty hides it."""
        self._pending.show_state(text, done, total)

    def _show_share(self, used_bytes: int, fp16_bytes: int) -> None:
        """The bar's whole length is what the cache would take uncompressed."""
        self.share.setValue(round(1000 * used_bytes / fp16_bytes) if fp16_bytes else 0)
        self.share.setAccessibleName(f"{self.used.text()} {self.uncompressed.text()}")

    def _set(self, key: str, text: str) -> None:
        self._values[key].setText(text)

    def value(self, key: str) -> str:
        return self._values[key].text()

    @property
    def pending_text(self) -> str:
        return self._pending.label.text() if not self._pending.isHidden() else ""


def _section(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    label.setProperty("role", "section")
    label.setFont(theme.font(theme.SMALL, bold=True))
    return label


def _keep_place(widget: QWidget) -> None:
    """What comes and goes mustn't move the rest."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


class _Pending(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(2, 0, 0, 0)
        grid.setVerticalSpacing(0)
        self.label = small_label("", self)
        self.label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.button = quiet_button(self.tr("Cancel"), self)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        grid.addWidget(self.label, 0, 0)
        grid.addWidget(self.button, 0, 1, 2, 1)
        grid.addWidget(self.bar, 1, 0)
        grid.setColumnStretch(0, 1)
        _keep_place(self)
        _keep_place(self.bar)

    def show_state(self, text: str, done: int, total: int) -> None:
        self.label.setText(text)
        self.bar.setAccessibleName(text)
        self.bar.setRange(0, max(total, 1))
        self.bar.setValue(done)
        self.bar.setVisible(total > 0)
        self.setVisible(bool(text))
