"""`python -m tests.ui.screenshots DIR [chat|branches|composer|models|desktop|german]`: the window in its states.

Light and dark. Engine and hub are scripted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.errors import AppError
from app.ui.shared import language, theme
from tests.ui import (
    screenshots_branches,
    screenshots_composer,
    screenshots_desktop,
    screenshots_german,
    screenshots_models,
    screenshots_transcript,
)
from tests.ui.scene import FILLER, Scene


def play(folder: Path) -> None:
    scene = Scene(folder)
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.start()
    scene.shoot("welcome")
    window.welcome.show_progress("Fetching the model (93 MB)", 0.42)
    scene.shoot("welcome-progress")
    window.welcome.show_error(AppError("The model couldn't be fetched.", "Check the network and try again."))
    scene.shoot("welcome-error")
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    window.chat.on_scheme_picked("turbo0v4")
    scene.shoot("empty")
    scene.say("Here is the module. Which function does two things?\n\n" + FILLER)
    scene.pick("turbo2")
    scene.say("And the tests?")
    scene.shoot("chat")
    chart = window.panel.chart
    place = QPointF(chart.width() * 0.45, chart.height() * 0.5)
    chart.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, place, chart.mapToGlobal(place), Qt.MouseButton.NoButton,
                                     Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier))  # fmt: skip
    scene.shoot("hover")
    chart.leaveEvent(QEvent(QEvent.Type.Leave))
    window.transcript.verticalScrollBar().setValue(0)
    scene.shoot("scrolled-up")
    window.transcript.follow()
    window.panel.picker.showPopup()
    QTest.qWait(50)
    for dark in (False, True):
        theme.theme().force(dark)
        QTest.qWait(40)
        window.panel.picker.view().window().grab().save(str(folder / f"dropdown-{'dark' if dark else 'light'}.png"))
    window.panel.picker.hidePopup()
    scene.engine.hold = True
    scene.say("One more about the module, please.")
    scene.engine.hold = False
    for _ in range(14):
        scene.engine.on_step()
    scene.engine.hold = True
    QTest.qWait(80)
    window.chat.on_scheme_picked("turbo4")
    scene.shoot("streaming")
    scene.engine.hold = False
    scene.wait()
    scene.engine.fail_next = AppError("The reply stopped: MLX ran out of memory.", "Pick a smaller scheme.")
    scene.say("What now?")
    window.notices.show_notice("The saved cache of this conversation can't be used. The text is whole.")
    scene.shoot("failed")
    window.resize(900, 600)
    scene.shoot("small")
    window.resize(640, 480)
    scene.shoot("tiny")
    window.resize(1280, 800)
    scene.engine.hold = True
    window.chat.on_scheme_picked("turbo8v4")
    scene.engine.hold = False
    for _ in range(4):
        scene.engine.on_step()
    scene.engine.hold = True
    scene.shoot("rebuilding")
    scene.engine.hold = False
    scene.wait()
    scene.engine.context = 2000
    scene.say("And all of it once more: " + FILLER)
    scene.shoot("context-full")
    window.chat.choices.on_take_back()
    window.composer.edit.clear()
    scene.engine.context = 8192
    for days, title in (
        (0, "A second one today"),
        (1, "SQL window functions"),
        (1, "Letter to the landlord"),
        (9, "Tea"),
    ):
        window.chat.new()
        scene.say(title)
        stamp = time.time() - days * 86_400
        scene.library._db.execute("UPDATE conversations SET updated = ? WHERE id = ?", (stamp, window.chat.current))
    window.chat.delete(window.chat.newest())
    window.chat.open(window.chat.newest())
    scene.wait()
    scene.shoot("list")
    window.tool_bar.menu_button.menu().popup(window.mapToGlobal(QPoint(900, 60)))
    QTest.qWait(60)
    for dark in (False, True):
        theme.theme().force(dark)
        window.tool_bar.menu_button.menu().grab().save(str(folder / f"menu-{'dark' if dark else 'light'}.png"))
    theme.theme().force(False)
    window.tool_bar.menu_button.menu().close()
    window.chat.new()
    scene.say("Say something in hebrew, please: שלום")
    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    scene.shoot("right-to-left")
    QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def main() -> None:
    app = QApplication(sys.argv)
    theme.theme()
    language.install(app, "en")
    known = ["chat", "transcript", "branches", "composer", "models", "desktop", "german"]
    folder, parts = Path(sys.argv[1]), sys.argv[2:] or known
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        os.environ["TURBOQUANT_HOME"] = tempfile.mkdtemp(prefix="turboquant-screenshots-")  # nothing of the part before
        if part == "chat":
            play(folder)
        elif part == "transcript":
            screenshots_transcript.play(Scene(folder))
        elif part == "branches":
            screenshots_branches.play(Scene(folder))
        elif part == "composer":
            screenshots_composer.play(Scene(folder))
        elif part == "models":
            screenshots_models.play(Scene(folder))
        elif part == "desktop":
            screenshots_desktop.play(Scene(folder))
        else:
            screenshots_german.play(folder)
    app.quit()


if __name__ == "__main__":
    main()
