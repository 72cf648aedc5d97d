"""Preferences: each takes effect at once, so there is nothing to confirm."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QComboBox, QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.settings import Settings
from app.ui import theme
from app.ui.account import AccountBox
from app.ui.cards import small_label
from app.ui.hub_link import Hub

IDLE_MINUTES = "idle_unload_minutes"  # the setting; 0: never
CHOICES = (0, 5, 15, 30, 60, 240)


def idle_minutes(settings: Settings) -> int:
    return settings.get(IDLE_MINUTES, 0, valid=lambda minutes: minutes >= 0)


class Preferences(QDialog):
    """`idle_changed(minutes)`: how long a model may lie idle in memory."""

    idle_changed = Signal(int)

    def __init__(self, settings: Settings, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setWindowTitle(self.tr("Preferences"))
        self.setMinimumWidth(520)
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 20, 22, 18)
        column.setSpacing(18)
        column.addWidget(self._memory())
        self.account = AccountBox(hub, self)
        column.addWidget(self.account)
        column.addStretch(1)
        close = QPushButton(self.tr("Close"), self)
        close.setAutoDefault(False)
        close.clicked.connect(self.close)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignTrailing)

    def _memory(self) -> QWidget:
        box = QWidget(self)
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        title = QLabel(self.tr("Memory"), box)
        title.setFont(theme.font(bold=True))
        column.addWidget(title)
        row = QHBoxLayout()
        label = QLabel(self.tr("Unload an idle model"), box)
        self.idle = QComboBox(box)
        label.setBuddy(self.idle)
        self.idle.setAccessibleName(label.text())
        minutes = idle_minutes(self._settings)
        for choice in sorted({*CHOICES, minutes}):
            self.idle.addItem(self.tr("after {0} minutes").format(choice) if choice else self.tr("never"), choice)
        self.idle.setCurrentIndex(self.idle.findData(minutes))
        self.idle.activated.connect(self.on_idle)
        row.addWidget(label)
        row.addWidget(self.idle)
        row.addStretch()
        column.addLayout(row)
        words = small_label(self.tr("Its memory goes back to other programs; the next message loads it again."), box)
        words.setWordWrap(True)
        column.addWidget(words)
        return box

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # what the hub says of the account may take another line
            self.resize(self.width(), max(self.height(), self.heightForWidth(self.width())))
        return done

    def begin(self) -> None:
        self.account.begin()
        self.show()
        self.raise_()
        self.activateWindow()

    def on_idle(self) -> None:
        minutes = int(self.idle.currentData())
        self._settings.set(IDLE_MINUTES, minutes)
        self.idle_changed.emit(minutes)
