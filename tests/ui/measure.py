"""`python -m tests.ui.measure [MODEL_FOLDER]`: how long the window takes, and how long a reply holds up its event loop.

Prints one JSON object. With a model folder the real engine streams in its own thread; else the scripted one does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["TURBOQUANT_HOME"] = tempfile.mkdtemp(prefix="turboquant-measure-")

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import events as ev
from app.library.conversations import Library
from app.settings import Settings
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import finish, make_application, open_window
from tests.ui.fake_engine import FakeEngine
from tests.ui.fake_hub import FakeHub

LONG = "\n\n".join(
    f"## Part {n}\n\nA paragraph with `code` and **bold** text that goes on for a while, number {n}.\n\n"
    f"```python\ndef part_{n}(value: int) -> int:\n    return value + {n}  # one line of code\n```"
    for n in range(120)
)


class Gaps:
    """Waits between two ticks of a timer that should fire each millisecond, in time and in this thread's own work.

    On a busy machine only the second says what the program itself does.
    """

    def __init__(self) -> None:
        self.found: list[float] = []
        self.work: list[float] = []
        self._last = self._last_work = 0.0
        self._timer = QTimer(interval=1)
        self._timer.timeout.connect(self.on_tick)

    def start(self) -> None:
        self._last, self._last_work = time.perf_counter(), time.thread_time()
        self._timer.start()

    def on_tick(self) -> None:
        now, work = time.perf_counter(), time.thread_time()
        self.found.append(now - self._last)
        self.work.append(work - self._last_work)
        self._last, self._last_work = now, work

    def figures(self) -> dict[str, float]:
        self._timer.stop()
        ordered = sorted(self.found)
        return {
            "ticks": len(ordered),
            "gap_p50_ms": round(1000 * ordered[len(ordered) // 2], 2),
            "gap_p99_ms": round(1000 * ordered[int(len(ordered) * 0.99)], 2),
            "gap_max_ms": round(1000 * ordered[-1], 2),
            "work_max_ms": round(1000 * max(self.work), 2),
        }


def start_s() -> float:
    """From the start of a process to the window's first paint, without MLX."""
    program = (
        "import time, sys; from app.ui.window.startup import make_application, open_window; app = make_application();"
        "w, e = open_window(); print(time.time()); assert 'mlx.core' not in sys.modules;"
        "import os; sys.stdout.flush(); os._exit(0)"
    )
    times = []
    for _ in range(3):
        before = time.time()
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        times.append(float(done.stdout.split()[-1]) - before)
    return round(min(times), 2)


def streaming(model: str) -> dict[str, float]:
    if model:
        window, engine = open_window(model)
    else:
        engine = FakeEngine(lambda prompt: LONG)
        window = MainWindow(Library(), engine, FakeHub(), Settings(), lambda: None, lambda report: Path())
        window.show()
        window.load_model("/models/scripted")
    window.resize(1280, 800)
    ended: list[ev.Event] = []
    while window.chat.model is None:
        QApplication.processEvents()
        time.sleep(0.001)
    window.chat.turn_changed.connect(lambda: None if window.chat.generating else ended.append(window))
    window.chat.generation.start_with({"temperature": 0.0, "max_tokens": 200})
    window.composer.edit.setPlainText("Write a Python function that converts Celsius to Fahrenheit, and explain it.")
    gaps = Gaps()
    gaps.start()
    window.composer.on_submitted()
    while window.chat.generating:
        QApplication.processEvents()
        time.sleep(0.0005)
    figures = gaps.figures()
    if model:
        finish(window, engine, 0)  # type: ignore[arg-type]
    return figures


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else ""
    app = make_application()
    print(json.dumps({"window_s": start_s(), "engine": "real" if model else "scripted", **streaming(model)}))
    app.quit()


if __name__ == "__main__":
    main()
