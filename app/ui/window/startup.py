"""The application's parts, in the order in which they come up and go down: window first, then the engine's thread."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sqlite3
import sys

from PySide6.QtCore import QObject, QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from app import crashes, paths
from app.engine.marker import WorkMarker
from app.library.conversations import Library
from app.library.snapshots import SnapshotStore
from app.settings import Settings
from app.ui.conversations import storage
from app.ui.shared import faults, language, theme
from app.ui.window.main_window import MainWindow
from app.ui.window.opening import Application
from app.work.engine_thread import EngineThread
from app.work.hub_service import HubService

HUB_START_MS = 500  # its imports compete with the engine's

logger = logging.getLogger(__name__)


def without_display() -> bool:
    """Whether a window would be seen by nobody, and nobody has asked for that."""
    known = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform.startswith("linux") and not any(os.environ.get(name) for name in known)


def make_application() -> Application:
    """The application with its theme. Without a display on Linux the offscreen platform serves."""
    if without_display():
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    app = Application(sys.argv[:1])
    app.setApplicationName("TurboQuant Chat")
    app.setDesktopFileName("turboquant-chat")  # by it a Linux desktop finds the window's icon and menu entry
    app.setWindowIcon(theme.app_icon())
    theme.theme()
    faults.install(app)
    return app


def open_window(model: str = "") -> tuple[MainWindow, EngineThread]:
    """The window on screen; its engine starts with the first turn of the event loop. Raises AppError.

    `model` is a folder to load; by default the one used last, or the starter.
    """
    from app.engine import starter

    settings = Settings()
    app = QApplication.instance()
    assert app is not None
    language.install(app, language.chosen(settings))  # before anything has something to say
    library = Library()
    if model:
        settings.set("model", model)
    unfinished = WorkMarker(paths.snapshots_dir()).read()
    forget_lost_snapshots(library, storage.quota(settings), unfinished.file if unfinished else "")
    engine, hub = EngineThread(), HubService()
    window = MainWindow(library, engine, hub, settings, starter.installed, starter.install)
    window.start(unfinished)  # its commands wait for the engine; what is shown says so from the first paint on
    window.show()
    QApplication.processEvents()  # painted once, before the engine's imports compete for the interpreter
    QTimer.singleShot(0, engine, engine.start)
    QTimer.singleShot(HUB_START_MS, hub, hub.start)
    return window, engine


class EndSignals(QObject):
    """Ctrl-C, SIGTERM and a terminal that closes (SIGHUP) close the windows as a click would. `install` comes from the
    main thread, once.

    Python runs its handlers between two of its own instructions, which may be long after: Qt's loop waits in C++. So
    the signal writes a byte to a socket that the loop watches.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._heard, self._said = socket.socketpair()
        for end in (self._heard, self._said):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._heard.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self.on_signal)

    def install(self) -> None:
        signal.set_wakeup_fd(self._said.fileno(), warn_on_full_buffer=False)
        for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            signal.signal(number, lambda *_: None)  # without a handler of Python's own the socket stays silent

    def on_signal(self) -> None:
        self._heard.recv(64)
        logger.info("asked to end by a signal")
        QApplication.closeAllWindows()


def forget_lost_snapshots(library: Library, quota_bytes: int, suspect: str) -> None:
    """Cache files without a conversation go, and the `suspect` one; a full folder gives up its oldest."""
    store = SnapshotStore(paths.snapshots_dir())
    store.remove(file for file in store.files() if file.name == suspect)
    files = store.tidy(set(library.ids()), quota_bytes)
    try:
        library.caches.reconcile(files)
    except sqlite3.Error as error:
        logger.warning("lost caches stay in the list: %s", error)


def finish(window: MainWindow, engine: EngineThread, code: int) -> int:
    """End the engine, which saves changed caches, then the library. A stuck native call must not keep the process."""
    window.hub.shutdown()
    ended = engine.shutdown()
    try:
        window.close_library()
    except (OSError, sqlite3.Error) as error:
        logger.error("what was said last could not be written: %s", error)
    crashes.end(paths.logs_dir())
    if not ended:
        logger.warning("the engine's thread did not end in time")
        logging.shutdown()
        os._exit(code)
    return code
