"""What stands in the middle while there is no model: install the starter, find one, or add a folder."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError
from app.ui.shared import formats, theme

TEXT_WIDTH = 460
MOST_WIDTH = 600  # what the smallest window holds


class Welcome(QWidget):
    """`install_clicked`, `cancel_clicked`, `find_clicked`, `folder_clicked`; the rest is shown by calls."""

    install_clicked = Signal()
    cancel_clicked = Signal()
    find_clicked = Signal()
    folder_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(2)
        logo = QLabel(self)
        logo.setPixmap(theme.app_icon().pixmap(64, 64))
        title = QLabel(self.tr("Chat with a model on this computer"), self)
        title.setFont(theme.font(1.6, bold=True))
        text = QLabel(
            self.tr(
                "Nothing you write leaves it. Start with a small model (93 MB to download, works offline "
                "afterwards), find another on the Hugging Face hub, or add a folder that holds an MLX model."
            ),
            self,
        )
        text.setProperty("role", "muted")
        self.install = QPushButton(self.tr("Install the starter model"), self)
        self.install.setProperty("role", "primary")
        self.install.clicked.connect(self.install_clicked)
        self.search = QPushButton(self.tr("Find a model…"), self)
        self.search.clicked.connect(self.find_clicked)
        self.folder = QPushButton(self.tr("Add a folder…"), self)
        self.folder.clicked.connect(self.folder_clicked)
        self.cancel = QPushButton(self.tr("Cancel"), self)
        self.cancel.clicked.connect(self.cancel_clicked)
        self.step = QLabel(self)
        self.step.setProperty("role", "muted")
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(320)
        self.error = QLabel(self)
        self.error.setProperty("role", "bad")
        self.error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._labels = (logo, title, text, self.step, self.error)
        for label in self._labels:
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
        for label in (logo, title, text):
            column.addLayout(_middle(label))
        self._row = row = QHBoxLayout()
        row.addStretch()
        row.addWidget(self.install)
        row.addWidget(self.search)
        row.addWidget(self.folder)
        row.addWidget(self.cancel)
        row.addStretch()
        column.addSpacing(4)
        column.addLayout(row)
        column.addLayout(_middle(self.step))
        column.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignCenter)
        column.addLayout(_middle(self.error))
        column.addStretch(3)
        self._set_busy(False)
        self.error.hide()
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def on_theme_changed(self) -> None:
        """Larger text: wider lines, and the buttons under each other where the smallest window is too narrow."""
        for label in self._labels:
            label.setFixedWidth(min(theme.at_scale(TEXT_WIDTH), MOST_WIDTH))
        wide = sum(button.sizeHint().width() for button in (self.install, self.search, self.folder)) > MOST_WIDTH
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if wide else QBoxLayout.Direction.LeftToRight)

    def show_progress(self, step: str, done: float) -> None:
        """`done` from 0 to 1; below 0: unknown."""
        self._set_busy(True)
        self.error.hide()
        self.step.setText(step)
        self.bar.setAccessibleName(step)
        self.bar.setRange(0, 0 if done < 0 else 1000)
        self.bar.setValue(int(done * 1000))

    def show_idle(self) -> None:
        self._set_busy(False)

    def show_error(self, error: AppError) -> None:
        self._set_busy(False)
        self.error.setText(str(error))
        self.error.setToolTip(formats.tip(error.detail))
        self.error.show()

    def _set_busy(self, busy: bool) -> None:
        held = any(button.hasFocus() for button in (self.install, self.search, self.folder, self.cancel))
        for widget in (self.step, self.bar, self.cancel):
            widget.setVisible(busy)
        if held:  # else Qt would take the focus to the next thing in the window
            self.install.setVisible(True)
            (self.cancel if busy else self.install).setFocus()
        self.install.setVisible(not busy)
        self.search.setVisible(not busy)
        self.folder.setVisible(not busy)


def _middle(label: QLabel) -> QHBoxLayout:
    """An alignment would ask it for its height at the whole width."""
    row = QHBoxLayout()
    row.addStretch()
    row.addWidget(label)
    row.addStretch()
    return row
