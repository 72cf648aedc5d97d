"""The parts of a reply: what it says, and what the model thought before, which is folded once that is over."""

from __future__ import annotations

import re
import time

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QShowEvent, QTextOption
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.thinking import Part
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button
from app.ui.text import formula
from app.ui.text.document_text import OBJECT, Shown
from app.ui.text.markdown import MarkdownWriter
from app.ui.text.text_pane import TextPane, wrap_mode

# A view that begins with more than this was opened in the midst of the thoughts: it can't tell how long they took.
LATE_LETTERS = 200
LONGEST_WHOLE = 50  # letters of a word that is never broken
_WORD = re.compile(r"(?:(?![-:]+(?:[\s|]|$))[^\s|])[^\s|]*")  # but for the lines of a table
SETTING_S = 0.012  # for which formulas are set in one go
OUT_OF_SIGHT_MS = 200


class MarkdownPane(TextPane):
    """A text written as markdown. While it isn't seen a change of colours waits."""

    def __init__(self, parent: QWidget, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self.writer = MarkdownWriter(self.document(), setting_s=SETTING_S, quiet=quiet)
        self._outdated = False
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.on_later)
        theme.theme().changed.connect(self.on_theme_changed)

    def put(self, text: str, *, final: bool) -> None:
        with self.keeping_selection():
            if (mode := wrap_mode(text)) == QTextOption.WrapMode.WrapAnywhere:
                self.setWordWrapMode(mode)  # before it is laid out
            self.writer.put(text, final=final)
        if self.document().rootFrame().childFrames():
            longest = max((len(word) for word in _WORD.findall(text)), default=0)
            # A table's words stay whole where they can, and the table scrolls; it is the whole document that wraps so.
            self.setWordWrapMode(QTextOption.WrapMode.WordWrap if longest <= LONGEST_WHOLE else mode)
        self.fit_height()
        self._set_later()
        if final:
            self._tell_formulas()

    def _tell_formulas(self) -> None:
        """Who listens to the text hears formulas as their source."""
        holds = OBJECT in self.document().toRawText()
        self.setAccessibleDescription(Shown(self.document()).text if holds else "")

    def _set_later(self) -> None:
        """Formulas that had no time are set one by one, those in sight first."""
        if self.writer.left_out and not self._later.isActive():
            self._later.start(0 if not self.visibleRegion().isEmpty() else OUT_OF_SIGHT_MS)

    def on_later(self) -> None:
        begun = time.thread_time()
        while self.writer.left_out and time.thread_time() - begun < SETTING_S:
            formula.typeset(*self.writer.left_out.pop())
        if self.writer.left_out:
            self._set_later()
        else:
            self._repaint_text()
            self._tell_formulas()

    def on_theme_changed(self) -> None:
        self._outdated = True
        if self.isVisible():
            self._repaint_text()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._outdated:
            self._repaint_text()

    def _repaint_text(self) -> None:
        self._outdated = False
        with self.keeping_selection():
            self.writer.rewrite()
        self.fit_height()
        self._set_later()


class AnswerSection(MarkdownPane):
    thinking = False

    def show_part(self, part: Part, *, final: bool) -> None:
        if self.writer.source != part.text or final:
            self.put(part.text, final=final)

    @property
    def pane(self) -> MarkdownPane | None:
        return self

    def reveal(self) -> MarkdownPane:
        return self

    def settle(self, *, alone: bool, estimate_s: float) -> None:
        """Nothing more comes."""


