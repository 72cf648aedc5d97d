"""Starting and ending where files are damaged, or can't be written."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import app.__main__ as program
from app.ui.shared.question import Question
from app.ui.window import startup
from tests.ui.conftest import Bench

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "settings",
    [
        '{"version": 1, "window_geometry": "abc"}',
        '{"version": 1, "window_geometry": "\u00e9"}',
        '{"version": 1, "window_geometry": "AAAA"}',
        '{"version": 1, "recent_models": [1, 2]}',
        '{"version": 1, "model": "\\u0000x"}',
        '{"version": 1, "scheme": "bogus"}',
        '{"version": 1, "sidebar_shown": "x", "panel_shown": null}',
        "[" * 100_000,
    ],
)
def test_odd_settings_are_ignored(start: Callable[..., Bench], tmp_path: Path, settings: str) -> None:
    (tmp_path / "settings.json").write_text(settings, encoding="utf-8")
    bench = start()
    assert bench.chat.scheme == "turbo4"
    bench.say("hello")
    assert bench.said() == ["hello"]


def test_the_help_names_the_program_as_it_was_called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for frozen, called in ((False, "usage: python -m app "), (True, "usage: turboquant-chat ")):
        monkeypatch.setattr(sys, "frozen", frozen, raising=False)
        with pytest.raises(SystemExit):
            program.main(["--help"])
        assert capsys.readouterr().out.startswith(called)


@pytest.mark.parametrize("error", [OSError(30, "Read-only file system"), sqlite3.OperationalError("disk I/O error")])
def test_what_keeps_the_window_away_is_shown(qapp: object, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail() -> Any:
        raise error

    shown: list[str] = []
    monkeypatch.setattr(program, "make_application", lambda: qapp)
    monkeypatch.setattr(program.log, "start", fail)
    monkeypatch.setattr(Question, "exec", lambda question: shown.append(question.details))
    assert program.main([]) == 1
    assert shown == [str(error)]


def test_a_library_that_fails_at_the_end_does_not_keep_a_stuck_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck:
        def shutdown(self) -> bool:
            return False

    def fail() -> None:
        raise sqlite3.OperationalError("database or disk is full")

    ended: list[int] = []
    monkeypatch.setattr(startup.os, "_exit", ended.append)
    monkeypatch.setattr(startup.logging, "shutdown", lambda: None)
    with monkeypatch.context() as patch:
        patch.setattr(bench.window, "close_library", fail)
        startup.finish(bench.window, Stuck(), 5)  # type: ignore[arg-type]
    assert ended == [5]


_CHILD = """
import sys
import app.__main__ as program
install = program.EndSignals.install

def announced(signals):
    install(signals)
    print("ready", flush=True)

program.EndSignals.install = announced
sys.exit(program.main([]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither signal for another process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_as_a_click_would(turboquant_home: Path, number: signal.Signals) -> None:
    child = subprocess.Popen([sys.executable, "-c", _CHILD], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.communicate()
    assert "window_geometry" in (turboquant_home / "settings" / "settings.json").read_text()
