"""The program itself, whose window is closed in the middle of something.

    python -m tests.faults.closing_child load|prefill|reply|switch|save|download MODEL

Prints one JSON object: whether the engine's thread ended in time, and how long the end took. The exit status is the
program's.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from PySide6.QtCore import QObject, QTimer

import app.__main__ as program
from app import events as ev
from app import hub_events as hv
from app.ui.window import startup
from app.ui.window.main_window import MainWindow
from app.work.engine_thread import EngineThread

LONG = "Tell me of the sixth day, and of what was made on it. " * 60
REPO = "somebody/small"


class Closer(QObject):
    """Has the window do `what`, and closes it in its middle."""

    def __init__(self, what: str, window: MainWindow, engine: EngineThread) -> None:
        super().__init__(window)
        self._what, self._window, self.closed_at = what, window, 0.0
        self._at: dict[str, type] = {
            "load": ev.ModelLoading,
            "prefill": ev.PrefillProgress,
            "reply": ev.TokenBatch,
            "switch": ev.SwitchProgress,
            "save": ev.TurnFinished,
        }
        engine.event_emitted.connect(self.on_engine)
        window.hub.download_changed.connect(self.on_download)
        if what == "download":
            window.hub.ask(hv.Download(REPO))

    def on_engine(self, event: Any) -> None:
        chat = self._window.chat
        if isinstance(event, ev.ModelLoaded) and self._what != "download":
            chat.generation.start_with(
                {"temperature": 0.0, "max_tokens": 8 if self._what in ("save", "switch") else 400}
            )
            QTimer.singleShot(0, self.on_say)
        elif isinstance(event, ev.TurnFinished) and self._what == "switch":
            QTimer.singleShot(0, self.on_switch)
        if isinstance(event, self._at.get(self._what, ())):
            self.close()

    def on_say(self) -> None:
        self._window.composer.edit.setPlainText(
            LONG if self._what in ("prefill", "switch") else "Tell me of the sixth day."
        )
        self._window.composer.on_submitted()

    def on_switch(self) -> None:
        self._window.chat.on_scheme_picked("turbo8")  # more bits: the conversation is read again

    def on_download(self, status: hv.DownloadStatus) -> None:
        if self._what == "download" and status.done_bytes:
            self.close()

    def close(self) -> None:
        if not self.closed_at:
            self.closed_at = time.monotonic()
            self._window.close()


def main(what: str, model: str) -> int:
    told: dict[str, Any] = {}
    closers = []
    shutdown = EngineThread.shutdown

    def open_window() -> tuple[MainWindow, EngineThread]:
        window, engine = startup.open_window(model)
        closers.append(Closer(what, window, engine))
        return window, engine

    def watched(engine: EngineThread, timeout_s: float = 3.0) -> bool:
        told["ended"] = shutdown(engine, timeout_s)
        return told["ended"]

    program.open_window = open_window  # type: ignore[attr-defined]
    EngineThread.shutdown = watched  # type: ignore[method-assign]
    code = program.main([])
    print(json.dumps({**told, "seconds": round(time.monotonic() - closers[0].closed_at, 2)}), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