class ThinkingSection(QWidget):
    """Thoughts under a line that says how long they took; they are written out when they are seen."""

    thinking = True
    INSET = 16
    toggled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(6)
        self.header = quiet_button("", self)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setCheckable(True)
        self.header.setCursor(Qt.CursorShape.PointingHandCursor)
        self.header.clicked.connect(self.on_clicked)
        column.addWidget(self.header, 0, Qt.AlignmentFlag.AlignLeading)
        self._column = QVBoxLayout()
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        self._column.setContentsMargins(*((0, 0, self.INSET, 0) if mirrored else (self.INSET, 0, 0, 0)))
        column.addLayout(self._column)
        self._pane: MarkdownPane | None = None
        self._part = Part(True, "", closed=False)
        self._final = self._caret = False
        self._begun = 0.0  # 0: not seen from the beginning
        self._seconds = 0.0
        self._roughly = False
        self._touched = False  # by the reader: then it folds and unfolds by itself no more
        self._tick = QTimer(self, interval=1000)
        self._tick.timeout.connect(self._describe)
        theme.theme().changed.connect(self.on_theme_changed)

    # ------------------------------------------------------------ what is thought

    def show_part(self, part: Part, *, final: bool) -> None:
        """The thoughts so far; `final` when the reply is over, closed or not."""
        first = not self._part.text
        if first and not final and not part.closed and len(part.text) < LATE_LETTERS:
            self._begun = time.monotonic()
        closes = (part.closed or final) and not (self._part.closed or self._final)
        self._part, self._final = part, final
        if first and not closes:
            self._set_open(True)
            self._tick.start()
        if closes:
            self._tick.stop()
            self._seconds = time.monotonic() - self._begun if self._begun else 0.0
            if self.header.isChecked() and not self._touched and not self._read_back():
                self._set_open(False)
        if self.header.isChecked():
            self._write()
        self._describe()

    def settle(self, *, alone: bool, estimate_s: float) -> None:
        """Nothing more comes. Thoughts that are all there is are shown."""
        if not self._seconds and estimate_s:
            self._seconds, self._roughly = estimate_s, True
        if alone and not self._touched:
            self._set_open(True)
        self._describe()

    def _read_back(self) -> bool:
        """Whether the reader has scrolled up to read these thoughts: then they stay."""
        reply = self.parentWidget()
        reading = self.isVisible() and reply is not None and not reply.visibleRegion().isEmpty()
        return reading and self.visibleRegion().boundingRect().bottom() < self.height() - 8

    def _write(self) -> None:
        pane = self.reveal_pane()
        final = self._part.closed or self._final
        if pane.writer.source != self._part.text or final:
            pane.put(self._part.text, final=final)

    # ------------------------------------------------------------ folding

    def set_caret(self, shown: bool) -> None:
        self._caret = shown
        if self._pane is not None:
            self._pane.set_caret(shown)

    @property
    def pane(self) -> MarkdownPane | None:
        return self._pane if self.header.isChecked() else None

    def reveal(self) -> MarkdownPane:
        if not self.header.isChecked():
            self._touched = True
            self._set_open(True)
        return self.reveal_pane()

    def reveal_pane(self) -> MarkdownPane:
        if self._pane is None:
            self._pane = MarkdownPane(self, quiet=True)
            self._pane.setAccessibleName(self.tr("Thoughts"))
            self._pane.set_caret(self._caret)
            self._column.addWidget(self._pane)
        return self._pane

    def on_clicked(self) -> None:
        self._touched = True
        self._set_open(self.header.isChecked())

    def _set_open(self, shown: bool) -> None:
        self.header.setChecked(shown)
        if shown:
            self.reveal_pane().show()
            self._write()
        elif self._pane is not None:
            self._pane.hide()
        self.on_theme_changed()
        self.toggled.emit()

    # ------------------------------------------------------------ what its line says

    def _describe(self) -> None:
        size = self.tr("%Ln word(s)", "", len(self._part.text.split()))
        if not self._part.closed and not self._final:
            words = self.tr("Thinking…")
            if self._begun:
                words = self.tr("Thinking… {0}").format(formats.duration(time.monotonic() - self._begun))
        elif not self._part.closed:
            words = self.tr("Thoughts that were cut off")
        elif not self._seconds:
            words = self.tr("Thoughts")
        else:
            form = self.tr("Thought for about {0}") if self._roughly else self.tr("Thought for {0}")
            words = form.format(formats.duration(self._seconds))
        text = f"{words}  ·  {formats.isolated(size)}"
        if text != self.header.text():
            self.header.setText(text)
            self.header.setAccessibleName(text)
            self.header.setToolTip(self.tr("Show or hide what the model thought"))

    def on_theme_changed(self) -> None:
        folded = "previous" if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else "next"
        self.header.setIcon(theme.icon("open" if self.header.isChecked() else folded, theme.colors().muted))

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._pane is None or self._pane.isHidden():
            return
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colors().line))
            box = self._pane.geometry()
            x = self.width() - 8 if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 6
            painter.drawRoundedRect(QRectF(x, box.top(), 2, box.height()), 1, 1)


Section = AnswerSection | ThinkingSection
