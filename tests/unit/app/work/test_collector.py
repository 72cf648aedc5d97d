"""Cycles end in the window's thread, whichever thread makes garbage or asks for its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.work.collector import Collector


@pytest.fixture
def collector(qapp: object) -> Iterator[Collector]:
    collector = Collector()
    collector.start()
    yield collector
    collector.stop()


def leave_a_cycle() -> list[threading.Thread]:
    """A Qt object that only itself names; where it ends is told in the list."""
    ended: list[threading.Thread] = []

    class Lonely(QObject):
        def __del__(self) -> None:
            ended.append(threading.current_thread())

    lonely = Lonely()
    lonely.self = lonely  # type: ignore[attr-defined]
    return ended


def make_garbage() -> None:
    for _ in range(100_000):
        cycle: list[object] = []
        cycle.append(cycle)


def run(work: object) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def test_a_thread_that_makes_garbage_ends_nothing_of_qt(collector: Collector, qtbot: QtBot) -> None:
    ended = leave_a_cycle()
    run(make_garbage).join()
    assert not ended
    qtbot.waitUntil(lambda: bool(ended), timeout=120_000)
    assert ended == [threading.main_thread()]


def test_a_thread_waits_until_all_is_collected_elsewhere(collector: Collector, qtbot: QtBot) -> None:
    ended, seen = leave_a_cycle(), []
    thread = run(lambda: (collector.collect(lambda: False), seen.extend(ended)))
    qtbot.waitUntil(lambda: not thread.is_alive(), timeout=120_000)
    assert ended == seen == [threading.main_thread()]


def test_who_waits_gives_up_when_the_program_ends(collector: Collector) -> None:
    ended = leave_a_cycle()
    thread = run(lambda: collector.collect(lambda: True))
    thread.join(60)  # the window's thread stands in `join`, as when it closes
    assert not thread.is_alive()
    assert not ended
