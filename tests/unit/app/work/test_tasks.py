"""Short background jobs: answers come in the window's thread, or not at all."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.errors import AppError, Interrupted
from app.work.tasks import Tasks


class Hearer(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, object, str]] = []

    def on_done(self, result: object) -> None:
        self.heard.append(("done", result, threading.current_thread().name))

    def on_failed(self, error: AppError) -> None:
        self.heard.append(("failed", error.message, threading.current_thread().name))


@pytest.fixture
def hearer(qtbot: QtBot) -> Hearer:
    return Hearer()


def test_answers_come_in_the_windows_thread(qtbot: QtBot, hearer: Hearer) -> None:
    Tasks(hearer).run(lambda: threading.current_thread().name, hearer.on_done, hearer.on_failed)
    qtbot.waitUntil(lambda: bool(hearer.heard))
    assert hearer.heard == [("done", "task", "MainThread")]


@pytest.mark.parametrize(
    ("raised", "message"),
    [(AppError("Nothing there."), "Nothing there."), (KeyError("x"), "Something went wrong in the program")],
)
def test_failures_are_told(qtbot: QtBot, hearer: Hearer, raised: Exception, message: str) -> None:
    def work() -> None:
        raise raised

    Tasks(hearer).run(work, hearer.on_done, hearer.on_failed)
    qtbot.waitUntil(lambda: bool(hearer.heard))
    kind, told, thread = hearer.heard[0]
    assert (kind, thread) == ("failed", "MainThread")
    assert str(told).startswith(message)


def test_a_cancelled_job_is_not_heard(qtbot: QtBot, hearer: Hearer) -> None:
    go_on, tasks = threading.Event(), Tasks(hearer)
    task = tasks.run(go_on.wait, hearer.on_done, hearer.on_failed)
    with qtbot.waitSignal(task.destroyed):
        task.cancel()
        go_on.set()
    assert hearer.heard == []


def test_an_interrupted_job_is_not_a_failure(qtbot: QtBot, hearer: Hearer) -> None:
    go_on, tasks = threading.Event(), Tasks(hearer)

    def work() -> None:
        go_on.wait()
        raise Interrupted

    task = tasks.run(work, hearer.on_done, hearer.on_failed)
    with qtbot.waitSignal(task.destroyed):
        go_on.set()
    assert hearer.heard == []


def test_a_job_outlives_its_window(qtbot: QtBot, hearer: Hearer) -> None:
    go_on = threading.Event()

    owner = QObject()
    task = Tasks(owner).run(go_on.wait, hearer.on_done, hearer.on_failed)
    thread = next(t for t in threading.enumerate() if t.name == "task" and t.is_alive())
    with qtbot.waitSignal(task.destroyed):
        owner.deleteLater()
    go_on.set()
    thread.join(5)
    assert not thread.is_alive()
    assert hearer.heard == []
