"""Installing the starter model beside whatever else is on screen: on the welcome page, and in a notice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.errors import AppError, Interrupted
from app.ui.shared.notice_bar import Notice, NoticeBar
from app.ui.window.welcome import Welcome

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
            words = self.tr("The model couldn't be installed. Nothing was kept of it.")
            self.failed.emit(AppError(words, detail=repr(error)))
        else:
            self.finished.emit(str(folder))

    def _report(self, step: str, done: float) -> None:
        if self._cancel.is_set():
            raise Interrupted
        self.progressed.emit(step, done)


class StarterInstall(QObject):
    """`finished(folder)`. Shown in both places: which of them is on screen may change meanwhile."""

    finished = Signal(str)

    def __init__(self, install: Install, welcome: Welcome, notices: NoticeBar, parent: QObject) -> None:
        super().__init__(parent)
        self.job = InstallJob(install, self)
        self._welcome, self._notices = welcome, notices
        self._notice: Notice | None = None
        welcome.install_clicked.connect(self.start)
        welcome.cancel_clicked.connect(self.job.cancel)
        self.job.progressed.connect(self.on_progressed)
        self.job.finished.connect(self.on_finished)
        self.job.failed.connect(self.on_failed)

    def start(self) -> None:
        if self.job.running:
            return
        self.job.start()
        words = self.tr("Installing the starter model")
        self._notice = self._notices.show_notice(words, self.tr("Cancel"), self.job.cancel)
        if self._notice is not None:
            self._notice.dismissed.connect(self.on_notice_dismissed)
        self.on_progressed(self.tr("Starting"), -1)

    def on_progressed(self, step: str, done: float) -> None:
        self._welcome.show_progress(step, done)
        if self._notice is not None:
            share = f" · {done:.0%}" if done >= 0 else ""
            self._notice.set_text(self.tr("Installing the starter model: {0}").format(step) + share)

    def on_notice_dismissed(self) -> None:
        self._notice = None

    def on_finished(self, path: str) -> None:
        self._end()
        self.finished.emit(path)

    def on_failed(self, error: AppError | None) -> None:
        self._end()
        if error is not None:
            self._welcome.show_error(error)
            if not self._welcome.isVisible():
                self._notices.show_notice(str(error), trouble=True)

    def _end(self) -> None:
        self._welcome.show_idle()
        if self._notice is not None:
            self._notice.dismiss()
