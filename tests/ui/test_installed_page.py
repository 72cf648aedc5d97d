"""The models on this computer in the window: listed with what is wrong, repaired, imported, deleted, dropped in."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from app import hub_events as hv
from app import paths
from app.events import JudgeFit, LoadModel
from app.ui.models.model_list import Entry
from app.ui.shared.question import Question
from tests.engine_kit import make_model
from tests.ui.conftest import Bench
from tests.ui.fake_engine import fit
from tests.unit.app.engine.gguf_writer import llama_metadata, llama_tensors, write

REPO = "mlx-community/Tiny-Talker"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "Tiny-Talker")


@pytest.fixture(autouse=True)
def cache(turboquant_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache and an empty home of this test's own."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


class Shelf:
    """The page of installed models, in a window."""

    def __init__(self, bench: Bench, qtbot: QtBot) -> None:
        self.bench, self.qtbot = bench, qtbot
        self.page = bench.window.models_page
        self.side, self.detail = self.page.installed, self.page.installed.detail

    def open(self) -> None:
        self.bench.window.on_models()
        self.page.installed_tab.click()
        self.settle()

    def settle(self) -> None:
        """Until the folders have been looked at."""
        self.qtbot.waitUntil(lambda: self.page.on_this_computer._listing is None, timeout=20_000)
        self.bench.rest()

    def entries(self) -> dict[str, Entry]:
        return {entry.title: entry for entry in self.side.list.entries()}

    def choose(self, title: str) -> None:
        self.side.list.choose(self.entries()[title].key)
        self.bench.rest()

    def buttons(self) -> list[str]:
        return [b.text() for b in self.detail.findChildren(QAbstractButton) if b.isVisible()]


@pytest.fixture
def shelf(bench: Bench, qtbot: QtBot) -> Shelf:
    return Shelf(bench, qtbot)


def in_hub_cache(cache: Path, source: Path, repo_id: str = REPO) -> Path:
    snapshot = cache / f"models--{repo_id.replace('/', '--')}" / "snapshots" / ("c" * 40)
    shutil.copytree(source, snapshot)
    (snapshot.parent.parent / "refs").mkdir()
    (snapshot.parent.parent / "refs" / "main").write_text("c" * 40)
    return snapshot


def answer(monkeypatch: pytest.MonkeyPatch, words: str) -> list[str]:
    """Press this button of the next question; returns what was asked."""
    asked: list[str] = []

    def press() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, Question)
        asked.append(f"{box.text} {box.details}")
        next(b for b in box.findChildren(QAbstractButton) if b.text() == words).click()

    QTimer.singleShot(0, press)
    return asked


# ---------------------------------------------------------------- what is there


def test_an_empty_shelf_says_how_to_fill_it(shelf: Shelf) -> None:
    shelf.open()
    assert shelf.side.nothing.isVisible()
    assert "drop a folder or a GGUF file" in shelf.side.nothing.text()
    assert not shelf.detail.shown


def test_models_are_listed_by_where_they_are_from(shelf: Shelf, cache: Path, tiny: Path, tmp_path: Path) -> None:
    snapshot = in_hub_cache(cache, tiny)
    broken = tmp_path / "own" / "Broken"
    shutil.copytree(tiny, broken)
    with (broken / "model.safetensors").open("r+b") as weights:
        weights.truncate(1000)
    base = make_model(tmp_path / "own" / "Base", chat_template=None)
    write(tmp_path / "Small.gguf", llama_metadata(), llama_tensors())
    for path in (broken, base, tmp_path / "Small.gguf"):
        shelf.page.on_this_computer.add(path)
        shelf.settle()
    shelf.open()
    found = shelf.entries()
    assert {title: (entry.badge, entry.tone) for title, entry in found.items()} == {
        "Tiny-Talker": ("ready", "good"),
        "Base": ("ready", "good"),
        "Broken": ("damaged", "bad"),
        "Small": ("to import", "muted"),
    }
    assert found["Tiny-Talker"].key == str(snapshot)
    assert "4k context" in found["Tiny-Talker"].facts
    assert "no chat template" in found["Base"].facts
    assert shelf.side.total.text().startswith("4 models, ")
    shelf.choose("Base")
    assert "base model" in shelf.detail.facts()["Note"]
    shelf.choose("Broken")
    assert "model.safetensors" in shelf.detail.status.text
    assert "Load" not in shelf.buttons()
    assert not shelf.detail.fit.isVisible()


def test_a_whole_model_is_judged_and_loaded(shelf: Shelf, cache: Path, tiny: Path) -> None:
    snapshot = in_hub_cache(cache, tiny)
    shelf.bench.engine.fits[str(snapshot)] = fit(1_000_000)
    shelf.open()
    shelf.qtbot.waitUntil(lambda: any(isinstance(c, JudgeFit) for c in shelf.bench.engine.received))
    shelf.bench.rest()
    assert shelf.detail.title.text() == "Tiny-Talker"
    assert shelf.detail.status.text == "Complete: it loads without the network"
    assert shelf.detail.facts()["Kind"] == f"Downloaded from the hub: {REPO}"
    assert shelf.detail.fit.table.isVisible()
    shelf.detail.load.click()
    shelf.bench.rest()
    assert shelf.bench.engine.received[-1] == LoadModel(str(snapshot), "turbo4")
    assert not shelf.bench.window.pages.on_models, "on to the chat"
    shelf.open()
    assert shelf.entries()["Tiny-Talker"].badge == "loaded"
    assert not shelf.detail.load.isEnabled()
    assert not shelf.detail.delete.isEnabled(), "what is loaded isn't deleted"
    menu = shelf.bench.window.loading.button.button.menu()
    menu.aboutToShow.emit()
    assert "Tiny-Talker" in [action.text() for action in menu.actions()], "not its folder: a commit"


def test_half_a_download_is_gone_on_with(shelf: Shelf, cache: Path, tiny: Path) -> None:
    snapshot = in_hub_cache(cache, tiny)
    (snapshot / "model.safetensors").unlink()
    shelf.open()
    assert shelf.entries()["Tiny-Talker"].badge == "incomplete"
    shelf.detail.download.click()
    shelf.bench.rest()
    assert shelf.bench.hub.asked(hv.Download) == [hv.Download(REPO)]
    assert shelf.detail.place.row is not None
    assert not shelf.detail.download.isVisible()
    shutil.copy(tiny / "model.safetensors", snapshot)
    shelf.bench.hub.advance(REPO, done_bytes=1, total_bytes=2)
    shelf.bench.hub.advance(REPO, state="done", path=str(snapshot))
    shelf.settle()
    assert shelf.entries()["Tiny-Talker"].badge == "ready"
    assert shelf.detail.load.isVisible()


def test_what_is_installed_shows_where_models_are_found(shelf: Shelf, cache: Path, tiny: Path) -> None:
    shelf.bench.hub.models = (hv.HubModel(REPO, support="supported"),)
    snapshot = in_hub_cache(cache, tiny)
    shelf.bench.window.on_models()
    shelf.settle()
    browser = shelf.page.browser
    assert browser.list.entries()[-1].badge == "installed"
    browser.list.choose(REPO)
    shelf.bench.rest()
    assert browser.detail.load.isVisible()
    browser.detail.load.click()
    shelf.bench.rest()
    assert shelf.bench.engine.received[-1] == LoadModel(str(snapshot), "turbo4")


def test_every_byte_can_be_checked(shelf: Shelf, cache: Path, tiny: Path) -> None:
    snapshot = in_hub_cache(cache, tiny)
    blobs = snapshot.parent.parent / "blobs"
    blobs.mkdir()
    weights = snapshot / "model.safetensors"
    blob = blobs / hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.rename(blob)
    weights.symlink_to(blob)
    shelf.open()
    shelf.detail.check.click()
    assert shelf.detail.bar.isVisible()
    shelf.qtbot.waitUntil(lambda: shelf.side.job.path is None)
    shelf.settle()
    assert shelf.detail.status.text == "Every byte is as the hub has it"
    with blob.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    shelf.detail.check.click()
    shelf.qtbot.waitUntil(lambda: shelf.side.job.path is None)
    shelf.settle()
    assert shelf.entries()["Tiny-Talker"].badge == "damaged"
    assert "model.safetensors isn't as the hub has it" in shelf.detail.status.text
    assert not shelf.detail.load.isVisible()
    shelf.detail.download.click()
    shelf.bench.rest()
    shelf.bench.hub.advance(REPO, state="done", path=str(snapshot))
    shelf.settle()
    assert shelf.entries()["Tiny-Talker"].badge == "ready"


@pytest.mark.parametrize("width", [640, 860, 1010, 1280])
def test_nothing_sticks_out(shelf: Shelf, cache: Path, tiny: Path, tmp_path: Path, width: int) -> None:
    in_hub_cache(cache, tiny, "mlx-community/A-model-with-quite-a-long-name-for-its-size-Instruct-2507-4bit")
    shutil.copytree(tiny, tmp_path / "A folder of the user's own with a long name" / "One")
    shelf.page.on_this_computer.add(tmp_path / "A folder of the user's own with a long name")
    shelf.bench.window.resize(width, 600)
    shelf.open()
    for entry in shelf.side.list.entries():
        shelf.side.list.choose(entry.key)
        shelf.side.list.opened.emit(entry.key)
        shelf.bench.rest()
        assert shelf.detail.widget().width() <= shelf.detail.viewport().width()
        assert shelf.detail.width() <= shelf.page.width()


# ---------------------------------------------------------------- taking away


@pytest.mark.parametrize("choice", ["Delete", "Cancel"])
def test_deleting_asks_first(
    shelf: Shelf, cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    snapshot = in_hub_cache(cache, tiny)
    shelf.bench.hub.advance(REPO, state="done", path=str(snapshot))
    shelf.open()
    asked = answer(monkeypatch, choice)
    shelf.side.list.setFocus()
    QTest.keyClick(shelf.side.list, Qt.Key.Key_Delete)
    assert snapshot.exists(), "nothing is deleted under a download"
    shelf.bench.rest()  # the download lets go of it
    shelf.qtbot.waitUntil(lambda: shelf.page.on_this_computer.models == () or choice == "Cancel")
    shelf.settle()
    assert "Delete Tiny-Talker?" in asked[0]
    assert "Conversations stay" in asked[0]
    assert snapshot.exists() == (choice == "Cancel")
    assert (REPO in shelf.bench.window.hub.downloads) == (choice == "Cancel")
    assert shelf.detail.shown == (choice == "Cancel")


def test_a_folder_of_the_users_own_is_only_taken_off_the_list(shelf: Shelf, tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "all" / "One")
    shutil.copytree(tiny, tmp_path / "all" / "Two")
    shelf.page.on_this_computer.add(tmp_path / "all")
    shelf.open()
    assert set(shelf.entries()) == {"One", "Two"}
    assert not shelf.detail.delete.isVisible()
    assert shelf.detail.forget.text() == "Take “all” off the list"
    shelf.detail.forget.click()
    shelf.settle()
    assert shelf.entries() == {}
    assert (tmp_path / "all" / "One" / "config.json").exists()


def test_a_folder_that_is_gone_says_so(shelf: Shelf, tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "Moved")
    shelf.page.on_this_computer.add(tmp_path / "Moved")
    shelf.settle()
    shutil.rmtree(tmp_path / "Moved")
    shelf.open()
    assert "any more" in shelf.detail.status.text
    shelf.detail.forget.click()
    shelf.settle()
    assert shelf.entries() == {}


def test_it_is_shown_in_its_folder(shelf: Shelf, cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    snapshot = in_hub_cache(cache, tiny)
    shelf.open()
    shelf.detail.reveal.click()
    assert opened == [str(snapshot)]


# ---------------------------------------------------------------- GGUF files, and dropping


def drop(target: QWidget, path: Path, *, let_go: bool = True) -> bool:
    """Drag a file over a widget, and let it go there. Returns whether it was taken."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    place, buttons, keys = QPoint(40, 40), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(target, enter)
    if enter.isAccepted() and let_go:
        QApplication.sendEvent(target, QDropEvent(place, Qt.DropAction.CopyAction, data, buttons, keys))
    return enter.isAccepted()


