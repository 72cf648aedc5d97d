"""The program killed by its own native code in the middle of a reply: the next start explains, and loads nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app import crashes, paths
from app.engine.marker import Unfinished, WorkMarker
from app.ui.transcript.reply_view import ReplyView
from app.ui.window.startup import finish, open_window
from tests.engine_kit import make_model

ROOT = Path(__file__).parents[2]
WAIT_MS = 60_000

# The whole program. It says when the first words of a reply are on disk.
PROGRAM = """
import sys
import app.__main__ as program
from app.library.streaming import Streaming

put = Streaming.put

def told(streaming, message_id, text):
    put(streaming, message_id, text)
    print("written", flush=True)

Streaming.put = told
opened = program.open_window

def open_window():
    window, engine = opened(sys.argv[1])
    window.models.loaded.connect(lambda event: say(window))
    return window, engine

def say(window):
    window.composer.edit.setPlainText("hello the hello " * 40)
    window.composer.on_submitted()

program.open_window = open_window
sys.exit(program.main([]))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "Tiny-1B", context=60_000)


def ended_in_a_reply(model: Path, number: signal.Signals) -> int:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(model)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        child.send_signal(number)
        child.wait(60)
    return child.returncode


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_the_next_start_explains_and_loads_nothing(
    qtbot: QtBot, turboquant_home: Path, model: Path, number: signal.Signals
) -> None:
    assert ended_in_a_reply(model, number) == -number
    assert crashes.begin(paths.logs_dir()) is not None
    report = crashes.reports(paths.logs_dir())[0].read_text()
    assert ("Current thread" in report or "Thread 0x" in report) == (number != signal.SIGKILL)
    window, engine = open_window()
    try:
        box = window.resuming.box
        assert box is not None
        assert box.text.startswith(
            "The program ended unexpectedly while Tiny-1B was writing a reply in “hello the hello"
        )
        assert "no model was loaded" in box.details
        assert window.chat.model is None
        assert not window.models.loading
        (reply,) = [item for item in window.transcript.items() if isinstance(item, ReplyView)]
        assert reply.source(), "what was written of the reply is there"
        assert isinstance(window.resuming.load, QPushButton)
        assert window.resuming.load.text() == "Load Tiny-1B"
        window.resuming.load.click()
        qtbot.waitUntil(lambda: window.chat.model is not None, timeout=WAIT_MS)
        assert WorkMarker(paths.snapshots_dir()).read() is None
    finally:
        window.close()
        assert finish(window, engine, 0) == 0
        window.deleteLater()


def test_a_signal_to_end_is_no_crash(qtbot: QtBot, turboquant_home: Path, model: Path) -> None:
    assert ended_in_a_reply(model, signal.SIGTERM) == 0
    assert WorkMarker(paths.snapshots_dir()).read() is None
    assert crashes.begin(paths.logs_dir()) is None
    window, engine = open_window()
    assert window.resuming.box is None
    assert window.models.loading == "Tiny-1B"
    window.close()
    assert finish(window, engine, 0) == 0
    window.deleteLater()


def test_a_saved_cache_that_ended_the_program_goes(qtbot: QtBot, turboquant_home: Path, model: Path) -> None:
    """A crash while it was read would come again with the next load."""
    folder = paths.snapshots_dir()
    window, engine = open_window()
    conversation = window._library.create("turbo4", title="Old").id
    window.close()
    finish(window, engine, 0)
    window.deleteLater()
    file = folder / f"{conversation}.tqcache"
    file.write_bytes(b"bad")
    WorkMarker(folder).set(Unfinished("open", str(model), conversation, file.name))
    window, engine = open_window()
    assert not file.exists()
    assert window.resuming.box is not None
    assert "saved cache of “Old” was read for Tiny-1B" in window.resuming.box.text
    assert "removed" in window.resuming.box.details
    assert window.resuming.other is not None
    window.resuming.other.click()
    assert window.pages.on_models
    window.close()
    finish(window, engine, 0)
    window.deleteLater()
