"""What goes with the size of text, what stays inside the window, and the program's own questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, QPoint, QRect, Qt, QTranslator
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.errors import AppError
from app.hub_events import Download, FileProgress
from app.ui.models.fit_view import FitView
from app.ui.shared import formats, language, reading_order, theme
from app.ui.shared.choice import Choice
from app.ui.shared.notice_bar import Notice
from app.ui.shared.question import Question
from app.ui.window import window_state
from app.ui.window.crash_view import CrashNotice
from tests.ui.conftest import Bench
from tests.ui.fake_engine import cache_bytes, fit

QWEN = "mlx-community/Qwen3-4B-4bit"
LLAMA = "mlx-community/Llama-3.3-70B-Instruct-4bit"


@pytest.fixture
def usual_size(qapp: QApplication) -> Iterator[None]:
    yield
    theme.theme().set_scale(1.0)


# ---------------------------------------------------------------- icons


@pytest.mark.parametrize("percent", [80, 150, 200])
def test_icons_grow_with_the_text(bench: Bench, usual_size: None, percent: int) -> None:
    bench.say("Hello")
    bench.window.notices.show_notice("A notice")
    usual = {
        button: button.iconSize().width()
        for button in bench.window.findChildren(QAbstractButton)
        if not button.icon().isNull()
    }
    assert len(usual) > 10
    bench.window.configuring.appearance.set_percent(percent)
    bench.rest()
    for button, width in usual.items():
        assert button.iconSize().width() == round(width * percent / 100), button
        # sharp: there is a picture of that size, or of a larger one
        assert button.icon().actualSize(button.iconSize()).width() == button.iconSize().width()
    assert bench.window.tool_bar.iconSize().width() == round(20 * percent / 100)
    for button in bench.window.tool_bar.findChildren(QToolButton):
        if button.isVisible() and not button.icon().isNull():
            assert button.height() >= bench.window.tool_bar.iconSize().height()


def test_marks_grow_with_the_text(bench: Bench, usual_size: None) -> None:
    bench.say("word " * 300)

    def green() -> int:
        """Pixels of the dot that says that every layer is compressed."""
        picture = bench.panel.engagement.grab().toImage()
        good = QColor(theme.colors().good)
        return sum(
            picture.pixelColor(x, y) == good
            for y in range(picture.height())
            for x in range(min(picture.width(), 40))
        )  # fmt: skip

    small = green()
    bench.window.configuring.appearance.set_percent(200)
    bench.rest()
    assert small > 20
    assert green() > 3 * small


def test_what_went_wrong_has_another_sign_than_what_is_news(bench: Bench) -> None:
    notices = bench.window.notices
    for dark in (False, True):
        theme.theme().force(dark)
        for trouble in (False, True):
            notice = notices.show_notice(f"{dark} {trouble}", trouble=trouble)
            assert notice is not None
            image = notice._icon.pixmap().toImage()
            seen = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
            news, wrong = QColor(theme.colors().accent).name(), QColor(theme.colors().warn).name()
            assert (news in seen, wrong in seen) == (not trouble, trouble)


def test_a_failed_import_is_trouble(bench: Bench, tmp_path: Path, qtbot: QtBot) -> None:
    bench.window.exchange.import_files([tmp_path / "nowhere.json"])
    notices = bench.window.notices
    qtbot.waitUntil(lambda: any("Nothing was imported" in text for text in notices.texts()))
    assert [notice.trouble for notice in notices.findChildren(Notice) if not notice.isHidden()] == [True]


def test_the_choices_of_the_preferences_show_which_one_is_chosen(bench: Bench) -> None:
    for dark in (False, True):
        theme.theme().force(dark)
        bench.window.configuring.on_general()
        assert bench.window.configuring.window is not None
        choices = bench.window.configuring.window.findChildren(QComboBox)
        assert len(choices) == 6
        assert all(isinstance(choice, Choice) for choice in choices)
        box = next(choice for choice in choices if choice.accessibleName() == "Text size")
        box.showPopup()
        bench.rest()
        row = box.view().visualRect(box.model().index(box.currentIndex(), 0))
        image = box.view().viewport().grab(row).toImage()
        assert image.pixelColor(6, row.height() // 2) == QColor(theme.colors().selected)
        assert not box.view().window().mask().contains(QPoint(0, 0)), "its corners are round"
        box.hidePopup()


# ---------------------------------------------------------------- memory at a glance


def test_the_list_of_schemes_says_what_this_conversation_would_take(bench: Bench) -> None:
    bench.pick("turbo4")
    bench.say("word " * 500)
    picker, tokens = bench.panel.picker, bench.panel.chart.history.last_tokens()
    for row in range(picker.count()):
        option = picker.itemData(row)
        assert picker.takes(option) == f"now {formats.data_size(cache_bytes(option.name, tokens))}", option.name
    bench.chat.new()
    assert {picker.takes(picker.itemData(row)) for row in range(picker.count())} == {""}


def test_the_wider_list_stays_inside_the_window(bench: Bench) -> None:
    for width in (640, 900, 1280):
        bench.window.resize(width, 600)
        bench.rest()
        bench.window.on_change_scheme()
        bench.rest()
        card = bench.panel.picker.view().parentWidget()
        assert bench.window.rect().contains(card.geometry().marginsRemoved(card.layout().contentsMargins()))
        bench.panel.picker.hidePopup()


def test_the_bar_is_the_share_of_the_uncompressed_size(bench: Bench) -> None:
    assert bench.panel.share.value() == 0
    bench.pick("turbo2")
    bench.say("word " * 500)
    tokens = bench.panel.chart.history.last_tokens()
    assert bench.panel.share.value() == round(1000 * cache_bytes("turbo2", tokens) / cache_bytes("none", tokens))
    assert bench.panel.share.accessibleName() == f"{bench.panel.used.text()} {bench.panel.uncompressed.text()}"
    bench.pick("none")
    assert bench.panel.share.value() == 1000
    bench.chat.new()
    assert bench.panel.share.value() == 0


# ---------------------------------------------------------------- inside the window


def test_the_downloads_lie_inside_the_window_and_are_as_high_as_they_are(bench: Bench) -> None:
    window = bench.window
    for model in (QWEN, LLAMA):
        window.hub.ask(Download(model))
    bench.rest()
    files = (FileProgress("model.safetensors", 1, 2), FileProgress("config.json", 1, 2))
    bench.hub.advance(QWEN, done_bytes=1, total_bytes=2, files=files)
    for percent in (100, 150):
        window.configuring.appearance.set_percent(percent)
        window.downloads_button.click()
        card = window.downloads_button.card
        card.rows[QWEN].files_button.setChecked(percent == 150)
        for _ in range(3):
            bench.rest()
        assert not card.isWindow(), "no corners of a window of its own"
        assert window.rect().contains(card.geometry().marginsRemoved(card.contentsMargins()))
        last = card.rows[LLAMA]
        end = last.mapTo(card, last.rect().bottomLeft()).y()
        assert 0 <= card.contentsRect().bottom() - end < 40, "nothing empty below the last"
        assert card._scroll.verticalScrollBar().maximum() == 0
        card.close_card()
    window.configuring.appearance.set_percent(100)


def test_the_menu_opens_inside_the_window(bench: Bench) -> None:
    button = bench.window.tool_bar.menu_button
    assert button is not None
    menu = button.menu()
    bench.window.move(0, 0)
    bench.window.resize(700, 500)  # the screen goes on at the right
    bench.rest()
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
    bench.rest()
    assert bench.window.geometry().contains(menu.geometry())
    menu.close()


def test_the_sheet_of_shortcuts_is_as_high_as_its_words(bench: Bench) -> None:
    bench.window.help.on_shortcuts()
    sheet = bench.window.help.shortcuts
    assert sheet is not None
    bench.rest()
    wanted = sheet.usual_size()
    sheet.resize(wanted)  # the screen of the tests may be smaller
    bench.rest()
    bars = (sheet.pane.verticalScrollBar(), sheet.pane.horizontalScrollBar())
    assert [bar.maximum() for bar in bars] == [0, 0]
    sheet.close()


# ---------------------------------------------------------------- the fit bar


def test_every_colour_of_the_fit_bar_is_named(qapp: object) -> None:
    view = FitView()
    view.resize(600, 400)
    for weights, last in ((2_000_000_000, "free"), (40_000_000_000, "missing")):
        view.show_fit(fit(weights))
        legend = view.legend.text().replace("&nbsp;", " ")
        named = re.findall(r'color: (#\w+)">.</span> ([^<]+?) [\d.]+ [kMG]?B', legend)
        assert [words for _, words in named] == ["in use or reserved", "this model", "cache with turbo4 at 8k", last]
        assert len({color for color, _ in named}) == 4
        drawn = view.bar.grab().toImage()
        seen = {drawn.pixelColor(x, drawn.height() // 2).name() for x in range(drawn.width())}
        assert {color for color, _ in named[:3]} <= seen
        for _, words in named:
            assert words in view.bar.accessibleName()
            assert words in view.legend.accessibleName()


# ---------------------------------------------------------------- questions


def opened(qapp: QApplication, parent: QWidget | None = None) -> tuple[Question, QPushButton, QPushButton]:
    question = Question(parent, "Delete it?", "It is <b>gone</b> then.")
    return question, question.add_button("Delete"), question.add_button("Keep a copy", default=True)


def test_a_question_is_answered_by_its_buttons(qapp: QApplication) -> None:
    answers: list[QAbstractButton | None] = []
    for press in ("Delete", "Keep a copy", "Cancel", "Enter", "Escape"):
        question, delete, keep = opened(qapp)
        question.finished.connect(lambda _=0, asked=question: answers.append(asked.answer))
        question.open()
        question.activateWindow()
        QApplication.processEvents()
        assert QApplication.focusWidget() is keep
        by_words = {button.text(): button for button in (delete, keep, question.leave)}
        if press in by_words:
            by_words[press].click()
        else:
            QTest.keyClick(question, Qt.Key.Key_Return if press == "Enter" else Qt.Key.Key_Escape)
        expected = {"Delete": delete, "Keep a copy": keep, "Enter": keep}.get(press)
        assert answers[-1] is expected, press
    assert len(answers) == 5


def test_nothing_is_lost_by_enter_where_nothing_else_is_offered(qapp: QApplication) -> None:
    question = Question(None, "Discard all?", "They are gone then.")
    question.add_button("Discard")
    question.open()
    question.activateWindow()
    QApplication.processEvents()
    assert QApplication.focusWidget() is question.leave
    QTest.keyClick(question, Qt.Key.Key_Return)
    assert question.answer is None


def test_a_question_shows_plain_words_and_says_them(qapp: QApplication) -> None:
    question, *_ = opened(qapp)
    assert question.details == "It is <b>gone</b> then."
    assert (question.accessibleName(), question.accessibleDescription()) == (question.text, question.details)
    question.reject()


def test_a_question_fits_at_any_size_of_text(qapp: QApplication, usual_size: None) -> None:
    theme.theme().set_scale(2.0)
    question, delete, keep = opened(qapp)
    more = [question.add_button(f"Yet another way on, the {n}th, in many words") for n in range(3)]
    question.open()
    QApplication.processEvents()
    assert question.width() <= question.screen().availableSize().width()
    for button in (delete, keep, *more, question.leave):
        assert question.rect().contains(button.mapTo(question, button.rect().bottomRight()))
        assert button.width() >= button.sizeHint().width()
    question.reject()


def test_every_question_speaks_the_language(qapp: QCoreApplication) -> None:
    before = QLocale()
    language.install(qapp, "de")
    parent = QWidget()
    notice = CrashNotice(parent)
    assert {b.text() for b in notice.findChildren(QPushButton)} == {
        "Bericht zeigen",
        "Ordner der Protokolle öffnen",
        "Schließen",
    }
    notice.reject()
    for translator in qapp.findChildren(QTranslator)[-2:]:
        qapp.removeTranslator(translator)
    QLocale.setDefault(before)


# ---------------------------------------------------------------- the window's place


def test_a_window_that_is_on_screen_stays_where_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """To move it where it is would add its frame, which isn't known before it is shown: a little lower each start."""
    moved: list[tuple[int, ...]] = []
    bench.window.move(20, 30)
    bench.window.resize(700, 500)
    monkeypatch.setattr(bench.window, "move", lambda *place: moved.append(place))
    window_state.bring_on_screen(bench.window)
    assert moved == []