def test_a_dropped_gguf_file_is_imported(shelf: Shelf, tmp_path: Path) -> None:
    source = tmp_path / "Small.gguf"
    write(source, llama_metadata(), llama_tensors())
    assert drop(shelf.bench.window, source)
    assert not shelf.bench.window._drop_target.isVisible()
    shelf.settle()
    assert shelf.bench.window.pages.on_models
    assert shelf.detail.title.text() == "Small"
    assert "Load" not in shelf.buttons()
    shelf.detail.import_.click()
    assert shelf.detail.bar.isVisible()
    shelf.qtbot.waitUntil(lambda: shelf.side.job.path is None, timeout=20_000)
    shelf.settle()
    assert list(shelf.entries()) == ["Small"], "in place of the file, which stays where it was"
    assert source.exists()
    assert shelf.detail.model is not None
    assert shelf.detail.model.path == paths.models_dir() / "Small"
    assert shelf.detail.load.isVisible()


def test_a_gguf_file_that_cannot_be_imported_says_why(shelf: Shelf, tmp_path: Path) -> None:
    source = tmp_path / "Cut.gguf"
    write(source, llama_metadata(), llama_tensors())
    source.write_bytes(source.read_bytes()[:-5000])
    drop(shelf.bench.window, source)
    shelf.settle()
    assert shelf.entries()["Cut"].badge == "damaged"
    assert "Import" not in shelf.buttons()
    write(source, llama_metadata(), llama_tensors())
    (paths.models_dir() / "Cut").mkdir()
    shelf.page.on_this_computer.refresh()
    shelf.settle()
    shelf.detail.import_.click()
    shelf.qtbot.waitUntil(lambda: shelf.detail.trouble is not None, timeout=20_000)
    assert "exists already" in shelf.detail.trouble.findChildren(QWidget)[0].text()  # type: ignore[attr-defined,union-attr]


