"""`python -m tests.benchmarks.transcript`: how long 500 messages take to open, and how a reply of 20,000 characters
holds up the event loop behind them; plain, and with thoughts, formulas and code.

Prints one JSON object a line. `gap` is the wait between two ticks of a timer that should fire each millisecond, `work`
the window's own processor time in it: on a busy machine only that says what the program does.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["TURBOQUANT_HOME"] = tempfile.mkdtemp(prefix="turboquant-transcript-")

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.events import TurnFinished
from app.library.conversations import Library
from app.settings import Settings
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import make_application
from tests.ui.fake_engine import FakeEngine
from tests.ui.fake_hub import FakeHub

LETTERS = 20_000
MESSAGES = 500
EVENT_MS = 6  # between two words of a reply: more than 100 tokens a second

PROSE = "A sentence about the weather on the coast, with *some* stress and a `name` in it; nothing special. "
KINDS = {
    "prose": [PROSE * 4, "## A heading\n\n" + PROSE * 3, "- " + "\n- ".join([PROSE] * 5)],
    "one list": ["1. **Point** " + PROSE + "\n   - " + PROSE + "\n   - " + PROSE],
    "code": [PROSE, "```python\n" + "def part(value: int) -> int:\n    return value + 1  # one line\n" * 12 + "```"],
    "one program": ["def part(value: int) -> int:\n    return value + 1  # one line\n" * 10],
    "formulas": [PROSE + r"Here $x_{k+1} = x_k - \eta \nabla f(x_k)$ holds.",
                 r"$$\sum_{i=1}^{n} \frac{a_i^2}{\sqrt{b_i}} = \begin{pmatrix} a & b \\ c & d \end{pmatrix}$$"],
    "table": ["| a | b | c |\n|---|--:|---|\n" + "| some words | 12.5 | more words in here |\n" * 12],
}  # fmt: skip


def reply(kind: str, letters: int = LETTERS) -> str:
    pieces, size, number = [], 0, 0
    while size < letters:
        piece = KINDS[kind][number % len(KINDS[kind])]
        # Each formula is another one: a repeated one would only be looked up.
        piece = piece.replace(r"\eta", rf"\eta_{{{number}}}").replace("a_i", f"a_{{i,{number}}}")
        pieces.append(piece)
        size, number = size + len(piece), number + 1
    text = ("\n" if kind in ("one list", "one program") else "\n\n").join(pieces)
    return f"```python\n{text}\n```" if kind == "one program" else text


def thoughtful(kind: str) -> str:
    text = reply(kind, LETTERS // 2)
    return f"<think>\n{text}\n</think>\n\n{text}"


class Gaps:
    def __init__(self) -> None:
        self.found: list[tuple[float, float]] = []
        self._last = (0.0, 0.0)
        self._timer = QTimer(interval=1)
        self._timer.timeout.connect(self.on_tick)

    def start(self) -> None:
        self._last = (time.perf_counter(), time.thread_time())
        self._timer.start()

    def on_tick(self) -> None:
        now = (time.perf_counter(), time.thread_time())
        self.found.append((now[0] - self._last[0], now[1] - self._last[1]))
        self._last = now

    def figures(self) -> dict[str, float]:
        self._timer.stop()
        made: dict[str, float] = {"ticks": len(self.found)}
        for name, values in zip(("gap", "work"), zip(*self.found, strict=True), strict=True):
            ordered = sorted(values)
            made[f"{name}_p99_ms"] = round(1000 * ordered[int(len(ordered) * 0.99)], 1)
            made[f"{name}_max_ms"] = round(1000 * ordered[-1], 1)
        return made


class Bench:
    def __init__(self) -> None:
        self.engine = FakeEngine(interval_ms=EVENT_MS, context=10_000_000)
        self.library = Library()
        self.window = MainWindow(
            self.library, self.engine, FakeHub(), Settings(), lambda: None, lambda progress: Path()
        )
        self.window.resize(1280, 800)
        self.window.show()
        self.window.load_model("/models/scripted")
        while self.window.chat.model is None:
            QApplication.processEvents()

    def stored(self, kind: str) -> str:
        """500 messages of about 1,200 letters each."""
        conversation = self.library.create("turbo4", "scripted")
        for number in range(MESSAGES // 2):
            self.library.add_user_message(conversation.id, f"Question {number}: " + PROSE * 3)
            place = self.library.begin_reply(conversation.id, "turbo4")
            text = reply(kind, 1200).replace("weather", f"weather {number}")
            self.library.finish_reply(
                TurnFinished(conversation.id, place.id, "stop", "turbo4", text, 100, 50, 20, 80.0, 40.0)
            )
        return conversation.id

    def open(self, conversation: str) -> dict[str, float]:
        self.window.chat.new()
        QApplication.processEvents()
        wall, work = time.perf_counter(), time.thread_time()
        self.window.chat.open(conversation)
        QApplication.processEvents()
        self.window.grab()
        return {"open_s": round(time.perf_counter() - wall, 3), "open_work_s": round(time.thread_time() - work, 3)}

    def stream(self, text: str) -> dict[str, float]:
        self.engine.reply = lambda prompt: text
        while self.engine.busy:
            QApplication.processEvents()
        self.window.composer.edit.setPlainText("Go on.")
        gaps = Gaps()
        gaps.start()
        self.window.composer.on_submitted()
        while self.window.chat.generating:
            QApplication.processEvents()
            time.sleep(0.0003)
        return gaps.figures()


def main() -> None:
    app = make_application()
    bench = Bench()
    for kind in sys.argv[1:] or KINDS:
        conversation = bench.stored(kind if kind not in ("one list", "one program") else "prose")
        opened = bench.open(conversation)
        for name, text in ((kind, reply(kind)), (f"thinking, {kind}", thoughtful(kind))):
            print(json.dumps({"reply": name, "letters": len(text), **opened, **bench.stream(text)}), flush=True)
    app.quit()


if __name__ == "__main__":
    main()
