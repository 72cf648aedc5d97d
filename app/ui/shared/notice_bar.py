"""A calm line over the transcript that says what happened; dismissable, with one action at most."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.ui.shared import formats, theme

MOST = 4  # notices at a time: they mustn't take the window
MOST_LETTERS = 400


class Notice(QWidget):
    """One message, with one action at most; `timeout_s` of 0 keeps it until it is dismissed. `trouble`: something went
    wrong.
    """

    dismissed = Signal()

    def __init__(self, text: str, parent: QWidget, action: str, on_action: Callable[[], None] | None,
                 timeout_s: float, trouble: bool) -> None:  # fmt: skip
        super().__init__(parent)
        self.trouble = trouble
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        self._icon = QLabel(self)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self.set_text(text)
        self._label.setWordWrap(True)
        row.addWidget(self._icon)
        row.addWidget(self._label, 1)
        self._on_action = on_action
        if on_action is not None:
            button = QPushButton(action, self)
            button.clicked.connect(self.on_action_clicked)
            row.addWidget(button)
        self._close = QToolButton(self)
        self._close.setToolTip(self.tr("Dismiss"))
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.clicked.connect(self.dismiss)
        row.addWidget(self._close)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.dismiss)
        self.stay(timeout_s)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def set_text(self, text: str) -> None:
        self.text = text  # the label's may differ: shortened, or without what Qt can't hold
        self._label.setText(formats.short(text, MOST_LETTERS))

    def stay(self, timeout_s: float) -> None:
        """So long from now on; 0: until it is dismissed."""
        if timeout_s:
            self._timer.start(int(timeout_s * 1000))
        else:
            self._timer.stop()

    @property
    def has_action(self) -> bool:
        return self._on_action is not None

    def dismiss(self) -> None:
        self.hide()
        self.deleteLater()
        self.dismissed.emit()

    def on_action_clicked(self) -> None:
        assert self._on_action is not None
        self._on_action()
        self.dismiss()

    def on_theme_changed(self) -> None:
        colors = theme.colors()
        sign = theme.icon("warning", colors.warn) if self.trouble else theme.icon("info", colors.accent)
        self._icon.setPixmap(sign.pixmap(theme.sized(18)))
        self._close.setIcon(theme.icon("close"))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(theme.colors().line))
            painter.setBrush(QColor(theme.colors().panel))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)


class NoticeBar(QWidget):
    """The notices that stand; the same text is shown once, and stays for longer, unless it comes with an action: each
    has its own. Where there are too many the oldest goes, one without an action if there is any.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 10, 0, 6)
        self._column.setSpacing(6)
        self.hide()

    def show_notice(self, text: str, action: str = "", on_action: Callable[[], None] | None = None,
                    timeout_s: float = 0, *, trouble: bool = False) -> Notice | None:  # fmt: skip
        """The new notice, None where the same one stands already."""
        same = [notice for notice in self._standing() if notice.text == text] if on_action is None else []
        for notice in same:
            notice.stay(timeout_s)
        if text and not same:
            if len(standing := self._standing()) >= MOST:
                next((old for old in standing if not old.has_action), standing[0]).dismiss()
            notice = Notice(text, self, action, on_action, timeout_s, trouble)
            notice.dismissed.connect(self.on_dismissed)
            self._column.addWidget(notice)
            notice.show()  # now: in a bar that is shown already, the layout would do it later
            self.show()
            return notice
        return None

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Between the notices nothing of what they lie over shows through."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(theme.colors().background))

    def dismiss(self, text: str) -> None:
        for notice in self._standing():
            if notice.text == text:
                notice.dismiss()

    def on_dismissed(self) -> None:
        self.setVisible(bool(self.texts()))

    def texts(self) -> list[str]:
        return [notice.text for notice in self._standing()]

    def _standing(self) -> list[Notice]:
        """The oldest first."""
        return [notice for notice in self.findChildren(Notice) if not notice.isHidden()]