def test_an_import_can_be_cancelled(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "Small.gguf"
    write(source, llama_metadata(), llama_tensors())
    drop(shelf.bench.window, source)
    shelf.settle()
    shelf.detail.import_.click()
    shelf.detail.cancel.click()
    assert shelf.side.job.path is None
    assert shelf.detail.import_.isVisible()
    assert not shelf.detail.bar.isVisible()


def test_a_dropped_folder_is_listed_and_remembered(start: Callable[..., Bench], qtbot: QtBot, tiny: Path) -> None:
    bench = start()
    drop(bench.window, tiny)
    shelf = Shelf(bench, qtbot)
    shelf.settle()
    assert shelf.detail.title.text() == "Tiny-Talker"
    bench.close()
    again = Shelf(start(), qtbot)
    again.open()
    assert list(again.entries()) == ["Tiny-Talker"]


def test_a_folder_of_models_and_one_without_any(shelf: Shelf, tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "all" / "publisher" / "One")
    drop(shelf.bench.window, tmp_path / "all")
    shelf.settle()
    assert shelf.detail.title.text() == "One"
    (tmp_path / "Holiday").mkdir()
    drop(shelf.bench.window, tmp_path / "Holiday")
    shelf.settle()
    assert "“Holiday” holds no model" in shelf.side.note.text()
    assert shelf.side.note.isVisible()
    assert shelf.page.on_this_computer.added() == [str(tmp_path / "all")]
    assert shelf.detail.title.text() == "One"


def test_other_files_are_not_taken(bench: Bench, tmp_path: Path) -> None:
    """Where there is no composer, which takes texts."""
    (tmp_path / "notes.txt").write_text("hello")
    bench.window.on_models()
    assert not drop(bench.window, tmp_path / "notes.txt")
    assert not bench.window._drop_target.isVisible()


def test_a_model_dragged_over_the_text_is_the_windows(bench: Bench, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "model.gguf"))])
    data.setText("model.gguf")
    assert not bench.composer.edit.canInsertFromMimeData(data)
    assert drop(bench.window, tmp_path / "model.gguf", let_go=False)
    assert bench.window._drop_target.isVisible()
    QApplication.sendEvent(bench.window, QDragLeaveEvent())
    assert not bench.window._drop_target.isVisible()
