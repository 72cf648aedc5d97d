"""What every desktop program has, for tests.ui.screenshots: list, search, preferences, help, text size."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.errors import AppError
from app.events import SaveSnapshots
from tests.ui.scene import Scene
from tests.ui.screenshots_models import shoot_over

TITLES = (
    (0, "Refactor the parser"),
    (0, "A name for a boat"),
    (1, "Letter to the landlord"),
    (3, "SQL window functions, slowly and with examples"),
    (12, "Trip to Trieste"),
    (70, "Tea"),
)


def fill(scene: Scene) -> None:
    """Conversations of several days, one of them pinned."""
    for days, title in reversed(TITLES):
        scene.window.chat.new()
        scene.say(f"{title}: here is the module, please")
        conversation = scene.window.chat.current
        scene.library.rename(conversation, title)
        stamp = time.time() - days * 86_400
        scene.library._db.execute("UPDATE conversations SET updated = ? WHERE id = ?", (stamp, conversation))
        if title == "Trip to Trieste":
            scene.library.pin(conversation, True)
    scene.window.chat.open(scene.window.chat.current)
    scene.wait()


def play(scene: Scene) -> None:
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    fill(scene)
    scene.engine.submit(SaveSnapshots())
    scene.wait()
    scene.shoot("conversations")
    window.sidebar.search.setText("header")
    QTest.qWait(200)
    scene.shoot("search")
    window.sidebar.search.setText("nothing like it")
    QTest.qWait(200)
    scene.shoot("search-nothing")
    window.sidebar.search.clear()
    preferences(scene)
    help_pages(scene)
    for percent in (150, 80):
        window.configuring.appearance.set_percent(percent)
        QTest.qWait(60)
        scene.shoot(f"text-{percent}")
    window.configuring.appearance.set_percent(100)
    scene.engine.model_errors["/models/Broken"] = AppError("Broken can't be loaded: a file is cut short.", "Repair it.")
    window.load_model("/models/Broken")
    scene.wait()
    scene.shoot("load-failed")


def preferences(scene: Scene) -> None:
    window = scene.window
    window.configuring.on_general()
    scene.wait()
    shown = window.configuring.window
    assert shown is not None
    for row in range(shown.list.count()):
        shown.list.setCurrentRow(row)
        scene.wait()
        shoot_over(scene, f"preferences-{shown.list.item(row).text().lower()}", centred(shown, window))
    shown.close()


def help_pages(scene: Scene) -> None:
    window, help_ = scene.window, scene.window.help
    help_.on_about()
    assert help_.about is not None
    QTest.qWait(50)
    shoot_over(scene, "about", centred(help_.about, window))
    help_.about.on_licences()
    assert help_.about.licences is not None
    while not help_.about.licences.list.count():
        QTest.qWait(50)
    shoot_over(scene, "licences", centred(help_.about.licences, window))
    help_.about.licences.close()
    help_.about.close()
    help_.on_shortcuts()
    assert help_.shortcuts is not None
    QTest.qWait(50)
    shoot_over(scene, "shortcuts", centred(help_.shortcuts, window))
    help_.shortcuts.close()
    help_.tell_of_crash(Path())
    assert help_.notice is not None
    QTest.qWait(50)
    shoot_over(scene, "crash", centred(help_.notice, window))
    help_.notice.close()


def centred(dialog: QWidget, window: QWidget) -> QWidget:
    """Where a window manager would put it."""
    dialog.move(window.geometry().center() - dialog.rect().center())
    QApplication.processEvents()
    return dialog
