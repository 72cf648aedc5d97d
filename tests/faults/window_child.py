"""The window in a process of its own, to be killed while the scripted engine answers.

    python -m tests.faults.window_child HOME submit|stream

submit: prints a line when the engine is asked, and then hangs. stream: prints how many words have come, as they come.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app import events as ev
from app.library.conversations import Library
from app.settings import Settings
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import make_application
from tests.ui.fake_engine import MODEL, FakeEngine
from tests.ui.fake_hub import FakeHub

WORDS = 5000
WORD_MS = 25  # between two of them


class Told(FakeEngine):
    """Says what it is asked and what it answers."""

    def __init__(self, hang: bool) -> None:
        super().__init__(lambda prompt: "word " * WORDS)
        self._hang = hang

    def submit(self, command: ev.Command) -> None:
        if self._hang and isinstance(command, ev.Generate):
            print(0, flush=True)
            signal.pause()
        super().submit(command)

    def on_step(self) -> None:
        super().on_step()
        if not self._hang and self._jobs and isinstance(self._jobs[0].command, ev.Generate):
            self._timer.setInterval(WORD_MS)


def main(home: Path, what: str) -> None:
    app = make_application()
    engine, library = Told(what == "submit"), Library(home / "library.db")
    window = MainWindow(
        library, engine, FakeHub(), Settings(home / "settings.json"), lambda: None, lambda progress: home
    )
    window.show()
    window.load_model(MODEL)
    while engine.busy:
        engine.on_step()
    engine.event_emitted.connect(on_event)
    window.composer.edit.setPlainText("Count")
    QTest.keyClick(window.composer.edit, Qt.Key.Key_Return)
    app.exec()


def on_event(event: ev.Event) -> None:
    if isinstance(event, ev.TokenBatch):
        print(event.generated_tokens, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
