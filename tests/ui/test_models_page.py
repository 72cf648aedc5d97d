"""The page that finds models: asking the hub, what is shown of a model, whether it fits, and getting there and away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton

from app import hub_events as hv
from app.errors import HubError
from app.events import JudgeFit
from app.ui.models.model_list import Entry
from app.ui.shared import theme
from tests.ui.conftest import Bench
from tests.ui.fake_engine import fit
from tests.ui.fake_hub import CURATED, MODELS, model

Start = Callable[..., Bench]
QWEN = "mlx-community/Qwen3-4B-4bit"
GEMMA = "mlx-community/gemma-3-12b-it-4bit"
OFFLINE = HubError("The hub can't be reached.", "Check the connection.", kind="offline")


@pytest.fixture
def page(bench: Bench) -> Bench:
    """A window on the models' page, with its first results."""
    bench.window.on_models()
    bench.rest()
    return bench


def keys(bench: Bench) -> list[str]:
    return [entry.key for entry in bench.window.models_page.browser.list.entries()]


def entry(bench: Bench, key: str) -> Entry:
    return next(e for e in bench.window.models_page.browser.list.entries() if e.key == key)


def choose(bench: Bench, key: str) -> None:
    bench.window.models_page.browser.list.choose(key)
    bench.rest()


def button(parent: object, text: str) -> QPushButton:
    return next(b for b in parent.findChildren(QPushButton) if b.text() == text and not b.isHidden())  # type: ignore[attr-defined]


# ---------------------------------------------------------------- there and away


def test_nothing_is_asked_of_the_hub_before_the_page_is_opened(bench: Bench) -> None:
    assert bench.hub.received == []
    bench.window.sidebar.models.click()
    assert bench.window.pages.on_models
    assert [type(command) for command in bench.hub.received] == [hv.Curate, hv.Search]


