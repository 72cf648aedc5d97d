"""After a run that ended unexpectedly: a report in the log folder, a dialog, and in neither a word of what was said."""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QPushButton

from app import crashes, log, paths
from app.engine.marker import Unfinished, WorkMarker
from app.ui.shared import faults
from app.ui.shared.notice_bar import Notice
from tests.ui.conftest import Bench

SECRET = "the reactor's door code is 4711"
# Starts the program with its scripted engine in place of the real one, and ends it in one way or another.
_CHILD = """
import ctypes, os, signal, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
import app.__main__ as program
from app.ui.window import startup
from tests.ui.fake_engine import FakeEngine
startup.EngineThread = FakeEngine
how = sys.argv[1]

def end():
    (window,) = [w for w in QApplication.topLevelWidgets() if hasattr(w, "help")]
    print("told" if window.help.notice is not None else "quiet", flush=True)
    if window.help.notice is not None:
        window.help.notice.reject()
    if how == "close":
        window.close()
    elif how == "fault":
        ctypes.string_at(0)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)

open_window = program.open_window
def opened():
    made = open_window()
    QTimer.singleShot(0, end)
    return made
program.open_window = opened
sys.exit(program.main([]))
"""


def run(how: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, how], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout.strip()


def test_a_crash_is_told_at_the_next_start_and_only_there(turboquant_home: Path) -> None:
    logs = turboquant_home / "logs"
    assert run("close") == (0, "quiet")
    assert not (logs / crashes.RUNNING).exists()
    code, said = run("fault")
    assert (code, said) == (-signal.SIGSEGV, "quiet")
    assert run("close") == (0, "told")
    (report,) = crashes.reports(logs)
    text = report.read_text()
    assert "Where the code was" in text
    assert "string_at" in text
    assert "TurboQuant Chat ended unexpectedly" in text
    assert run("kill") == (-signal.SIGKILL, "quiet")
    assert run("close") == (0, "told")
    assert crashes._NO_TRACE in crashes.reports(logs)[0].read_text()
    assert run("close") == (0, "quiet")


def test_few_reports_are_kept_and_odd_marks_are_borne(tmp_path: Path) -> None:
    for number in range(crashes.KEPT + 3):
        (tmp_path / f"crash-20200101-00000{number}.txt").write_text("old")
    for mark in ("", "[", '{"started": "x"}', '{"started": 1e300, "version": 1}', "[]"):
        (tmp_path / crashes.RUNNING).write_text(mark)
        report = crashes.begin(tmp_path)
        assert report is not None
        assert "Started:  unknown" in report.read_text()
    assert len(crashes.reports(tmp_path)) == crashes.KEPT
    crashes.end(tmp_path)
    assert crashes.begin(tmp_path) is None
    crashes.end(tmp_path)


@pytest.mark.parametrize(
    "mark",
    [
        '{"started": 1, "version": "\\ud800"}',
        '{"started": 1e400, "version": 1}',
        '{"started": NaN, "version": null}',
        "[]",
        "[" * 100_000,
        "\x00",
    ],
)
def test_no_mark_keeps_the_program_from_starting(tmp_path: Path, mark: str) -> None:
    (tmp_path / crashes.RUNNING).write_text(mark)
    report = crashes.begin(tmp_path)
    assert report is not None
    assert report.read_text("utf-8").startswith("TurboQuant Chat ended unexpectedly.")
    crashes.end(tmp_path)
    assert crashes.begin(tmp_path) is None


