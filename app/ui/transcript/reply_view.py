"""What the model answered, as a piece of a transcript."""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QSizePolicy,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError
from app.thinking import Part, split
from app.ui.shared import formats
from app.ui.shared.cards import Card, quiet_button, small_label
from app.ui.text import formula
from app.ui.text.markdown import shown
from app.ui.transcript import message_menu
from app.ui.transcript.message_tools import MessageTools
from app.ui.transcript.sections import AnswerSection, Section, ThinkingSection


@dataclass(frozen=True)
class ReplyFigures:
    """What the line below a reply says. Zero or empty: unknown, and left out."""

    scheme: str = ""
    generated_tokens: int = 0
    tokens_per_s: float = 0.0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    state: str = "complete"  # complete, interrupted, length, partial or failed


class ReplyView(QWidget):
    """An answer: streamed text, then its figures; or why there is none. One that was cut can go on from its end.

    Answering again stands in one place: on the card that says why it failed, else among the tools.
    """

    retry_clicked = Signal()
    go_on_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Reply"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        self._sections: list[Section] = []
        self._shown: list[tuple[Part, bool]] = []  # what each shows, and whether that is its end
        self._source = self._pending = ""
        self._last_cost_s = 0.0
        self._flush_timer = QTimer(self, singleShot=True)
        self._flush_timer.timeout.connect(self.on_flush)
        self._parts = QVBoxLayout()
        self._parts.setSpacing(2)
        column.addLayout(self._parts)
        self._progress = _Progress(self)
        self._progress.hide()
        column.addWidget(self._progress)
        self._footer = QWidget(self)
        row = QHBoxLayout(self._footer)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self._figures = small_label("", self._footer)
        self._figures.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._figures.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._figures.setWordWrap(True)
        row.addWidget(self._figures, 1)
        self.go_on = quiet_button(self.tr("Continue"), self._footer)
        self.go_on.setToolTip(formats.tip(self.tr("Have this reply go on from its end")))
        self.go_on.clicked.connect(self.go_on_clicked)
        self.go_on.hide()
        row.addWidget(self.go_on)
        self._footer.hide()
        self.tools: MessageTools | None = None
        column.addWidget(self._footer)
        self.card: Card | None = None

    def set_tools(self, tools: MessageTools) -> None:
        self.tools = tools
        tools.watch(self)
        layout = self._footer.layout()
        assert layout is not None
        layout.addWidget(tools)
        self._show_again()

    def _show_again(self) -> None:
        if self.tools is not None:
            self.tools.again.setVisible(self.card is None or not self.card.has_buttons)

    @property
    def can_go_on(self) -> bool:
        """Whether it was cut, and nothing has come behind it."""
        return not self.go_on.isHidden()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        message_menu.show(self, event, self._fill)

    def _fill(self, menu: QMenu) -> None:
        if self.can_go_on:
            menu.addAction(self.go_on.text(), self.go_on_clicked.emit)
        if self.tools is not None:
            self.tools.fill(menu)

    @property
    def figures(self) -> str:
        return self._figures.text()

    @property
    def status(self) -> str:
        """What is being done before the first word; empty when that is over."""
        return "" if self._progress.isHidden() else self._progress.text

    def source(self) -> str:
        """All that the model wrote."""
        return self._source + self._pending

    def answer(self) -> str:
        """What it wrote without its thoughts; these where there is nothing else."""
        answers = [part.text.strip() for part in split(self.source()) if not part.thinking]
        return "\n\n".join(answers) or self.source()

    # ------------------------------------------------------------ for the finder

    @staticmethod
    def texts(source: str) -> list[str]:
        return [shown(part.text) for part in split(source)]

    def panes(self) -> list[QTextEdit | QPlainTextEdit | None]:
        return [section.pane for section in self._sections]

    def reveal(self, number: int) -> QTextEdit | QPlainTextEdit:
        return self._sections[number].reveal()

    # ------------------------------------------------------------ while it is written

    def show_progress(self, text: str, done: int = 0, total: int = 0) -> None:
        formula.prepare()
        self._progress.show_progress(text, done, total)

    def add_text(self, text: str) -> None:
        """More of the reply. It is drawn at once, or a little later when drawing has become expensive."""
        self._progress.hide()
        self._pending += text
        if not self._flush_timer.isActive():
            self._flush_timer.start(int(min(self._last_cost_s * 5000, 500)))

    def on_flush(self) -> None:
        if not self._pending:
            return
        started = time.perf_counter()
        self._source, self._pending = self.source(), ""
        self._show(final=False)
        self._last_cost_s = time.perf_counter() - started

    def _show(self, *, final: bool) -> None:
        """Bring the sections up to the text: all but the last stay as they are."""
        parts = split(self._source, final=final)
        wanted = [(part, final or index < len(parts) - 1) for index, part in enumerate(parts)]
        for index, (part, ends) in enumerate(wanted):
            if index < len(self._sections) and self._sections[index].thinking != part.thinking:
                self._drop(index)  # what looked like an answer turns out as thoughts
            if index == len(self._sections):
                self._add(part.thinking)
            if self._shown[index : index + 1] != [(part, ends)]:
                self._sections[index].show_part(part, final=ends)
                self._shown[index : index + 1] = [(part, ends)]
        self._drop(len(wanted))
        for section in self._sections:
            section.set_caret(not final and section is self._sections[-1])

    def _add(self, thinking: bool) -> None:
        section = ThinkingSection(self) if thinking else AnswerSection(self)
        if isinstance(section, AnswerSection):
            section.setAccessibleName(self.tr("Reply"))
        self._sections.append(section)
        self._parts.addWidget(section)
        section.stackUnder(self._footer)  # read before it
        section.show()

    def _drop(self, start: int) -> None:
        for section in self._sections[start:]:
            self._parts.removeWidget(section)
            section.hide()
            section.deleteLater()
        del self._sections[start:], self._shown[start:]

    def resume(self, text: str) -> None:
        """It was over, and goes on behind `text`, which stays where it is."""
        self._source, self._pending = text, ""
        self._show(final=False)
        self._figures.clear()
        self._figures.setToolTip("")
        self.go_on.hide()
        self._drop_card()
        self._footer.hide()

    def _drop_card(self) -> None:
        if self.card is not None:
            self.card.hide()
            self.card.deleteLater()
            self.card = None
            self._show_again()

    def finish(self, text: str, figures: ReplyFigures) -> None:
        """The whole reply is `text`: what was streamed is completed, or written again where it differs."""
        self._flush_timer.stop()
        self._source, self._pending = text, ""
        self._show(final=True)
        self._settle(figures.generated_tokens / figures.tokens_per_s if figures.tokens_per_s else 0.0)
        self._progress.hide()
        self._figures.setText(self._describe(figures))
        self._figures.setToolTip(formats.tip(self._figures.text()))
        self.go_on.setVisible(bool(text) and figures.state != "complete")
        self._footer.show()

    def _settle(self, seconds: float) -> None:
        """Nothing more comes. `seconds`: how long all of it took, by the tokens' rate; 0 where that isn't known."""
        alone = all(section.thinking for section in self._sections)
        letters = max(1, sum(len(part.text) for part, _ in self._shown))
        for section, (part, _) in zip(self._sections, self._shown, strict=True):
            section.settle(alone=alone, estimate_s=seconds * len(part.text) / letters)

    def fail(self, error: AppError) -> None:
        """Say why, below what was written so far, with a way to try again."""
        self._flush_timer.stop()
        self._source, self._pending = self.source(), ""
        self._show(final=True)
        self._settle(0.0)
        self._progress.hide()
        self._drop_card()
        self.card = Card(error.message, error.hint, "bad", self)
        self.card.setToolTip(formats.tip(error.detail))
        self.card.add_button(self.tr("Retry"), primary=True).clicked.connect(self.retry_clicked)
        self.go_on.setVisible(bool(self._source))
        self._show_again()
        self._footer.show()
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(layout.indexOf(self._footer), self.card)
        self._footer.raise_()  # read after the card

    def drop_retry(self) -> None:
        """The conversation has gone on: this reply is no longer the last."""
        self.go_on.hide()
        if self.card is not None:
            self.card.hide_buttons()
        if self.tools is not None:
            self.tools.set_always(False)
        self._show_again()

    def _describe(self, f: ReplyFigures) -> str:
        parts = [f.scheme] if f.scheme else []
        if f.generated_tokens:
            parts.append(self.tr("{0} tokens", "", f.generated_tokens).format(formats.count(f.generated_tokens)))
        if f.tokens_per_s:
            parts.append(formats.rate(f.tokens_per_s))
        if f.prompt_tokens:
            parts.append(
                self.tr("reused {0} of {1} prompt tokens").format(
                    formats.count(f.reused_tokens), formats.count(f.prompt_tokens)
                )
            )
        notes = {
            "interrupted": self.tr("stopped by you"),
            "length": self.tr("ended at its length limit"),
            "partial": self.tr("cut off when the program ended"),
        }
        if f.state in notes:
            parts.append(notes[f.state])
        return " · ".join(parts)


class _Progress(QWidget):
    """ "Reading the prompt" with a slim bar."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(6)
        self._label = small_label("", self)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setMaximumWidth(260)
        column.addWidget(self._label)
        column.addWidget(self._bar)

    @property
    def text(self) -> str:
        return self._label.text()

    def show_progress(self, text: str, done: int, total: int) -> None:
        self._label.setText(text)
        self._bar.setAccessibleName(text)
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        self._bar.setVisible(total > 0)
        self.show()
