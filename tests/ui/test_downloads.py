"""Downloads in the window, the account, and loading: progress, cancel, a refusal for want of memory, unloading."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

from app import hub_events as hv
from app.errors import AppError, HubError
from app.events import LoadModel, ModelFailed, ModelLoading, ModelUnloaded, UnloadModel
from app.ui.models.download_row import DownloadRow
from app.ui.window.preferences import Preferences
from tests.ui.conftest import Bench
from tests.ui.fake_engine import MODEL
from tests.ui.fake_hub import FakeHub

Start = Callable[..., Bench]
QWEN = "mlx-community/Qwen3-4B-4bit"
GEMMA = "mlx-community/gemma-3-12b-it-4bit"


@pytest.fixture
def downloading(bench: Bench) -> Bench:
    """A window whose hub fetches one model, back in the chat."""
    bench.window.on_models()
    bench.rest()
    bench.window.models_page.browser.list.choose(QWEN)
    bench.rest()
    bench.window.models_page.browser.detail.download.click()
    bench.rest()
    bench.hub.advance(QWEN, done_bytes=1_000_000_000, total_bytes=2_500_000_000, speed_bytes_per_s=2e7, eta_s=75.0)
    bench.window.on_to_chat()
    bench.rest()
    return bench


def row(bench: Bench, repo_id: str = QWEN) -> DownloadRow:
    return bench.window.downloads_button.card.rows[repo_id]


# ---------------------------------------------------------------- downloads


def test_a_long_path_in_a_failure_leaves_the_buttons_in_the_card(downloading: Bench) -> None:
    card = downloading.window.downloads_button.card
    error = HubError("A file couldn't be written (/" + "0" * 80 + ").", "Try again.")
    downloading.hub.advance(QWEN, state="failed", error=error)
    downloading.window.downloads_button.click()
    downloading.rest()
    for button in (row(downloading).go_on, row(downloading).cancel):
        assert button.isVisible()
        assert card.rect().contains(button.mapTo(card, button.rect().bottomRight())), "not cut off"


def test_a_download_is_seen_on_every_page(downloading: Bench) -> None:
    window = downloading.window
    assert downloading.hub.asked(hv.Download) == [hv.Download(QWEN)]
    assert window.downloads_button.isVisible()
    assert window.downloads_button.text() == "40 %"
    assert row(downloading).words.text() == "1.00 of 2.50 GB · 20.0 MB/s · 1 min left"
    window.on_models()
    downloading.rest()
    detail = window.models_page.browser.detail
    assert detail.place.row is not None
    assert detail.place.row.isVisible()
    assert detail.place.row.words.text() == row(downloading).words.text()
    assert not detail.download.isVisible()
    entry = next(e for e in window.models_page.browser.list.entries() if e.key == QWEN)
    assert entry.badge == "40%"


def test_without_downloads_there_is_no_button(bench: Bench) -> None:
    assert not bench.window.downloads_button.isVisible()
    assert not bench.window.actions_.downloads.isEnabled()


def test_a_stalled_download_says_so(downloading: Bench) -> None:
    downloading.hub.advance(QWEN, speed_bytes_per_s=0.0, eta_s=None, note="Trying again in 4 s: the connection broke.")
    words = row(downloading).words.text()
    assert words == "1.00 of 2.50 GB · nothing is coming in · Trying again in 4 s: the connection broke."


def test_pause_resume_cancel(downloading: Bench) -> None:
    found = row(downloading)
    downloading.window.downloads_button.click()
    assert found.pause.isVisible()
    assert not found.go_on.isVisible()
    found.pause.click()
    downloading.rest()
    assert found.words.text() == "Paused · 1.00 of 2.50 GB"
    assert downloading.window.downloads_button.text() == "1"
    found.go_on.click()
    downloading.rest()
    assert found.words.text().startswith("Waiting for its turn")
    found.cancel.click()
    downloading.rest()
    assert downloading.hub.asked(hv.CancelDownload) == [hv.CancelDownload(QWEN)]
    assert not downloading.window.downloads_button.card.rows
    assert not downloading.window.downloads_button.card.isVisible()
    assert not downloading.window.downloads_button.isVisible()
    assert downloading.window.models_page.browser.detail.place.row is None


def test_a_failed_download_says_why_here_and_above_the_chat_and_is_tried_again(
    downloading: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(QUrl(url).toString()))
    error = HubError("Its terms aren't accepted.", "Accept them on its page.", kind="terms", page="https://hub/qwen")
    downloading.hub.advance(QWEN, state="failed", error=error)
    found = row(downloading)
    assert found.words.text() == "Its terms aren't accepted. Accept them on its page."
    assert found.words.property("role") == "bad"
    assert any("Its terms aren't accepted." in text for text in downloading.window.notices.texts())
    downloading.window.downloads_button.click()
    assert found.page.isVisible()
    assert not found.account.isVisible()
    found.page.click()
    assert opened == ["https://hub/qwen"]
    found.go_on.click()
    downloading.rest()
    assert downloading.hub.asked(hv.Download) == [hv.Download(QWEN)] * 2
    assert found.words.property("role") == "muted"


def test_each_file_can_be_looked_at(downloading: Bench) -> None:
    files = (hv.FileProgress("model.safetensors", 10**9, 2 * 10**9), hv.FileProgress("config.json", 900, 900, True))
    downloading.hub.advance(QWEN, files=files)
    found = row(downloading)
    downloading.window.downloads_button.click()
    assert found.files_button.text() == "1 of 2 files"
    found.files_button.click()
    assert found.files.text() == "model.safetensors · 1.00 of 2.00 GB\n✓ config.json · 900 of 900 B"
    card = downloading.window.downloads_button.card
    downloading.rest()
    assert card.height() > found.height() + 40, "the card grows with it"


def test_a_finished_download_can_be_loaded(downloading: Bench) -> None:
    window = downloading.window
    downloading.hub.advance(QWEN, state="done", done_bytes=2_500_000_000, path="/hub/Qwen3")
    words = "Qwen3-4B-4bit is downloaded and verified."
    assert words in window.notices.texts()
    window.downloads_button.click()
    assert row(downloading).words.text() == "2.50 GB · complete and verified"
    row(downloading).load.click()
    assert not window.downloads_button.card.isVisible()
    downloading.rest()
    assert downloading.engine.received[-1] == LoadModel("/hub/Qwen3", "turbo4")
    assert window.models.model.path == "/hub/Qwen3"  # type: ignore[union-attr]
    assert words not in window.notices.texts(), "what is loaded isn't offered"
    window.on_models()
    downloading.rest()
    assert window.models_page.browser.detail.load.isVisible()
    assert window.models_page.browser.detail.status.text == "Installed"


def test_the_card_is_worked_by_keys(downloading: Bench) -> None:
    window = downloading.window
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    card = window.downloads_button.card
    assert card.isVisible()
    reached = set()
    for _ in range(6):
        focused = card.focusWidget()
        reached.add(focused)
        QTest.keyClick(focused or card, Qt.Key.Key_Tab)
    assert {row(downloading).pause, row(downloading).cancel} <= reached
    QTest.keyClick(card.focusWidget(), Qt.Key.Key_Escape)
    assert not card.isVisible()


def test_a_button_that_goes_hands_the_focus_to_the_one_that_comes(downloading: Bench) -> None:
    window, found = downloading.window, row(downloading)
    window.activateWindow()
    window.downloads_button.click()
    for pressed, comes in ((found.pause, found.go_on), (found.go_on, found.pause)):
        pressed.setFocus()
        QTest.keyClick(pressed, Qt.Key.Key_Space)
        downloading.rest()
        assert window.downloads_button.card.isVisible()
        assert comes.hasFocus()


def test_finished_ones_are_cleared_together(downloading: Bench) -> None:
    downloading.hub.advance(QWEN, state="done", path="/hub/Qwen3")
    downloading.hub.advance(GEMMA, done_bytes=1, total_bytes=10)
    downloading.window.downloads_button.click()
    downloading.window.downloads_button.card.clear.click()
    downloading.rest()
    assert list(downloading.window.downloads_button.card.rows) == [GEMMA]
    assert not downloading.window.downloads_button.card.clear.isVisible()


def test_downloads_of_the_last_run_are_there_at_the_start(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    left = hv.DownloadStatus(QWEN, "paused", 1_000_000_000, 2_500_000_000)
    monkeypatch.setattr(FakeHub, "downloads", property(lambda self: (left,)))
    bench = start()
    assert bench.window.downloads_button.isVisible()
    assert row(bench).words.text() == "Paused · 1.00 of 2.50 GB"


# ---------------------------------------------------------------- the account


def account(bench: Bench) -> object:
    bench.window.configuring.on_account()
    bench.rest()
    return bench.window.configuring.window.models.account  # type: ignore[union-attr]


def test_a_token_is_stored_tested_and_never_shown(bench: Bench) -> None:
    box = account(bench)
    assert box.status.text == "No token: downloads are anonymous"
    assert "https://huggingface.co" in box.endpoint.text()
    assert box.field.echoMode() == QLineEdit.EchoMode.Password
    assert not box.save.isEnabled()
    box.field.setText("  hf_secret ")
    QTest.keyClick(box.field, Qt.Key.Key_Return)
    bench.rest()
    assert bench.hub.asked(hv.SetToken) == [hv.SetToken("hf_secret")]
    assert box.field.text() == ""
    assert box.status.text == "The hub takes the token: you are ada"
    assert box.place.text() == "It is kept in the system's keychain."
    assert box.isVisible(), "Enter stores the token and doesn't close the dialog"
    box.remove.click()
    bench.rest()
    assert bench.hub.received[-1] == hv.SetToken("")
    assert not box.remove.isVisible()


def test_a_token_that_the_hub_refuses_stays_in_the_field(bench: Bench) -> None:
    box = account(bench)
    bench.hub.token_error = HubError("The hub doesn't know this token.", "Make a new one.", kind="bad_token")
    box.field.setText("hf_wrong")
    box.save.click()
    bench.rest()
    assert box.status.text == "The hub doesn't know this token. Make a new one."
    assert box.field.text() == "hf_wrong"


def test_a_long_answer_about_the_account_is_read_whole(bench: Bench) -> None:
    bench.window.configuring.on_account()
    bench.rest()
    bench.hub.token_error = HubError(
        "The hub doesn't accept the token: it is wrong or expired. " * 4, "Make a new one."
    )
    preferences = bench.window.findChild(Preferences)
    QTest.keyClicks(preferences.models.account.field, "hf_wrong")
    preferences.models.account.save.click()
    bench.rest()
    label = preferences.models.account.status.label
    assert label.height() >= label.heightForWidth(label.width())


def test_a_token_from_outside_is_not_the_programs_to_remove(bench: Bench) -> None:
    bench.hub.account = hv.AccountStatus("environment", "the variable HF_TOKEN", "http://mirror", offline=True)
    box = account(bench)
    assert box.test.isVisible()
    assert not box.remove.isVisible()
    assert "HF_HUB_OFFLINE" in box.endpoint.text()
    box.test.click()
    bench.rest()
    assert bench.hub.received[-1] == hv.CheckAccount(ask_hub=True)


def test_how_long_a_model_may_lie_idle_is_kept_and_told(start: Start) -> None:
    bench = start()
    account(bench)
    assert bench.engine.idle_unload_s == 0
    idle = bench.window.configuring.window.models.idle  # type: ignore[union-attr]
    assert idle.currentText() == "Never"
    idle.setCurrentIndex(idle.findData(15))
    idle.activated.emit(idle.currentIndex())
    assert bench.engine.idle_unload_s == 900
    bench.close()
    again = start()
    assert again.engine.idle_unload_s == 900
    account(again)
    assert again.window.configuring.window.models.idle.currentData() == 15  # type: ignore[union-attr]


# ---------------------------------------------------------------- loading


def test_a_load_shows_how_far_it_is_and_can_be_cancelled(bench: Bench) -> None:
    tool = bench.window.loading.button
    bench.engine.hold = True
    bench.window.load_model("/models/Other-7B")
    assert tool.cancel.isVisible()
    assert tool.button.text() == "Other-7B"
    bench.step(4)
    assert (tool.bar.value(), tool.bar.maximum()) == (400, 1000)
    tool.cancel.click()
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.model is not None
    assert bench.chat.model.path == MODEL, "the model at hand comes back"
    assert not tool.cancel.isVisible()
    assert bench.window.notices.texts() == [], "to have cancelled is no error"


def test_cancelling_the_first_load_leads_to_the_welcome_page(start: Start) -> None:
    bench = start(load=False)
    bench.engine.hold = True
    bench.window.load_model("/models/Other-7B")
    bench.step(2)
    bench.window.loading.button.cancel.click()
    bench.engine.hold = False
    bench.rest()
    assert bench.window.welcome.isVisible()
    assert not bench.window.welcome.error.isVisible()


def offers(bench: Bench) -> dict[str, QPushButton]:
    box = bench.window.guard.box
    assert box is not None
    return {b.text(): b for b in box.findChildren(QPushButton)}


def test_a_load_that_does_not_fit_offers_what_would(bench: Bench) -> None:
    bench.engine.refused.add("/models/Big-70B")
    bench.window.load_model("/models/Big-70B")
    bench.rest()
    box = bench.window.guard.box
    assert box is not None
    assert "42.0 GB" in box.text
    assert bench.chat.model is not None
    assert bench.chat.model.path == MODEL, "what was loaded stayed"
    # 9.3 GB free, 8.9 GB of weights, 0.3 GB of work space: 0.1 GB of cache at 100 kB a token over 7.11
    offers(bench)["Load it for 7,110 tokens with turbo2"].click()
    bench.rest()
    assert bench.engine.received[-1] == LoadModel("/models/Big-70B", "turbo2", 7110)
    assert bench.chat.model.path == "/models/Big-70B"
    assert bench.chat.scheme == bench.panel.picker.currentText() == "turbo2", "for which it was loaded"


@pytest.mark.parametrize("choice", ["Load it anyway", "Choose a smaller model", "Cancel"])
def test_the_other_answers_to_a_refusal(bench: Bench, choice: str) -> None:
    bench.engine.refused.add("/models/Big-70B")
    bench.window.load_model("/models/Big-70B")
    bench.rest()
    loads = [command for command in bench.engine.received if isinstance(command, LoadModel)]
    offers(bench)[choice].click()
    bench.rest()
    after = [command for command in bench.engine.received if isinstance(command, LoadModel)][len(loads) :]
    assert after == ([LoadModel("/models/Big-70B", anyway=True)] if choice == "Load it anyway" else [])
    assert bench.window.pages.on_models == (choice == "Choose a smaller model")
    assert bench.window.guard.box is None


def test_a_model_can_be_unloaded_and_the_window_says_so(bench: Bench) -> None:
    bench.window.actions_.unload.trigger()
    bench.rest()
    assert bench.engine.received[-1] == UnloadModel()
    assert "unloaded" in bench.window.loading.button.detail.text()
    assert not bench.window.actions_.unload.isEnabled()
    assert bench.composer.note.startswith("Context"), "a message loads it again: nothing stands in its way"
    bench.window.load_model(MODEL)
    bench.rest()
    assert "in memory" in bench.window.loading.button.detail.text()
    bench.engine.event_emitted.emit(ModelUnloaded(MODEL, "Tiny-1B", idle=True))
    assert "unloaded" in bench.window.loading.button.detail.text()


@pytest.mark.parametrize("error", [AppError("It is damaged."), AppError("Stopped.")])
def test_a_model_that_cannot_be_woken_can_be_tried_again(bench: Bench, error: AppError) -> None:
    tell = bench.engine.event_emitted.emit
    tell(ModelUnloaded(MODEL, "Tiny-1B", idle=True))
    tell(ModelLoading(MODEL, "Tiny-1B"))
    tell(ModelFailed(MODEL, error))
    assert bench.chat.model is not None
    assert "unloaded" in bench.window.loading.button.detail.text()
    bench.say("Hello")
    assert bench.replies() == ["You said *Hello*."]


def test_a_model_that_fails_to_load_is_explained_in_the_chat(bench: Bench) -> None:
    bench.say("Hello")
    bench.engine.model_errors["/models/Bad"] = AppError("It is damaged.", "Download it again.")
    bench.window.on_models()
    bench.window.load_model("/models/Bad")
    bench.rest()
    assert not bench.window.pages.on_models
    assert "It is damaged. Download it again. Tiny-1B is loaded again." in bench.window.notices.texts()
    assert bench.chat.model is not None
    assert bench.chat.model.path == MODEL


# ---------------------------------------------------------------- many at once


def test_many_that_end_are_told_together(bench: Bench) -> None:
    hub, notices = bench.hub, bench.window.notices
    for name in "abc":
        hub.advance(f"x/{name}", total_bytes=10)
        hub.advance(f"x/{name}", state="done", done_bytes=10, path=f"/models/{name}")
    assert notices.texts() == ["c and 2 more are downloaded and verified."]
    for name in "de":
        hub.advance(f"x/{name}")
        hub.advance(f"x/{name}", state="failed", error=AppError("No network.", "Check it."))
    assert notices.texts()[1:] == ["e and 1 more download failed: No network. Check it."]
    notices.dismiss(notices.texts()[0])
    hub.advance("x/f")
    hub.advance("x/f", state="done", path="/models/f")
    assert notices.texts()[1:] == ["f is downloaded and verified."], "what was dismissed isn't told again"


def test_of_many_files_those_that_are_not_whole_are_shown(downloading: Bench) -> None:
    files = tuple(hv.FileProgress(f"{n}.json", 5, 10, verified=n < 30) for n in range(40))
    downloading.hub.advance(QWEN, files=files)
    shown = row(downloading)
    shown.files_button.click()
    lines = shown.files.text().splitlines()
    assert [line.split(" ")[0] for line in lines[:10]] == [f"{n}.json" for n in range(30, 40)]
    assert lines[-1] == "and 28 more"


def test_a_name_from_the_hub_is_no_markup(bench: Bench) -> None:
    bench.hub.advance("x/<b>bold</b>")
    assert row(bench, "x/<b>bold</b>").title.textFormat() == Qt.TextFormat.PlainText
