"""The application's parts, in the order in which they come up and go down: window first, then the engine's thread."""

from __future__ import annotations

import logging
import os
import sqlite3
import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import paths
from app.library.conversations import Library
from app.library.snapshots import SnapshotStore
from app.settings import Settings
from app.ui import faults, theme
from app.ui.main_window import MainWindow
from app.work.engine_thread import EngineThread

logger = logging.getLogger(__name__)


def make_application() -> QApplication:
    """The QApplication with its theme. Without a display on Linux the offscreen platform serves."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication(sys.argv[:1])
    app.setApplicationName("TurboQuant Chat")
    app.setWindowIcon(theme.app_icon())
    theme.theme()
    faults.install(app)
    return app


def open_window(model: str = "") -> tuple[MainWindow, EngineThread]:
    """The window on screen; its engine starts with the first turn of the event loop. Raises AppError.

    `model` is a folder to load; by default the one used last, or the starter.
    """
    from app.engine import starter

    library, settings = Library(), Settings()
    if model:
        settings.set("model", model)
    forget_lost_snapshots(library)
    engine = EngineThread()
    window = MainWindow(library, engine, settings, starter.installed, starter.install)
    window.start()  # its commands wait for the engine; what is shown says so from the first paint on
    window.show()
    QApplication.processEvents()  # painted once, before the engine's imports compete for the interpreter
    QTimer.singleShot(0, engine, engine.start)
    return window, engine


def forget_lost_snapshots(library: Library) -> None:
    """Cache files without a conversation go; a full folder gives up its oldest."""
    ids = [conversation.id for conversation in library.conversations()]
    lost = SnapshotStore(paths.snapshots_dir()).tidy(ids)
    try:
        library.forget_snapshots(lost)
    except sqlite3.Error as error:
        logger.warning("lost caches stay in the list: %s", error)


def finish(window: MainWindow, engine: EngineThread, code: int) -> int:
    """End the engine, which saves changed caches, then the library. A stuck native call must not keep the process."""
    ended = engine.shutdown()
    try:
        window.close_library()
    except (OSError, sqlite3.Error) as error:
        logger.error("what was said last could not be written: %s", error)
    if not ended:
        logger.warning("the engine's thread did not end in time")
        logging.shutdown()
        os._exit(code)
    return code