# ---------------------------------------------------------------- where the focus is


def hidden_stops(window: QWidget) -> list[QWidget]:
    """Those that look the same with the focus as without it, or aren't on screen with it."""
    found = []
    order = list(reading_order.stops(window))
    window.activateWindow()
    for before in order:
        before.setFocus()
        reading_order.step(window, True)
        QApplication.processEvents()
        target = QApplication.focusWidget()
        assert target is not None
        area = QRect(target.mapTo(window, QPoint(0, 0)), target.size()).adjusted(-6, -6, 6, 6) & window.rect()
        focused = window.grab(area).toImage()
        window.setFocus()
        QApplication.processEvents()
        if target.visibleRegion().isEmpty() or window.grab(area).toImage() == focused:
            found.append(target)
    return found


def test_where_tab_is_can_be_seen(bench: Bench) -> None:
    bench.say("\n\n".join(f"Line {n}" for n in range(30)))
    bench.pick("turbo2")
    bench.engine.fail_next = AppError("Failed.", "Try again.")
    bench.say("Again, please, with `code`")
    bench.window.notices.show_notice("A notice")
    bench.rest()
    assert hidden_stops(bench.window) == []
    bench.window.on_models()
    bench.rest()
    bench.engine.fits["mlx-community/gemma-3-12b-it-4bit"] = fit(2_000_000_000)
    bench.window.models_page.browser.list.choose("mlx-community/gemma-3-12b-it-4bit")
    bench.rest()
    bench.rest()
    assert hidden_stops(bench.window) == []


def test_where_tab_is_can_be_seen_in_the_preferences(bench: Bench) -> None:
    bench.window.configuring.on_general()
    shown = bench.window.configuring.window
    assert shown is not None
    shown.activateWindow()
    for row in range(shown.list.count()):
        shown.list.setCurrentRow(row)
        bench.rest()
        for _ in range(len(list(reading_order.stops(shown)))):
            QTest.keyClick(QApplication.focusWidget() or shown, Qt.Key.Key_Tab)
            focus = QApplication.focusWidget()
            assert focus is not None
            focused = shown.grab().toImage()
            shown.setFocus()
            QApplication.processEvents()
            assert shown.grab().toImage() != focused, focus
            focus.setFocus()
    shown.close()
