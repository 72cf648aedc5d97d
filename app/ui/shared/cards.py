"""Small pieces that several places share: quiet labels and buttons, dividers, framed notes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.shared import formats, theme


def small_label(text: str, parent: QWidget, role: str = "muted") -> QLabel:
    label = QLabel(text, parent)
    label.setFont(theme.font(theme.SMALL))
    label.setProperty("role", role)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


class ShortLabel(QLabel):
    """One line of plain small text; what doesn't fit ends in "…". `brief` takes its place first, where there is one."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFont(theme.font(theme.SMALL))
        self.setProperty("role", "muted")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.brief = ""

    @property
    def shown(self) -> str:
        width, metrics = self.contentsRect().width(), self.fontMetrics()
        words = self.text() if metrics.horizontalAdvance(self.text()) <= width else self.brief or self.text()
        return metrics.elidedText(words, Qt.TextElideMode.ElideRight, width)

    def paintEvent(self, _event: QPaintEvent) -> None:
        align = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(self.contentsRect(), align, self.shown)


def quiet_button(text: str, parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setText(text)
    button.setFont(theme.font(theme.SMALL))
    button.setProperty("role", "quiet")
    return button


class EvenButtons(QWidget):
    """Buttons of one width: beside each other where their words fit, else below each other."""

    def __init__(self, buttons: Sequence[QPushButton], parent: QWidget) -> None:
        super().__init__(parent)
        self._buttons = buttons
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        for button in buttons:
            self._row.addWidget(button, 1)
        theme.theme().changed.connect(self._arrange)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._widest(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _widest(self) -> int:
        return max(button.sizeHint().width() for button in self._buttons)

    def _arrange(self) -> None:
        needed = len(self._buttons) * (self._widest() + self._row.spacing()) - self._row.spacing()
        row, stack = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._row.setDirection(row if needed <= self.width() else stack)


class Line(QWidget):
    """A hairline between two columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(1)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._color()
        theme.theme().changed.connect(self._color)

    def _color(self) -> None:
        self.setStyleSheet(f"background: {theme.colors().line};")


class _Caption(QLabel):
    """As wide as its text in one line, where there is room; else it wraps."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setFont(theme.font(theme.SMALL))
        self.setProperty("role", "muted")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def sizeHint(self) -> QSize:
        return self.fontMetrics().size(0, self.text()) + QSize(2, 0)


class Divider(QWidget):
    """A thin line with a few words in its middle: `parts`, each of which stays in one line where it can."""

    def __init__(self, parts: Sequence[str], tip: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        whole = (part.replace(" ", "\u00a0") for part in parts) if len(parts) > 1 else parts
        self.label = _Caption("   ".join(whole), self)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setToolTip(formats.tip(tip))
        layout.addStretch()
        layout.addWidget(self.label)
        layout.addStretch()
        theme.theme().changed.connect(self.on_theme_changed)

    def on_theme_changed(self) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(QColor(theme.colors().line))
            y = self.height() // 2
            box = self.label.geometry().adjusted(-12, 0, 12, 0)
            if box.left() > 0:
                painter.drawLine(0, y, box.left(), y)
                painter.drawLine(box.right(), y, self.width(), y)


class Card(QWidget):
    """A framed note with a headline, a sentence and buttons, in the text's column."""

    def __init__(self, headline: str, text: str, tone: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone = tone
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(18, 12, 14, 12)
        self.column.setSpacing(4)
        title = QLabel(headline, self)
        title.setFont(theme.font(1.0, bold=True))
        title.setWordWrap(True)
        title.setTextFormat(Qt.TextFormat.PlainText)
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.column.addWidget(title)
        if text:
            label = QLabel(text, self)
            label.setProperty("role", "muted")
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.column.addWidget(label)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.setContentsMargins(0, 6, 0, 0)
        self._buttons.addStretch()
        self.column.addLayout(self._buttons)
        theme.theme().changed.connect(self.on_theme_changed)

    def add_button(self, text: str, *, primary: bool = False) -> QPushButton:
        button = QPushButton(text, self)
        if primary:
            button.setProperty("role", "primary")
        self._buttons.insertWidget(self._buttons.count() - 1, button)
        return button

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Buttons that don't fit beside each other stand below each other."""
        super().resizeEvent(event)
        shown = [button for button in self.findChildren(QPushButton) if not button.isHidden()]
        needed = sum(button.sizeHint().width() + self._buttons.spacing() for button in shown)
        row, stack = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._buttons.setDirection(row if needed <= self.column.contentsRect().width() else stack)

    @property
    def has_buttons(self) -> bool:
        return any(not button.isHidden() for button in self.findChildren(QPushButton))

    def hide_buttons(self) -> None:
        for button in self.findChildren(QPushButton):
            button.hide()

    def on_theme_changed(self) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colors = theme.colors()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(colors.line))
            painter.setBrush(QColor(colors.panel))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(colors, self._tone)))
            x = self.width() - 10 if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 7
            painter.drawRoundedRect(QRectF(x, 12, 3, self.height() - 24), 1.5, 1.5)


class ContextFullCard(Card):
    """The prompt doesn't fit: nothing was generated, the user chooses."""

    new_conversation_chosen = Signal()
    drop_chosen = Signal(int)
    cancel_chosen = Signal()

    def __init__(self, prompt: int, context: int, droppable: int, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("This conversation no longer fits the model's context."),
            self.tr("The prompt takes {0} of {1} tokens. Nothing was generated and nothing was cut.").format(
                formats.count(prompt), formats.count(context)
            ),
            "warn",
            parent,
        )
        self._droppable = droppable
        self._going_on: list[QPushButton] = []  # these need the engine
        if droppable:
            drop = self.add_button(
                self.tr("Leave out the oldest turn")
                if droppable == 1
                else self.tr("Leave out the oldest {0} turns").format(formats.count(droppable)),
                primary=True,
            )
            drop.setToolTip(formats.tip(self.tr("They stay in the transcript; the model no longer reads them.")))
            drop.clicked.connect(self.on_drop_clicked)
            self._going_on.append(drop)
        new = self.add_button(self.tr("New conversation"), primary=not droppable)
        new.clicked.connect(self.new_conversation_chosen)
        self._going_on.append(new)
        self.add_button(self.tr("Cancel")).clicked.connect(self.cancel_chosen)

    def set_blocked(self, reason: str) -> None:
        """While `reason` isn't empty only Cancel can be chosen; the composer says why."""
        for button in self._going_on:
            button.setEnabled(not reason)

    def on_drop_clicked(self) -> None:
        self.drop_chosen.emit(self._droppable)
