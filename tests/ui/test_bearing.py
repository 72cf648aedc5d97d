"""What the window bears: errors without end, small screens, odd folders, commands for which there is nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.ui.shared import formats, notice_bar, theme
from app.ui.shared.cards import Divider
from app.ui.window import window_state
from tests.ui.conftest import Bench

Start = Callable[..., Bench]
Key, Mod = Qt.Key, Qt.KeyboardModifier
ROOT = Path(__file__).parents[2]


# ---------------------------------------------------------------- notices


def test_errors_without_end_leave_the_chat_its_room(bench: Bench) -> None:
    said: list[str] = []
    bench.window.notices.show_notice("It can be undone.", "Undo", lambda: said.append("undone"))
    for number in range(40):
        bench.window.notices.show_notice(f"Fault {number}: " + "words without end " * 500)
    bench.rest()
    standing = bench.window.notices.texts()
    assert len(standing) == notice_bar.MOST
    assert standing[0] == "It can be undone.", "what can still be done stays longest"
    assert standing[-1].startswith("Fault 39")
    bench.window.resize(640, 800)
    bench.rest()
    assert bench.window.height() == 800
    assert bench.transcript.height() > 100
    bench.window.notices.show_notice("/a/" + "folder-without-a-space" * 20)
    bench.rest()
    assert bench.window.width() == 640
    assert bench.window.notices.width() <= 640


def test_a_notice_said_again_stays_as_long_again(bench: Bench, qtbot: QtBot) -> None:
    notice = bench.window.notices.show_notice("No", timeout_s=60)
    assert notice is not None
    assert bench.window.notices.show_notice("No", timeout_s=0.001) is None
    qtbot.waitUntil(lambda: not bench.window.notices.texts())


def test_a_notice_is_found_by_its_words_whatever_is_shown_of_them(bench: Bench) -> None:
    for words in ("x" * 5000, "Importing \udcff.turbochat"):
        bench.window.notices.show_notice(words)
        assert bench.window.notices.texts() == [words]
        bench.window.notices.dismiss(words)
        assert bench.window.notices.texts() == []


# ---------------------------------------------------------------- commands


def enabled(bench: Bench) -> dict[str, bool]:
    return {
        name: value.isEnabled() for name, value in vars(bench.window.actions_).items() if isinstance(value, QAction)
    }


def test_what_needs_something_waits_for_it(start: Start) -> None:
    bench = start(load=False)
    bench.window.start()
    of_the_page = ("send", "attach", "reply_settings", "scheme")
    of_a_conversation = ("find", "find_next", "find_previous", "edit_last", "again", "rename", "delete", "pin")
    now = enabled(bench)
    assert not any(now[name] for name in (*of_the_page, *of_a_conversation, "next", "previous", "unload", "undo"))
    bench.window.on_models()
    assert not any(enabled(bench)[name] for name in of_the_page), "they would leave for the welcome page"
    bench.window.on_to_chat()
    bench.load()
    bench.type("something to send")
    now = enabled(bench)
    assert all(now[name] for name in of_the_page)
    assert not any(now[name] for name in (*of_a_conversation, "next", "previous"))
    bench.say("Hello")
    now = enabled(bench)
    assert all(now[name] for name in of_a_conversation)
    assert not now["next"], "there is no other"
    bench.window.actions_.new.trigger()
    now = enabled(bench)
    assert now["next"]
    assert not any(now[name] for name in of_a_conversation)


def test_a_name_that_is_being_typed_keeps_its_conversation(bench: Bench) -> None:
    bench.say("Keep me")
    bench.window.activateWindow()
    QTest.keyClick(bench.window, Key.Key_F2)
    editor = bench.window.sidebar.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("New name")
    QTest.keyClick(editor, Key.Key_F2)  # Qt warns of a row that is edited already
    QTest.keyClick(editor, Key.Key_D, Mod.ControlModifier | Mod.ShiftModifier)
    bench.rest()
    assert [c.title for c in bench.library.conversations()] == ["Keep me"]
    QTest.keyClick(editor, Key.Key_Return)
    bench.rest()
    assert bench.library.conversations()[0].title not in ("", "Keep me")


# ---------------------------------------------------------------- sizes of text


def cut(widget: QWidget) -> list[str]:
    """Labels and buttons on screen that are smaller than their words."""
    found = []
    for label in widget.findChildren(QLabel):
        needed = label.heightForWidth(label.width()) if label.wordWrap() else label.fontMetrics().height()
        wide = label.wordWrap() or label.width() >= label.fontMetrics().horizontalAdvance(label.text())
        if label.isVisible() and label.text() and not (wide and label.height() >= needed):
            found.append(label.text())
    buttons = [button for button in widget.findChildren(QPushButton) if button.isVisible()]
    return found + [button.text() for button in buttons if button.width() < button.minimumSizeHint().width()]


@pytest.fixture
def sized(german: None, start: Start) -> Iterator[Callable[[int], Bench]]:
    """A German window whose text has that size, in percent."""
    bench = start(load=False)
    bench.window.start()

    def at(percent: int) -> Bench:
        bench.window.configuring.appearance.set_percent(percent)
        bench.rest()
        return bench

    yield at
    at(100)


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_the_welcome_page_cuts_no_words(sized: Callable[[int], Bench], percent: int) -> None:
    bench = sized(percent)
    bench.window.resize(640, 720)
    bench.rest()
    assert bench.window.pages.on_welcome
    assert bench.window.width() == 640
    assert cut(bench.window.welcome) == []
    middle = {label.geometry().center().x() for label in bench.window.welcome.findChildren(QLabel) if label.isVisible()}
    assert max(middle) - min(middle) <= 1


def test_dialogs_cut_no_words_also_where_the_text_grew_while_they_were_closed(sized: Callable[[int], Bench]) -> None:
    bench = sized(100)
    window, help_ = bench.window, bench.window.help
    for percent in (100, 200, 125):
        sized(percent)
        theme.theme().force(percent == 200)
        help_.on_shortcuts()
        help_.on_about()
        window.configuring.on_general()
        bench.rest()
        for dialog in (help_.shortcuts, help_.about, window.configuring.window):
            assert dialog is not None
            assert cut(dialog) == [], (dialog.windowTitle(), percent)
            dialog.close()


def test_the_page_of_installed_models_cuts_no_words(sized: Callable[[int], Bench]) -> None:
    for percent, beside in ((100, False), (150, False), (200, True)):  # the last one has the list alone, as wide
        bench = sized(percent)
        bench.window.on_models()
        bench.window.models_page.installed_tab.click()
        bench.rest()
        page = bench.window.models_page.installed
        assert cut(page) == [], percent
        assert (page.add_file.y() == page.add_folder.y()) == beside, percent


def test_a_change_of_scheme_is_told_whole_in_a_narrow_transcript(sized: Callable[[int], Bench]) -> None:
    bench = sized(100)
    bench.load()
    bench.say("word " * 300)
    bench.pick("turbo0v4")
    (divider,) = bench.items(Divider)
    one_line = divider.label.height()
    assert divider.label.x() > 20, "in the middle of a line"
    for percent, width in ((100, 640), (150, 900), (200, 640), (100, 1280)):
        sized(percent)
        bench.window.resize(width, 600)
        bench.rest()
        assert cut(divider) == [], percent
        assert divider.width() <= bench.transcript.viewport().width()
    assert divider.label.height() == one_line


def test_beside_the_panel_the_composer_says_the_context_whole(sized: Callable[[int], Bench]) -> None:
    bench = sized(150)
    bench.load()
    bench.window.resize(1360, 880)
    bench.say("word " * 500)
    tokens = formats.count(bench.composer.used_tokens)
    assert bench.composer.note == f"Kontext {tokens} von 8.192"
    assert bench.composer._note.shown == f"{tokens} von 8.192"
    bench.composer.set_tokens(40)
    assert bench.composer._note.shown.startswith("noch 7.1")
    sized(100)
    bench.composer.set_tokens(0)
    assert bench.composer._note.shown == bench.composer.note


def test_the_sheet_of_shortcuts_is_as_wide_as_its_words(sized: Callable[[int], Bench]) -> None:
    bench = sized(100)
    bench.window.help.on_shortcuts()
    bench.rest()
    sheet = bench.window.help.shortcuts
    assert sheet is not None
    scroll = sheet.findChild(QScrollArea)
    assert scroll is not None
    hidden = scroll.widget().width() - scroll.viewport().width()
    assert hidden <= 0 or scroll.horizontalScrollBar().isVisible(), "on a small screen it can be moved"
    assert sheet.usual_size().width() >= scroll.widget().sizeHint().width()


def test_a_card_grows_with_its_text(sized: Callable[[int], Bench]) -> None:
    panel = sized(100).window.reply_settings.panel
    usual = panel.card_width
    sized(150)
    assert panel.card_width == round(1.5 * usual)


# ---------------------------------------------------------------- places


def test_a_window_is_no_larger_than_its_screen(start: Start) -> None:
    bench = start(load=False)
    area = QGuiApplication.primaryScreen().availableVirtualGeometry()
    bench.window.resize(area.width() + 700, area.height() + 300)
    bench.window.move(10, -400)
    window_state.bring_on_screen(bench.window)
    assert bench.window.width() <= area.width()
    assert bench.window.height() <= area.height()
    assert bench.window.y() >= area.top()


def test_the_style_needs_no_plain_folder(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "ö 'quoted\" (é) {x} ; url)"
    odd.mkdir()
    (odd / "icons").symlink_to(theme.RESOURCES / "icons")
    monkeypatch.setattr(theme, "RESOURCES", odd)
    said: list[str] = []
    before = qInstallMessageHandler(
        lambda kind, _context, text: said.append(text) if kind != QtMsgType.QtDebugMsg else None
    )
    try:
        theme.theme().force(True)
        menu_arrow = theme.QDir("icons:").absolutePath()
    finally:
        qInstallMessageHandler(before)
        monkeypatch.undo()
        theme.theme().force(False)
    assert said == []
    assert Path(menu_arrow) == odd / "icons"


def start_program(tmp_path: Path, cwd: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment = {**known, "TURBOQUANT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT), **changed}
    code = "import os, sys; os.rmdir(os.getcwd()); import app.__main__ as program; sys.exit(program.main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_where_nobody_could_see_a_window_none_is_opened(tmp_path: Path) -> None:
    """Started in a folder that is gone, at that."""
    (tmp_path / "gone").mkdir()
    done = start_program(tmp_path, tmp_path / "gone", QT_QPA_PLATFORM="")
    assert done.returncode == (1 if sys.platform.startswith("linux") else 0)
    assert "no display" in done.stderr
    assert "Traceback" not in done.stderr
