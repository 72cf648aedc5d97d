"""The window with the real engine thread and a tiny model, and the scripted chat with the starter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui.shared.cards import Divider
from app.ui.transcript.reply_view import ReplyView
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import finish, open_window
from app.work.engine_thread import EngineThread
from tests.engine_kit import make_model

WAIT_MS = 60_000
CHOSEN = {"temperature": 0.0, "max_tokens": 40}


class Running:
    def __init__(self, qtbot: QtBot, model: Path) -> None:
        self.qtbot = qtbot
        self.window: MainWindow
        self.engine: EngineThread
        self.window, self.engine = open_window(str(model))
        self.window.chat.generation.start_with(CHOSEN)
        self.until(lambda: self.window.chat.model is not None)

    def until(self, done: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(done, timeout=WAIT_MS)

    def say(self, text: str) -> ReplyView:
        self.window.composer.edit.setPlainText(text)
        QTest.keyClick(self.window.composer.edit, Qt.Key.Key_Return)
        assert self.window.chat.generating
        self.until(lambda: not self.window.chat.generating)
        return self.replies()[-1]

    def pick(self, scheme: str) -> None:
        picker = self.window.panel.picker
        picker.activated.emit(picker.findText(scheme))
        self.until(lambda: self.window.chat.scheme == scheme)

    def replies(self) -> list[ReplyView]:
        return [item for item in self.window.transcript.items() if isinstance(item, ReplyView)]

    def quit(self) -> None:
        self.window.close()
        assert finish(self.window, self.engine, 0) == 0
        self.window.deleteLater()


def test_chat_switch_quit_reopen_and_go_on(qtbot: QtBot, turboquant_home: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "tiny")
    running = Running(qtbot, model)
    running.pick("turbo0v4")
    first = running.say("hello the hello " * 30)
    assert first.source()
    assert "reused 0 of" in first.figures
    used_before = running.window.panel.chart.history.points[-1].used_bytes
    running.pick("turbo2")
    running.until(lambda: running.window.panel.chart.history.points[-1].used_bytes < used_before)
    assert any(isinstance(item, Divider) for item in running.window.transcript.items())
    running.until(lambda: running.window.panel.engagement.headline.text() == "2 of 2 layers turbo2")
    running.say("more of the same")
    texts = [view.source() for view in running.replies()]
    running.quit()

    again = Running(qtbot, model)
    again.window.chat.open(again.window.chat.newest())
    assert [view.source() for view in again.replies()] == texts
    again.until(lambda: "loaded in" in again.window.panel.value("snapshot"))
    assert again.window.chat.scheme == "turbo2"
    last = again.say("and the end")
    reused, total = (int(word.replace(",", "")) for word in last.figures.split("reused ")[1].split(" ")[:3:2])
    assert reused > total * 0.8, last.figures
    again.quit()


def test_closing_in_the_middle_of_a_reply_keeps_it(qtbot: QtBot, turboquant_home: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "tiny")
    running = Running(qtbot, model)
    running.window.chat.generation.apply({"temperature": 0.0, "max_tokens": 3000})
    running.window.composer.edit.setPlainText("hello the hello")
    QTest.keyClick(running.window.composer.edit, Qt.Key.Key_Return)
    running.until(lambda: bool(running.replies()[-1].source()))
    written = running.replies()[-1].source()
    running.quit()
    again = Running(qtbot, model)
    again.window.chat.open(again.window.chat.newest())
    assert again.replies()[-1].source().startswith(written)
    again.quit()


def run_program(home: Path, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TURBOQUANT_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_window_is_on_screen_before_mlx_is_imported(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        "import sys, os; from app.ui.window.startup import make_application, open_window\n"
        "app = make_application(); window, engine = open_window(); assert window.isVisible()\n"
        "print([name for name in sys.modules if name.startswith(('mlx', 'transformers', 'numba'))], flush=True)\n"
        "os._exit(0)",
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("wait_ms", [0, 700])
def test_closing_while_the_engine_starts_ends_well(tmp_path: Path, wait_ms: int) -> None:
    make_model(tmp_path / "tiny")
    done = run_program(
        tmp_path,
        "import sys; from PySide6.QtCore import QTimer; import app.ui.window.startup as program\n"
        "app = program.make_application()\n"
        f"window, engine = program.open_window({str(tmp_path / 'tiny')!r})\n"
        f"QTimer.singleShot({wait_ms}, window, window.close)\n"
        "sys.exit(program.finish(window, engine, app.exec()))",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_scripted_chat(starter_model_path: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "data" / "models").mkdir(parents=True)
    (home / "data" / "models" / starter_model_path.name).symlink_to(starter_model_path)
    out = tmp_path / "demo"
    done = subprocess.run(
        [sys.executable, "-m", "app", "--demo", str(out)],
        env={**os.environ, "TURBOQUANT_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert list(report) == ["model", "backend", "turns", "switches", "reopen", "screenshots"]
    assert [turn["scheme"] for turn in report["turns"]] == ["turbo0v4", "turbo2", "turbo4", "turbo4"]
    assert report["turns"][0]["prompt_tokens"] >= 600
    for turn in report["turns"]:
        assert turn["layers_compressed"] == turn["layers_total"] == 30
        assert turn["kv_used_bytes"] < turn["kv_fp16_bytes"]
        assert turn["kv_used_bytes"] <= turn["kv_allocated_bytes"]
        assert turn["text"]
    for earlier, later in zip(report["turns"], report["turns"][1:], strict=False):
        assert later["reused_tokens"] >= earlier["prompt_tokens"]
    assert [(s["from"], s["to"]) for s in report["switches"]] == [("turbo0v4", "turbo2"), ("turbo2", "turbo4")]
    assert report["reopen"]["same_reply_as_without_reload"] is True
    assert report["reopen"]["prefilled_tokens"] < 60
    assert all((out / name).stat().st_size > 10_000 for name in report["screenshots"])
    assert not (home / "data" / "library.db").exists(), "the user's own conversations aren't touched"
