"""Python's collector of cycles, kept to the window's thread.

Python collects in whatever thread makes an object. A Qt object that ends in another thread than its own waits for a
lock that Qt holds, while the window's thread waits for Python's: for ever, which was seen.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

INTERVAL_MS = 500
# A window's thread that is held up longer collects by itself, later.
LONGEST_S = 5.0


class Collector(QObject):
    """Belongs to the window's thread. From `start` to `stop` nothing is collected in any other."""

    _asked = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked.connect(self.on_asked)
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.on_tick)

    def start(self) -> None:
        gc.disable()
        gc.collect()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        gc.enable()

    def collect(self, given_up: Callable[[], bool]) -> None:
        """For another thread: have everything collected, and wait until that is done or `given_up` says so."""
        done = threading.Event()
        self._asked.emit(done)
        for _ in range(round(LONGEST_S / 0.05)):
            if done.wait(0.05) or given_up():
                return

    def on_asked(self, done: threading.Event) -> None:
        gc.collect()
        done.set()

    def on_tick(self) -> None:
        """The oldest generation that is due, as Python itself chooses it."""
        due = [
            n for n, (count, most) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True)) if count > most
        ]
        if due:
            gc.collect(due[-1])