def test_the_ways_to_the_page(start: Start) -> None:
    bench = start(load=False)
    assert bench.window.welcome.isVisible()
    bench.window.activateWindow()
    bench.rest()
    bench.window.welcome.search.click()
    assert bench.window.models_page.isVisible()
    assert not bench.panel.isVisible()
    assert bench.window.models_page.browser.search.hasFocus()
    bench.window.models_page.done.click()
    assert bench.window.welcome.isVisible()
    bench.window.activateWindow()
    QTest.keyClick(bench.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert bench.window.models_page.isVisible()
    bench.window.loading.button.button.menu().aboutToShow.emit()
    assert bench.window.actions_.models in bench.window.loading.button.button.menu().actions()


def test_the_ways_back_to_the_chat(page: Bench) -> None:
    window = page.window
    search = window.models_page.browser.search
    search.setText("qwen")
    QTest.keyClick(search, Qt.Key.Key_Escape)
    assert search.text() == ""
    assert window.pages.on_models
    QTest.keyClick(search, Qt.Key.Key_Escape)
    assert not window.pages.on_models
    assert page.composer.edit.hasFocus()
    page.say("Hello")
    for leave in (window.actions_.new.trigger, window.actions_.next.trigger, window.sidebar.left.emit):
        window.on_models()
        assert window.sidebar.models.isChecked()
        leave()
        assert not window.pages.on_models
        assert not window.sidebar.models.isChecked()
        assert page.panel.isVisible()


def test_a_reply_that_ends_behind_the_page_leaves_it_in_place(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("Hello")
    bench.window.on_models()
    bench.engine.hold = False
    bench.rest()
    assert bench.window.pages.on_models
    bench.window.on_to_chat()
    assert bench.replies() == ["You said *Hello*."]


# ---------------------------------------------------------------- asking


def test_the_list_that_needs_no_search_comes_first_and_nothing_twice(page: Bench) -> None:
    assert keys(page) == [m.repo_id for m in (*CURATED, *MODELS)]
    page.hub.models = (*MODELS, CURATED[0])
    page.window.models_page.browser.sorts["likes"].trigger()
    page.rest()
    assert keys(page).count(CURATED[0].repo_id) == 1


def test_typing_searches_once_it_rests_and_enter_at_once(page: Bench) -> None:
    browser = page.window.models_page.browser
    asked = len(page.hub.asked(hv.Search))
    QTest.keyClicks(browser.search, "gemma")
    assert len(page.hub.asked(hv.Search)) == asked
    browser._typing.timeout.emit()
    assert len(page.hub.asked(hv.Search)) == asked + 1
    assert browser.busy.isVisible()
    page.rest()
    assert not browser.busy.isVisible()
    assert keys(page) == [GEMMA], "a search shows what it found only"
    browser.search.setText("qwen")
    QTest.keyClick(browser.search, Qt.Key.Key_Return)
    page.rest()
    assert keys(page) == [QWEN]
    QTest.keyClick(browser.search, Qt.Key.Key_Down)
    assert browser.list.hasFocus()


def test_an_older_answer_is_not_shown(page: Bench) -> None:
    browser = page.window.models_page.browser
    page.hub.hold = True
    browser.search.setText("gemma")
    browser.on_search()
    older = page.hub.received[-1].query
    browser.search.setText("qwen")
    browser.on_search()
    page.hub.event_emitted.emit(hv.ModelsFound(older, (MODELS[1],), complete=True))
    assert GEMMA not in keys(page) or len(keys(page)) > 1
    page.hub.hold = False
    page.rest()
    assert keys(page) == [QWEN]


def test_order_and_filters_are_asked_for_and_remembered(start: Start) -> None:
    bench = start()
    bench.window.on_models()
    browser = bench.window.models_page.browser
    assert bench.hub.received[-1].query.mlx_only
    browser.sorts["recent"].trigger()
    browser.filters["hide_gated"].trigger()
    browser.filters["fitting"].trigger()
    browser.filters["mlx_only"].trigger()
    bench.rest()
    query = bench.hub.received[-1].query
    assert (query.sort, query.mlx_only, query.hide_gated, query.hide_unsupported) == ("recent", False, True, False)
    assert query.max_bytes > 0
    assert GEMMA not in keys(bench)
    assert browser.sort_button.text() == "Newest"
    bench.close()
    again = start()
    again.window.on_models()
    assert again.hub.received[-1].query == query


def test_more_is_asked_for_at_the_end_of_the_list(page: Bench) -> None:
    browser = page.window.models_page.browser
    page.hub.models = tuple(model(f"mlx-community/M{n}") for n in range(45))
    browser.sorts["likes"].trigger()
    page.rest()
    assert len(keys(page)) == 30 + len(CURATED)
    bar = browser.list.verticalScrollBar()
    bar.setValue(bar.maximum())
    page.rest()
    assert len(keys(page)) == 45 + len(CURATED)
    asked = len(page.hub.asked(hv.Search))
    bar.setValue(0)
    bar.setValue(bar.maximum())
    assert len(page.hub.asked(hv.Search)) == asked, "all has come"


def test_offline_says_so_in_place_and_tries_again(start: Start) -> None:
    bench = start()
    bench.hub.offline = OFFLINE
    bench.window.on_models()
    bench.rest()
    browser = bench.window.models_page.browser
    assert browser.trouble is not None
    assert keys(bench) == [m.repo_id for m in CURATED], "the short list needs no network"
    choose(bench, CURATED[0].repo_id)
    assert browser.detail.trouble is not None
    assert browser.detail.download.isEnabled()
    bench.hub.offline = None
    button(browser.trouble, "Try again").click()
    bench.rest()
    assert browser.trouble is None
    assert len(keys(bench)) == len(CURATED) + len(MODELS)
    button(browser.detail.trouble, "Try again").click()
    bench.rest()
    assert browser.detail.trouble is None
    assert browser.detail.facts()["Download"]


def test_nothing_found_says_what_to_do(page: Bench) -> None:
    browser = page.window.models_page.browser
    browser.search.setText("no such thing")
    browser.on_search()
    assert not browser.nothing.isVisible(), "still searching"
    page.rest()
    assert browser.nothing.isVisible()
    assert "fewer" in browser.nothing.text()


# ---------------------------------------------------------------- what is shown of a model


def test_a_row_says_what_matters(page: Bench) -> None:
    row = entry(page, QWEN)
    assert (row.title, row.facts) == ("Qwen3-4B-4bit", "4-bit · 2.26 GB · 40k context · apache-2.0")
    assert row.badge == "runs"
    assert entry(page, GEMMA).more.startswith("gated")
    assert entry(page, "mlx-community/Mystery-7B").badge == "can't run"
    assert entry(page, "someone/Unread-1B-bf16").badge == "", "nothing is claimed before its config was read"


def test_a_model_that_exceeds_all_memory_is_called_too_large(page: Bench) -> None:
    browser = page.window.models_page.browser
    browser._memory_bytes = 8 << 30
    browser.refresh()
    assert entry(page, "mlx-community/Llama-3.3-70B-Instruct-4bit").badge == "too large"
    assert entry(page, QWEN).badge == "runs"


def test_details_and_fit_of_a_model(page: Bench) -> None:
    detail = page.window.models_page.browser.detail
    page.engine.fits[QWEN] = fit(2_263_000_000)
    choose(page, QWEN)
    assert detail.title.text() == "Qwen3-4B-4bit"
    facts = detail.facts()
    assert facts["Weights"] == "2.26 GB"
    assert facts["Context"] == "40,960 tokens"
    assert facts["Licence"] == "apache-2.0"
    assert facts["Download"] == "2.27 GB in 3 files"
    assert detail.download.text() == "Download · 2.27 GB"
    asked = [command for command in page.engine.received if isinstance(command, JudgeFit)]
    assert asked == [JudgeFit(QWEN, "{}", 2_263_000_000)]
    assert detail.fit.words.text == page.engine.fits[QWEN].words


def test_the_fit_table(page: Bench) -> None:
    found = page.engine.fits[QWEN] = fit(2_263_000_000)
    choose(page, QWEN)
    table = page.window.models_page.browser.detail.fit.table
    heads = [table.horizontalHeaderItem(column).text() for column in range(table.columnCount())]
    assert heads == ["Scheme", "4k", "8k", "32k", "128k", "Longest"]
    rows = {table.item(row, 0).text(): row for row in range(table.rowCount())}
    assert set(rows) == {scheme.scheme for scheme in found.schemes}
    assert next(iter(rows)) == "none", "the largest first, as in the dropdown"
    raw = [table.item(rows["none"], column) for column in range(1, 6)]
    # 2.263 GB of weights, 0.3 GB of work space and 100 kB a token
    assert [item.text() for item in raw] == ["2.97 GB", "3.38 GB", "5.84 GB", "✕ 15.7 GB", "67,370"]
    assert raw[3].foreground().color() == QColor(theme.colors().bad)
    packed = table.item(rows["turbo8"], 4)
    assert packed.text() == "! 9.32 GB"
    assert packed.foreground().color() == QColor(theme.colors().warn)
    assert table.item(rows["turbo4"], 5).text() == "128k"
    theme.theme().force(True)
    assert table.item(rows["turbo8"], 4).foreground().color() == QColor(theme.DARK.warn)


def test_a_fit_that_is_not_known_says_why(page: Bench) -> None:
    choose(page, QWEN)
    fit_view = page.window.models_page.browser.detail.fit
    assert "Its config says too little." in fit_view.words.text
    assert not fit_view.table.isVisible()


def test_models_that_arrow_keys_pass_are_not_asked_for(page: Bench) -> None:
    browser = page.window.models_page.browser
    browser.list.setFocus()
    for _ in range(3):
        QTest.keyClick(browser.list, Qt.Key.Key_Down)
    page.rest()
    assert [command.repo_id for command in page.hub.asked(hv.Describe)] == [browser.list.current]


def test_an_answer_about_another_model_is_not_shown(page: Bench) -> None:
    page.hub.hold = True
    choose(page, QWEN)
    choose(page, GEMMA)
    page.hub.hold = False
    page.engine.fits = {QWEN: fit(2_263_000_000)}
    page.rest()
    detail = page.window.models_page.browser.detail
    assert detail.title.text() == "gemma-3-12b-it-4bit"
    assert detail.facts()["Licence"] == "gemma"
    assert not detail.fit.table.isVisible()


def test_what_cannot_run_is_not_offered_and_says_why(page: Bench) -> None:
    detail = page.window.models_page.browser.detail
    choose(page, "mlx-community/Mystery-7B")
    assert not detail.download.isEnabled()
    assert "type mystery" in detail.status.text
    assert not detail.fit.isVisible()


@pytest.mark.parametrize(
    ("kind", "account"), [("no_token", True), ("bad_token", True), ("terms", False), ("denied", True)]
)
def test_what_stands_in_the_way_of_a_gated_model(
    page: Bench, monkeypatch: pytest.MonkeyPatch, kind: str, account: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(QUrl(url).toString()))
    page.hub.access[GEMMA] = HubError("It is gated.", "Accept its terms.", kind=kind, page="https://hub/gemma")  # type: ignore[arg-type]
    choose(page, GEMMA)
    detail = page.window.models_page.browser.detail
    assert detail.trouble is not None
    assert not detail.download.isEnabled()
    button(detail.trouble, "Open the page").click()
    assert opened == ["https://hub/gemma"]
    assert any(b.text() == "Account…" for b in detail.trouble.findChildren(QPushButton)) == account
    del page.hub.access[GEMMA]
    button(detail.trouble, "Try again").click()
    page.rest()
    assert detail.trouble is None
    assert detail.download.isEnabled()


# ---------------------------------------------------------------- looks


def test_buttons_of_a_narrow_card_are_whole(page: Bench) -> None:
    error = HubError("Wrong token.", "Make a new one.", kind="bad_token", page="https://hub/tokens")
    page.hub.offline = error
    browser = page.window.models_page.browser
    browser.on_again()
    page.rest()
    buttons = browser.trouble.findChildren(QPushButton)
    assert len(buttons) == 3
    assert all(button.width() >= button.sizeHint().width() for button in buttons)


def test_list_and_details_take_turns_in_a_narrow_window(page: Bench) -> None:
    browser = page.window.models_page.browser
    page.window.resize(640, 480)
    QApplication.processEvents()
    assert browser.list.isVisible()
    assert not browser.detail.isVisible()
    browser.list.setFocus()
    choose(page, QWEN)
    QTest.keyClick(browser.list, Qt.Key.Key_Return)
    assert browser.detail.isVisible()
    assert not browser.list.isVisible()
    browser.panes.back.click()
    assert browser.list.hasFocus()
    page.window.resize(1280, 800)
    QApplication.processEvents()
    assert browser.list.isVisible()
    assert browser.detail.isVisible()


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
@pytest.mark.parametrize("width", [640, 900, 1280])
def test_nothing_sticks_out(page: Bench, direction: Qt.LayoutDirection, width: int) -> None:
    page.engine.fits[QWEN] = fit(2_263_000_000)
    QApplication.setLayoutDirection(direction)
    try:
        page.window.resize(width, 600)
        choose(page, QWEN)
        page.window.models_page.browser.list.opened.emit(QWEN)
        QApplication.processEvents()
        detail = page.window.models_page.browser.detail
        assert detail.widget().width() <= detail.viewport().width()
        assert detail.fit.table.horizontalScrollBar().maximum() == 0
        bar = page.window.loading.button.parentWidget()
        assert page.window.tool_bar.menu_button.isVisible(), "the tool bar keeps its last button"
        assert bar.rect().contains(page.window.tool_bar.menu_button.geometry())
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def test_everything_that_can_be_pressed_has_a_name_and_is_reached_by_keys(page: Bench) -> None:
    choose(page, QWEN)
    browser = page.window.models_page.browser
    pressable = [b for b in page.window.models_page.findChildren(QAbstractButton) if b.isVisible()]
    for found in pressable:
        assert found.accessibleName() or found.text() or found.toolTip(), found
    assert browser.list.accessibleName()
    assert browser.search.accessibleName()
    page.window.activateWindow()
    browser.search.setFocus()
    reached = []
    for _ in range(7):
        reached.append(QApplication.focusWidget())
        QTest.keyClick(reached[-1], Qt.Key.Key_Tab)
    assert reached[:4] == [browser.search, browser.sort_button, browser.filter_button, browser.list]
    assert browser.detail.download in reached
    row = browser.list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
    assert row.startswith("Qwen3-4B-4bit, runs, 4-bit")
