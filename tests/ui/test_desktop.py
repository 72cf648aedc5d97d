"""What every desktop program has: shortcuts that do no harm elsewhere, preferences, text size, its window as it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app import licences
from app.events import OpenConversation
from app.settings import Settings
from app.ui.shared import formats, theme
from app.ui.shared.columns import WIDTHS
from app.ui.window import window_state
from app.ui.window.crash_view import CrashNotice
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

Start = Callable[..., Bench]
Key, Mod = Qt.Key, Qt.KeyboardModifier


def press(
    bench: Bench, key: Qt.Key, modifiers: Qt.KeyboardModifier = Mod.NoModifier, at: QWidget | None = None
) -> None:
    """A key in the widget with the focus, or in `at`."""
    if at is not None:
        at.setFocus()
    QTest.keyClick(QApplication.focusWidget() or bench.window, key, modifiers)
    bench.rest()


@pytest.fixture
def answering(bench: Bench) -> Bench:
    """A reply is on its way."""
    bench.window.activateWindow()
    bench.engine.hold = True
    bench.say("Go on")
    assert bench.chat.generating
    return bench


# ---------------------------------------------------------------- shortcuts


def test_every_shortcut_is_one_actions(bench: Bench) -> None:
    keys = [keys.toString() for action in bench.window.actions() for keys in action.shortcuts()]
    assert len(keys) == len(set(keys))
    expected = {
        "new": "Ctrl+N", "find": "Ctrl+F", "search": "Ctrl+Shift+F", "send": "Ctrl+Return", "stop": "Ctrl+.",
        "preferences": "Ctrl+,", "close": "Ctrl+W", "quit": "Ctrl+Q", "usual_size": "Ctrl+0", "larger": "Ctrl++",
        "smaller": "Ctrl+-", "rename": "F2",
    }  # fmt: skip
    for name, wanted in expected.items():
        assert QKeySequence(wanted) in getattr(bench.window.actions_, name).shortcuts(), name


def test_mac_roles_are_set(bench: Bench) -> None:
    a, role = bench.window.actions_, QAction.MenuRole
    assert (a.about.menuRole(), a.quit.menuRole()) == (role.AboutRole, role.QuitRole)
    assert a.preferences.menuRole() == role.PreferencesRole
    others = [action for action in bench.window.actions() if action not in (a.about, a.quit, a.preferences)]
    assert all(action.menuRole() == role.NoRole for action in others), "else Qt guesses from the words"


def test_a_mac_has_a_menu_bar(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        bench = start(load=False)
    menus = [action.text() for action in bench.window.menuBar().actions()]
    assert menus == ["File", "Edit", "View", "Chat", "Model", "Help"]
    assert bench.window.tool_bar.menu_button is None
    assert bench.window.actions_.minimize.shortcut() == QKeySequence("Ctrl+M")


def test_every_entry_of_the_menus_does_something(bench: Bench) -> None:
    entries = [entry for _, menu in bench.window.actions_.layout() for entry in menu if entry is not None]
    for entry in entries:
        assert entry.receivers("2triggered(bool)") or entry.receivers("2triggered()"), entry.text()


@pytest.mark.parametrize("keys", [(Key.Key_Escape, Mod.NoModifier), (Key.Key_Period, Mod.ControlModifier)])
def test_stop_stops_in_the_chat_only(answering: Bench, keys: tuple[Qt.Key, Qt.KeyboardModifier]) -> None:
    bench = answering
    bench.window.on_models()
    press(bench, *keys, at=bench.window.models_page.browser.list)
    assert bench.chat.generating, "nobody saw it running"
    bench.window.on_models()
    press(bench, *keys, at=bench.window.models_page.browser.search)
    assert bench.chat.generating
    bench.window.on_to_chat()
    press(bench, *keys, at=bench.composer.edit)
    bench.rest()
    assert not bench.chat.generating


def test_escape_in_the_list_and_in_the_search_stops_nothing(answering: Bench) -> None:
    bench, sidebar = answering, answering.window.sidebar
    press(bench, Key.Key_Escape, at=sidebar.list)
    assert bench.chat.generating
    assert bench.composer.edit.hasFocus()
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "go")
    sidebar.search_again()
    press(bench, Key.Key_Escape, at=sidebar.found)
    assert sidebar.search.hasFocus()
    press(bench, Key.Key_Escape)
    press(bench, Key.Key_Escape)
    assert bench.chat.generating
    bench.window.configuring.on_general()
    QApplication.processEvents()
    QTest.keyClick(bench.window.configuring.window, Key.Key_Escape)
    assert bench.chat.generating
    assert not bench.window.configuring.window.isVisible()


def test_backspace_deletes_no_conversation(bench: Bench) -> None:
    bench.say("Keep me")
    bench.window.activateWindow()
    sidebar = bench.window.sidebar
    for place in (sidebar.list, bench.panel.picker, bench.panel.chart, sidebar.models, bench.transcript):
        press(bench, Key.Key_Backspace, at=place)
        assert len(bench.library.conversations()) == 1, place
    bench.window.on_models()
    press(bench, Key.Key_D, Mod.ControlModifier | Mod.ShiftModifier)
    press(bench, Key.Key_Backspace, at=bench.window.models_page.browser.list)
    assert len(bench.library.conversations()) == 1, "it isn't on screen"
    bench.window.on_to_chat()
    for modifiers in (Mod.ControlModifier, Mod.ShiftModifier, Mod.ControlModifier | Mod.ShiftModifier):
        press(bench, Key.Key_Backspace, modifiers, at=bench.composer.edit)
    assert len(bench.library.conversations()) == 1, "in some text fields these delete to the line's start"
    press(bench, Key.Key_Backspace, Mod.ControlModifier, at=sidebar.list)
    assert bench.library.conversations() == [], "a Mac's ⌘⌫ in the list"


def test_the_key_that_deletes_a_conversation(bench: Bench) -> None:
    bench.say("Delete me")
    bench.window.activateWindow()
    press(bench, Key.Key_D, Mod.ControlModifier | Mod.ShiftModifier, at=bench.composer.edit)
    assert bench.library.conversations() == []


def test_control_enter_sends(bench: Bench) -> None:
    bench.window.activateWindow()
    bench.type("Hello")
    press(bench, Key.Key_Return, Mod.ControlModifier, at=bench.composer.edit)
    assert bench.said() == ["Hello"]
    bench.type("Not from here")
    bench.window.on_models()
    press(bench, Key.Key_Return, Mod.ControlModifier)
    assert bench.said() == ["Hello"]


def test_the_sheet_holds_every_shortcut(bench: Bench) -> None:
    bench.window.activateWindow()
    QTest.keyClick(bench.window, Key.Key_F1)
    sheet = bench.window.help.shortcuts
    assert sheet is not None
    assert sheet.isVisible()
    said = " ".join(label.text() for label in sheet.findChildren(QLabel))
    for action in bench.window.actions():
        for keys in action.shortcuts():
            assert formats.keys(keys) in said, action.text()


# ---------------------------------------------------------------- the list


def test_pinned_ones_stand_first(bench: Bench) -> None:
    for title in ("One", "Two", "Three"):
        bench.chat.new()
        bench.say(title)
    first = bench.library.conversations()[-1].id
    bench.chat.open(first)
    bench.window.actions_.pin.trigger()
    model = bench.window.sidebar.model

    def rows() -> list[str]:
        return [str(model.data(model.index(row))) for row in range(model.rowCount())]

    assert rows() == ["Pinned", "One", "Today", "Three", "Two"]
    assert bench.window.actions_.pin.text() == "Unpin"
    latest = bench.library.conversations()[1]
    assert bench.chat.newest() == latest.id != first, "the one used last, pinned or not"
    bench.window.actions_.pin.trigger()
    assert rows()[0] == "Today"
    assert bench.window.actions_.pin.text() == "Pin to the top"


def test_what_is_only_passed_by_is_not_opened(bench: Bench, qtbot: QtBot) -> None:
    for number in range(6):
        bench.chat.new()
        bench.say(f"Number {number}")
    bench.window.activateWindow()
    opened = len([c for c in bench.engine.received if isinstance(c, OpenConversation)])
    for _ in range(4):
        press(bench, Key.Key_Down, at=bench.window.sidebar.list)
    assert bench.said() == ["Number 5"], "until the fingers rest"
    bench.window.browsing.on_list_changed()
    qtbot.waitUntil(lambda: bench.said() == ["Number 1"])
    assert len([c for c in bench.engine.received if isinstance(c, OpenConversation)]) == opened + 1
    press(bench, Key.Key_Down, at=bench.window.sidebar.list)
    press(bench, Key.Key_Return, at=bench.window.sidebar.list)
    assert bench.said() == ["Number 0"], "Enter doesn't wait"
    assert bench.composer.edit.hasFocus()
    press(bench, Key.Key_Up, at=bench.window.sidebar.list)
    bench.window.actions_.delete.trigger()
    titles = [conversation.title for conversation in bench.library.conversations()]
    assert titles == ["Number 5", "Number 4", "Number 3", "Number 2", "Number 0"], "what is marked is meant"
    QTest.qWait(200)
    assert bench.said() == ["Number 0"], "the neighbour takes its place"


def test_a_name_is_typed_in_the_list_wherever_that_is(bench: Bench) -> None:
    bench.say("Old name")
    bench.window.activateWindow()
    bench.window.actions_.sidebar.trigger()
    assert not bench.window.sidebar.isVisible()
    QTest.keyClick(bench.window, Key.Key_F2)
    editor = bench.window.sidebar.list.findChild(QLineEdit)
    assert editor is not None
    assert editor.isVisible()
    editor.setText("New name")
    QTest.keyClick(editor, Key.Key_Return)
    bench.rest()
    assert bench.library.conversations()[0].title == "New name"
    assert bench.window.windowTitle().startswith("New name")


def test_a_search_finds_messages_and_goes_there(bench: Bench) -> None:
    bench.say("Alpha beta")
    bench.chat.new()
    bench.say("Gamma delta")
    while bench.library.follow():
        pass
    sidebar = bench.window.sidebar
    sidebar.search.setText("alph")
    sidebar.search_again()
    found = sidebar.found.results.results
    assert {result.text for result in found} == {"Alpha beta", "You said Alpha beta."}
    assert all(result.text[start : start + length] == "Alpha" for result in found if result.message
               for start, length in result.marks)  # fmt: skip
    assert sidebar.found.isVisible()
    assert not sidebar.list.isVisible()
    QTest.keyClick(sidebar.search, Key.Key_Return)
    assert bench.said() == ["Alpha beta"]
    sidebar.search.clear()
    assert sidebar.list.isVisible()


def test_what_is_said_while_searching_is_found(bench: Bench) -> None:
    sidebar = bench.window.sidebar
    sidebar.search.setText("unheard")
    sidebar.search_again()
    assert sidebar.no_match.isVisible()
    bench.say("Something unheard of")
    QTest.qWait(100)
    assert any("unheard" in result.text for result in sidebar.found.results.results)


def test_ten_thousand_conversations_are_asked_for_a_page_at_a_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench.library.transaction():
        for number in range(10_000):
            bench.library.create("turbo4", title=f"Conversation {number}")
    model = bench.window.sidebar.model
    asked: list[int] = []
    data = type(model).data
    monkeypatch.setattr(type(model), "data", lambda self, index, role=0: (asked.append(1), data(self, index, role))[1])
    bench.window.browsing.on_list_changed()
    QApplication.processEvents()
    assert model.rowCount() == 10_001
    assert len(asked) < 1500, "some thirty rows are on screen"
    bench.window.sidebar.search.setText("conv")
    bench.window.sidebar.search_again()
    assert len(bench.window.sidebar.found.results.results) <= 300


# ---------------------------------------------------------------- preferences


def test_text_grows_and_shrinks_everywhere(bench: Bench) -> None:
    bench.say("Hello")
    bench.window.activateWindow()
    labels = [label for label in bench.window.findChildren(QLabel) if label.text()]
    before = [label.font().pointSizeF() for label in labels]
    row = bench.window.sidebar.list.rowHeight(1)
    QTest.keyClick(bench.window, Key.Key_Plus, Mod.ControlModifier)
    assert bench.settings.get("text_percent", 0) == 110
    assert [label.font().pointSizeF() for label in labels] == pytest.approx([1.1 * size for size in before])
    assert bench.window.sidebar.list.rowHeight(1) > row
    theme.theme().force(True)
    theme.theme().force(False)
    assert [label.font().pointSizeF() for label in labels] == pytest.approx([1.1 * size for size in before])
    QTest.keyClick(bench.window, Key.Key_Minus, Mod.ControlModifier)
    QTest.keyClick(bench.window, Key.Key_Minus, Mod.ControlModifier)
    assert bench.settings.get("text_percent", 0) == 90
    QTest.keyClick(bench.window, Key.Key_0, Mod.ControlModifier)
    assert [label.font().pointSizeF() for label in labels] == pytest.approx(before)


@pytest.mark.parametrize("percent", [80, 150, 200])
def test_nothing_sticks_out_at_any_size(bench: Bench, percent: int) -> None:
    bench.say("Hello")
    bench.window.configuring.appearance.set_percent(percent)
    try:
        for width in (640, 1000, 1280):
            bench.window.resize(width, 800)
            QApplication.processEvents()
            for part in (bench.composer, bench.panel, bench.window.sidebar, bench.window.tool_bar):
                if part.isVisible():
                    right = part.mapTo(bench.window, QPoint(part.width(), 0)).x()
                    assert right <= bench.window.width(), (part, width)
    finally:
        bench.window.configuring.appearance.set_percent(100)


def test_preferences_take_effect_at_once_and_last(start: Start, tmp_path: Path) -> None:
    bench = start()
    bench.window.configuring.on_general()
    general = bench.window.configuring.window.general

    def choose(box: object, value: object) -> None:
        box.setCurrentIndex(box.findData(value))  # type: ignore[attr-defined]
        box.activated.emit(box.currentIndex())  # type: ignore[attr-defined]

    choose(general.look, "dark")
    assert theme.theme().dark
    choose(general.text_size, 125)
    assert theme.theme().scale == 1.25
    bench.window.actions_.usual_size.trigger()
    assert general.text_size.currentData() == 100
    choose(general.scheme, "turbo2")
    assert bench.chat.scheme == "turbo2"
    bench.say("Hello")
    bench.pick("turbo8")
    bench.window.actions_.new.trigger()
    assert bench.chat.scheme == "turbo2", "the usual one, not the last"
    choose(general.scheme, "")
    assert bench.chat.scheme == "turbo8", "the one picked last, whatever was usual meanwhile"
    choose(general.scheme, "turbo2")
    general.open_last.setChecked(False)
    general.load_last.setChecked(False)
    bench.close()
    theme.theme().force(False)
    again = start(load=False)
    assert theme.theme().dark
    again.window.start()
    again.rest()
    assert again.chat.current == ""
    assert again.chat.model is None
    assert again.chat.scheme == "turbo2"
    theme.theme().force(False)


def test_the_pages_are_walked_with_the_keyboard(bench: Bench) -> None:
    bench.window.activateWindow()
    QTest.keyClick(bench.window, Key.Key_Comma, Mod.ControlModifier)
    preferences = bench.window.configuring.window
    assert preferences is not None
    QApplication.processEvents()
    assert preferences.list.hasFocus()
    assert preferences.general.isVisible()
    QTest.keyClick(preferences.list, Key.Key_Down)
    assert preferences.models.isVisible()
    QTest.keyClick(preferences.list, Key.Key_W, Mod.ControlModifier)
    assert not preferences.isVisible()
    assert bench.window.isVisible()


# ---------------------------------------------------------------- the window comes back


def test_columns_come_back_as_wide_as_they_were(start: Start) -> None:
    bench = start()
    columns = bench.window._columns
    columns.moveSplitter(300, 1)
    assert columns.width_of("sidebar") == bench.window.sidebar.width() > WIDTHS["sidebar"][1]
    wide = columns.width_of("sidebar")
    bench.close()
    again = start()
    QApplication.processEvents()
    assert again.window.sidebar.width() == wide


def test_a_window_whose_screen_is_gone_comes_on_screen(start: Start, tmp_path: Path) -> None:
    bench = start()
    area = QGuiApplication.primaryScreen().availableGeometry()
    for place in (QPoint(area.right() + 4000, 100), QPoint(area.left() - 6000, 100), QPoint(100, area.bottom() + 5000)):
        bench.window.move(place)
        window_state.bring_on_screen(bench.window)
        assert area.intersects(bench.window.geometry()), place
        assert bench.window.geometry().top() >= area.top()
    bench.window.move(area.right() + 4000, 100)
    settings = Settings(tmp_path / "settings.json")
    settings.set_bytes("window_geometry", bytes(bench.window.saveGeometry().data()))
    again = start(load=False)
    assert area.intersects(again.window.geometry())
    assert again.window.restoreGeometry(QByteArray(again.settings.get_bytes("window_geometry")))


# ---------------------------------------------------------------- about


def test_about_names_the_version_the_backend_and_every_licence(bench: Bench, qtbot: object) -> None:
    bench.window.actions_.about.trigger()
    about = bench.window.help.about
    assert about is not None
    said = " ".join(label.text() for label in about.findChildren(QLabel))
    assert "0.1.0" in said
    assert "CPU (numba)" in said
    about.on_licences()
    qtbot.waitUntil(lambda: about.licences.list.count() > 0, timeout=20_000)  # type: ignore[attr-defined]
    names = {about.licences.list.item(row).text().split()[0] for row in range(about.licences.list.count())}
    assert {"TurboQuant", "mlx", "mlx-lm", "PySide6_Essentials", "transformers", "Python"} <= names
    assert "pytest" not in names
    about.licences.list.setCurrentRow(0)
    assert "Apache License" in about.licences.text.toPlainText()


def test_every_package_has_its_licence_and_a_bundle_carries_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = licences.installed()
    assert all(entry.text and entry.licence for entry in found), [e.name for e in found if not e.text]
    (tmp_path / "licences").mkdir()
    (tmp_path / "licences" / "licences.json").write_text(json.dumps([asdict(entry) for entry in found]))
    monkeypatch.setattr(licences.paths, "RESOURCES", tmp_path)
    monkeypatch.setattr(licences, "installed", lambda: pytest.fail("a bundle has no packages to read"))
    assert licences.shipped() == found


@pytest.mark.parametrize("keys", [(Key.Key_Escape, Mod.NoModifier), (Key.Key_W, Mod.ControlModifier)])
def test_dialogs_close_with_the_keyboard(start: Start, keys: tuple[Qt.Key, Qt.KeyboardModifier]) -> None:
    bench = start(FakeEngine())
    bench.window.actions_.about.trigger()
    bench.window.actions_.shortcuts.trigger()
    bench.window.configuring.on_general()
    opened = [w for w in bench.window.findChildren(QDialog) if w.isVisible() and not isinstance(w, CrashNotice)]
    assert len(opened) == 3
    for dialog in opened:
        dialog.activateWindow()
        QApplication.processEvents()
        QTest.keyClick(dialog, *keys)
        assert not dialog.isVisible(), dialog.windowTitle()
    assert bench.window.isVisible()
