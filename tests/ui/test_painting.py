"""An exception while a widget is painted: in a process of its own, since what is tested for is a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_CHILD = """
import importlib, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
app = QApplication([])
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

bench = Bench(FakeEngine(lambda prompt: "<think>\\n> a quote\\n\\n- a point"), Path(sys.argv[1]))
bench.load()
bench.say("hello")
bench.pick("turbo2")
bench.window.notices.show_notice("a notice")
failed = []
sys.excepthook = lambda kind, error, trace: failed.append(error)

class Broken:
    def __init__(self, *_):
        raise ValueError("no colour")

names, broken = sys.argv[2:], []

def on_tick():
    # PySide raises a paint event's exception in whatever Python calls next, so nothing here may follow a failure.
    if broken:
        name, module, colour = broken.pop()
        module.QColor = colour
        print(name, sum("no colour" in str(error) for error in failed), flush=True)
        failed.clear()
    if not names:
        app.quit()
        return
    name = names.pop(0)
    module = importlib.import_module("app.ui." + name)
    broken.append((name, module, module.QColor))
    module.QColor = Broken
    bench.window.hide()
    bench.window.show()

timer = QTimer(interval=150)
timer.timeout.connect(on_tick)
timer.start()
QTimer.singleShot(20000, lambda: app.exit(3))
timer.start()
code = app.exec()
print(*failed[-3:], sep='\\n', file=sys.stderr)
sys.exit(code)
"""


PAINTED = (
    "shared.painting",
    "shared.cards",
    "transcript.user_bubble",
    "text.text_pane",
    "shared.notice_bar",
    "memory.memory_chart",
    "memory.engagement",
    "memory.scheme_picker",
    "conversations.conversation_list",
    "transcript.sections",
)


def test_an_exception_while_painting_does_not_end_the_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tmp_path), *PAINTED],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "TURBOQUANT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    counts = dict(line.split() for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert tuple(counts) == PAINTED
    assert "0" not in counts.values(), counts  # each was painted, and each failed
