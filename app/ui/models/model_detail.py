"""The right-hand pane of the models' pages: what one model is, what can be done with it, and what it takes here."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.models.fit_view import FitView
from app.ui.shared import theme
from app.ui.shared.cards import quiet_button, small_label
from app.ui.shared.tones import StatusLine

MARGIN = 22
TEXT_WIDTH = 720  # lines stay readable in a wide window


class DetailPane(QScrollArea):
    """Title, quiet subtitle, a status, buttons, quiet ones below, facts in two columns, the fit; `extra` takes what a
    page adds between buttons and facts. `clear(words)` shows only words.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelDetail")
        self.setAccessibleName(self.tr("About the model"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._body = QWidget(self)
        self._body.setObjectName("modelDetailBody")
        self.setWidget(self._body)
        outer = QHBoxLayout(self._body)
        outer.setContentsMargins(MARGIN, 18, MARGIN, 18)
        self._holder = holder = QWidget(self._body)
        holder.setMaximumWidth(TEXT_WIDTH)
        outer.addWidget(holder)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        self.title = QLabel(holder)
        self.title.setFont(theme.font(1.35, bold=True))
        self.title.setWordWrap(True)
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.subtitle = small_label("", holder)
        self.subtitle.setWordWrap(True)
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.subtitle.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.status = StatusLine(holder)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(8)
        self.buttons.addStretch()
        self.links = QHBoxLayout()
        self.links.setSpacing(16)
        self.links.addStretch()
        self.extra = QVBoxLayout()
        self.extra.setSpacing(10)
        self._facts = QGridLayout()
        self._facts.setHorizontalSpacing(14)
        self._facts.setVerticalSpacing(5)
        self._facts.setColumnStretch(1, 1)
        self._rows: list[tuple[QLabel, QLabel]] = []  # of facts
        self.fit = FitView(holder)
        column.addWidget(self.title)
        column.addWidget(self.subtitle)
        column.addWidget(self.status)
        column.addLayout(self.buttons)
        column.addLayout(self.links)
        column.addLayout(self.extra)
        column.addSpacing(2)
        column.addLayout(self._facts)
        column.addSpacing(8)
        column.addWidget(self.fit)
        column.addStretch(1)
        self._body.hide()
        self._empty = QLabel(self.viewport())
        self._empty.setProperty("role", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.viewport() and event.type() == QEvent.Type.Resize:
            self._empty.setGeometry(self.viewport().rect().adjusted(40, 0, -40, 0))
        return super().eventFilter(watched, event)

    @property
    def shown(self) -> bool:
        """Whether a model is shown."""
        return not self._body.isHidden()

    def clear(self, words: str) -> None:
        self._body.hide()
        self._empty.setText(words)
        self._empty.show()

    def show_title(self, title: str, subtitle: str) -> None:
        """A model; what belongs to the one before it goes."""
        self._empty.hide()
        self._body.show()
        self.title.setText(title)
        self.subtitle.setText(subtitle)
        self.verticalScrollBar().setValue(0)

    def show_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """(name, value) pairs; those without a value are left out."""
        shown = [(name, value) for name, value in facts if value]
        while len(self._rows) < len(shown):
            self._add_row()
        for key, text in self._rows[len(shown) :]:
            key.hide()
            text.hide()
        for (key, text), (name, value) in zip(self._rows, shown, strict=False):
            key.setText(name)
            text.setText(value)
            text.setAccessibleName(f"{name}: {value}")
            key.show()
            text.show()

    def _add_row(self) -> None:
        key, text = QLabel(self._holder), QLabel(self._holder)
        key.setProperty("role", "muted")
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        text.setWordWrap(True)
        row = len(self._rows)
        self._facts.addWidget(key, row, 0, Qt.AlignmentFlag.AlignTop)
        self._facts.addWidget(text, row, 1)
        self._rows.append((key, text))

    def facts(self) -> dict[str, str]:
        """What is shown, by name."""
        return {key.text(): text.text() for key, text in self._rows if not key.isHidden()}

    def add_button(self, text: str, *, primary: bool = False) -> QPushButton:
        button = QPushButton(text, self._body)
        if primary:
            button.setProperty("role", "primary")
        self.buttons.insertWidget(self.buttons.count() - 1, button)
        return button

    def add_link(self, text: str) -> QToolButton:
        """A button for what is done seldom."""
        button = quiet_button(text, self._body)
        button.setProperty("role", "link")
        self.links.insertWidget(self.links.count() - 1, button)
        return button
