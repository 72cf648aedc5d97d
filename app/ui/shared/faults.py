"""The one place where an exception that nobody caught ends up: in the log, and before the user."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QMainWindow

from app.log import describe, redact
from app.ui.shared import formats

_MOST_LETTERS = 200  # of an error in a notice

log = logging.getLogger(__name__)


class Faults(QObject):
    """`reported(text)` arrives in the window's thread, whichever thread failed."""

    reported = Signal(str)

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.reported.connect(self.on_reported)

    def handle(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        log.error("not caught:\n%s", describe(error))
        self.reported.emit(formats.short(redact(f"{kind.__name__}: {error}"), _MOST_LETTERS))

    def handle_thread(self, failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None:
            self.handle(failed.exc_type, failed.exc_value, failed.exc_traceback)

    def on_reported(self, text: str) -> None:
        words = self.tr("Something went wrong in the program; your conversations are kept. The log says more. ({0})")
        words = words.format(text)
        for widget in QApplication.topLevelWidgets():
            notices = getattr(widget, "notices", None)
            if isinstance(widget, QMainWindow) and notices is not None:
                notices.show_notice(words, trouble=True)


def install(app: QApplication) -> Faults:
    """Take over the interpreter's hooks for exceptions in slots and in threads."""
    faults = Faults(app)
    sys.excepthook = faults.handle
    threading.excepthook = faults.handle_thread
    return faults
