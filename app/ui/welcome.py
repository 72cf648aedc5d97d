"""What stands in the middle while there is no model: install the starter, or add a folder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError, Interrupted
from app.ui import theme

TEXT_WIDTH = 460

Install = Callable[[Callable[[str, float], None]], Path]


class InstallJob(QObject):
    """Installs the starter model in a thread of its own. Signals arrive in the window's thread."""

    progressed = Signal(str, float)
    finished = Signal(str)
    failed = Signal(object)  # AppError; None: the user cancelled

    def __init__(self, install: Install, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._install = install
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        if not self.running:
            self._cancel.clear()
            self._thread = threading.Thread(target=self._run, name="install", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        self._cancel.set()

    def shutdown(self, timeout_s: float) -> None:
        self.cancel()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            folder = self._install(self._report)
        except Interrupted:
            self.failed.emit(None)
        except AppError as error:
            self.failed.emit(error)
        except Exception as error:
            self.failed.emit(AppError("The model couldn't be installed. Nothing was kept of it.", detail=repr(error)))
        else:
            self.finished.emit(str(folder))

    def _report(self, step: str, done: float) -> None:
        if self._cancel.is_set():
            raise Interrupted
        self.progressed.emit(step, done)


class Welcome(QWidget):
    """`install_clicked`, `cancel_clicked`, `folder_clicked`; the rest is shown by calls."""

    install_clicked = Signal()
    cancel_clicked = Signal()
    folder_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        outer = QHBoxLayout(self)
        column = QVBoxLayout()
        column.setSpacing(12)
        outer.addStretch(1)
        outer.addLayout(column)
        outer.addStretch(1)
        column.addStretch(2)
        logo = QLabel(self)
        logo.setPixmap(theme.app_icon().pixmap(64, 64))
        title = QLabel(self.tr("Chat with a model on this computer"), self)
        title.setFont(theme.font(1.6, bold=True))
        text = QLabel(
            self.tr(
                "Nothing you write leaves it. Start with a small model (93 MB to download, works offline "
                "afterwards), or add a folder that holds an MLX model."
            ),
            self,
        )
        text.setProperty("role", "muted")
        self.install = QPushButton(self.tr("Install the starter model"), self)
        self.install.setProperty("role", "primary")
        self.install.clicked.connect(self.install_clicked)
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
        for label in (logo, title, text, self.step, self.error):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            label.setFixedWidth(TEXT_WIDTH)
        column.addWidget(logo)
        column.addWidget(title)
        column.addWidget(text)
        row = QHBoxLayout()
        row.addStretch()
        row.addWidget(self.install)
        row.addWidget(self.folder)
        row.addWidget(self.cancel)
        row.addStretch()
        column.addSpacing(4)
        column.addLayout(row)
        column.addWidget(self.step)
        column.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self.error)
        column.addStretch(3)
        self._set_busy(False)
        self.error.hide()

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
        self.error.setToolTip(error.detail)
        self.error.show()

    def _set_busy(self, busy: bool) -> None:
        for widget in (self.step, self.bar, self.cancel):
            widget.setVisible(busy)
        self.install.setVisible(not busy)
        self.folder.setVisible(not busy)