def test_a_report_that_cant_be_written_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / crashes.RUNNING).write_text("{}")

    def full(_folder: Path, _mark: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(crashes, "_write", full)
    assert crashes.begin(tmp_path) is None
    assert json.loads((tmp_path / crashes.RUNNING).read_bytes())["version"], "the next crash leaves one"


def test_a_folder_that_cannot_be_written_keeps_nobody_from_starting(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert crashes.begin(blocked) is None
    crashes.end(blocked)


def test_the_report_is_shown_and_copied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    logs = paths.logs_dir()
    report = logs / "crash-20300101-000000.txt"
    report.write_text("Where the code was\nhere\n")
    help_ = bench.window.help
    try:
        help_.tell_of_crash(report)
        assert help_.notice is not None
        help_.notice.show_button.click()
        assert help_.report is not None
        assert help_.report.text.toPlainText() == report.read_text()
        help_.report.on_copy()
        assert QGuiApplication.clipboard().text() == report.read_text()
        help_.report.close()
        help_.tell_of_crash(report)
        help_.notice.folder_button.click()
        assert opened == [str(logs)]
        help_.notice.close()
    finally:
        report.unlink()


@pytest.fixture
def logged(turboquant_home: Path) -> Callable[[], str]:
    """What the log's files hold."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    root.handlers.clear()
    log.start()
    mine = list(root.handlers)
    root.handlers[:] = [*before, *mine]

    def read() -> str:
        return "".join(path.read_text() for path in (turboquant_home / "logs").glob("turboquant-chat.log*"))

    yield read
    root.handlers[:] = before
    root.setLevel(level)
    for handler in mine:
        handler.close()


def test_the_log_holds_nothing_that_was_written(logged: Callable[[], str], bench: Bench) -> None:
    bench.say(SECRET)
    bench.chat.rename(bench.chat.current, SECRET)
    bench.window.sidebar.search.setText(SECRET)
    bench.window.sidebar.search_again()
    try:
        try:
            int(SECRET)
        except ValueError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        faults.Faults.handle(bench_faults(), type(error), error, error.__traceback__)
        logging.getLogger("app.test").exception("failed")
    bench.chat.delete(bench.chat.current)
    text = logged()
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert "test_crashes" in text, "where it was is said"
    for word in ("reactor", "4711"):
        assert word not in text


def bench_faults() -> faults.Faults:
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return faults.Faults(app)


def test_errors_of_code_and_system_keep_their_words() -> None:
    for error in (
        FileNotFoundError(2, "No such file", "/x"),
        sqlite3.OperationalError("disk full"),
        TypeError("no int"),
    ):
        assert str(error) in log.describe(error)


def test_the_log_turns_over(logged: Callable[[], str], turboquant_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (handler,) = (h for h in logging.getLogger().handlers if isinstance(h, logging.handlers.RotatingFileHandler)
                  and h.baseFilename.startswith(str(turboquant_home)))  # fmt: skip
    handler.maxBytes = 2000
    for number in range(300):
        logging.getLogger("app.test").info("line %d", number)
    files = list((turboquant_home / "logs").glob("turboquant-chat.log*"))
    assert len(files) == 4
    assert all(file.stat().st_size <= 2000 for file in files)


def test_news_of_a_crash_come_once_and_leave_a_way_to_the_model(
    start: Callable[..., Bench], turboquant_home: Path, tmp_path: Path
) -> None:
    """Closed without an answer it has been told all the same; who then wants a reply finds the button there."""
    folder = tmp_path / "Tiny-1B"
    folder.mkdir()
    marker = WorkMarker(paths.snapshots_dir())
    marker.set(Unfinished("generate", str(folder), ""))
    bench = start(load=False)
    bench.settings.set("model", str(folder))
    bench.chat.open(bench.library.create("turbo4", "Tiny-1B").id)
    bench.window.start(marker.read())
    assert marker.read() is not None, "a crash before it is read must be told again"
    box = bench.window.resuming.box
    assert box is not None
    box.reject()
    assert marker.read() is None
    for _ in range(2):
        bench.chat.free()
    bench.rest()
    (notice,) = bench.window.notices.findChildren(Notice)
    assert notice.text == "No model is loaded"
    (button,) = notice.findChildren(QPushButton)
    assert button.text() == "Load Tiny-1B"
    button.click()
    bench.rest()
    assert bench.chat.model is not None
    assert not bench.window.notices.texts()


def test_without_any_model_the_way_leads_to_the_models(start: Callable[..., Bench]) -> None:
    bench = start(load=False)
    bench.window.loading.on_missing()
    (button,) = bench.window.notices.findChildren(QPushButton)
    button.click()
    assert bench.window.pages.on_models


def test_who_reads_the_report_finds_the_model_afterwards(
    start: Callable[..., Bench], turboquant_home: Path, tmp_path: Path
) -> None:
    (paths.logs_dir()).mkdir(parents=True, exist_ok=True)
    (paths.logs_dir() / "crash-20200101-000000.txt").write_text("a report")
    bench = start(load=False)
    bench.window.start(Unfinished("generate", str(tmp_path)))
    assert bench.window.resuming.report is not None
    bench.window.resuming.report.click()
    assert bench.window.help.report is not None
    assert bench.window.notices.texts() == ["No model is loaded"]
    bench.window.help.report.close()
