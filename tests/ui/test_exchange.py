"""Export and import in the window: where they are reached, what is said, and that nothing is overwritten."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from app import events as ev
from app.ui.conversations.exchange import file_name
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FINGERPRINT


@pytest.fixture(autouse=True)
def home(turboquant_home: Path) -> Path:
    return turboquant_home


def settle(qtbot: QtBot, bench: Bench) -> None:
    """Until what runs beside the window is done and said."""
    bench.rest()
    qtbot.waitUntil(lambda: not bench.window.exchange._jobs, timeout=20_000)
    bench.rest()


def choose(monkeypatch: pytest.MonkeyPatch, target: Path) -> list[str]:
    """Answers the save dialog; returns what it proposed."""
    proposed: list[str] = []

    def answer(_window: object, _title: str, name: str, _kinds: str) -> tuple[str, str]:
        proposed.append(name)
        return str(target), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    return proposed


def notices(bench: Bench) -> str:
    return "\n".join(bench.window.notices.texts())


def packed(bench: Bench, folder: Path, content: bytes = b"cache") -> None:
    """The engine has this cache of any conversation."""
    file = folder / "engine.tqcache"
    file.write_bytes(content)
    bench.engine.packed = (ev.PackedFile(str(file), "", FINGERPRINT, "turbo4", 12),)


def test_markdown_and_json_from_the_menu(
    bench: Bench, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.say("What: is <this>?")
    proposed = choose(monkeypatch, tmp_path / "chat.md")
    bench.window.actions_.export_markdown.trigger()
    settle(qtbot, bench)
    assert Path(proposed[0]).name == "What is this.md"
    assert (
        "## You\n\nWhat: is <this>?\n\n## Tiny-1B\n\nYou said *What: is <this>?*." in (tmp_path / "chat.md").read_text()
    )
    assert "Exported: " in notices(bench)
    proposed = choose(monkeypatch, tmp_path / "chat")  # no ending: it gets its own
    bench.window.actions_.export_json.trigger()
    settle(qtbot, bench)
    assert Path(proposed[0]).parent == tmp_path, "where the last one went"
    assert (
        json.loads((tmp_path / "chat.json").read_text())["conversation"]["messages"][0]["content"] == "What: is <this>?"
    )


def test_nothing_to_export_without_a_conversation(bench: Bench) -> None:
    a = bench.window.actions_
    assert not any(action.isEnabled() for action in (a.export_markdown, a.export_json, a.export_chat))
    assert a.import_.isEnabled()
    bench.say("hello")
    assert all(action.isEnabled() for action in (a.export_markdown, a.export_json, a.export_chat))


def test_the_list_offers_it_too(bench: Bench, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.say("first")
    one = bench.chat.current
    bench.window.browsing.on_new()
    bench.say("second")
    menu = QMenu()
    bench.window.sidebar.menu_opened.emit(menu, one)
    (part,) = menu.findChildren(QMenu)
    assert part.menuAction() in menu.actions()
    choose(monkeypatch, tmp_path / "one.json")
    part.actions()[1].trigger()
    settle(qtbot, bench)
    assert '"first"' in (tmp_path / "one.json").read_text()


def test_a_conversation_with_its_cache_goes_out_and_in(
    bench: Bench, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.say("hello")
    packed(bench, tmp_path)
    choose(monkeypatch, tmp_path / "chat.turbochat")
    bench.window.actions_.export_chat.trigger()
    settle(qtbot, bench)
    first = bench.chat.current
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(tmp_path / "chat.turbochat")], ""))
    bench.window.actions_.import_.trigger()
    settle(qtbot, bench)
    assert bench.chat.current not in ("", first)
    assert bench.said() == ["hello"]
    assert len(bench.library.conversations()) == 2
    asked = [command for command in bench.engine.received if isinstance(command, ev.AdoptCache)]
    assert [command.conversation_id for command in asked] == [bench.chat.current]
    assert Path(asked[0].path).read_bytes() == b"cache"
    adopted, opened = (
        next(
            place
            for place, c in enumerate(bench.engine.received)
            if isinstance(c, kind) and c.conversation_id == bench.chat.current
        )
        for kind in (ev.AdoptCache, ev.OpenConversation)
    )
    assert adopted < opened, "it is there when the conversation looks for it"
    assert "was imported" in notices(bench)
    assert "left out" not in notices(bench)


def test_a_cache_that_isnt_taken_is_said(bench: Bench, qtbot: QtBot, tmp_path: Path, home: Path) -> None:
    bench.say("hello")
    packed(bench, tmp_path)
    bench.window.exchange.export(bench.chat.current, tmp_path / "chat.turbochat")
    settle(qtbot, bench)
    bench.engine.refuse_caches = "The cache file leads the model to no sound answer."
    bench.window.on_dropped(tmp_path / "chat.turbochat")
    settle(qtbot, bench)
    assert "no sound answer. The next reply reads the text again." in notices(bench)
    packed(bench, tmp_path)
    bench.engine.packed = (ev.PackedFile(bench.engine.packed[0].path, "", "another", "turbo4", 12),)
    bench.window.exchange.export(bench.chat.current, tmp_path / "other.turbochat")
    settle(qtbot, bench)
    bench.window.on_dropped(tmp_path / "other.turbochat")
    settle(qtbot, bench)
    assert "another model" in notices(bench)
    assert bench.said() == ["hello"]


def test_in_the_middle_of_a_reply_the_text_goes_out_and_the_cache_waits(
    bench: Bench, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.engine.hold = True
    bench.say("hello there")
    bench.step(8)
    bench.chat.on_save()
    assert bench.chat.generating
    proposed = choose(monkeypatch, tmp_path / "chat.turbochat")
    bench.window.actions_.export_chat.trigger()
    assert not proposed
    assert "A reply is being written" in notices(bench)
    choose(monkeypatch, tmp_path / "chat.json")
    bench.window.actions_.export_json.trigger()
    qtbot.waitUntil((tmp_path / "chat.json").exists)
    written = json.loads((tmp_path / "chat.json").read_text())["conversation"]["messages"]
    assert [m["state"] for m in written] == ["complete", "interrupted"]
    assert written[1]["content"]
    bench.engine.hold = False
    settle(qtbot, bench)


def test_without_a_saved_cache_that_is_said(bench: Bench, qtbot: QtBot, tmp_path: Path) -> None:
    bench.say("hello")
    bench.window.exchange.export(bench.chat.current, tmp_path / "chat.turbochat")
    settle(qtbot, bench)
    assert "It holds the text only" in notices(bench)


def test_a_bad_file_changes_nothing(bench: Bench, qtbot: QtBot, tmp_path: Path, home: Path) -> None:
    bench.say("hello")
    before, folder = bench.chat.current, home / "cache" / "snapshots"
    for name, content in (("a.turbochat", b"PK nonsense"), ("b.json", b"{}"), ("c.turbochat", None)):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        bench.window.exchange.import_files([tmp_path / name])
        settle(qtbot, bench)
        assert "Nothing was imported" in bench.window.notices.texts()[-1]
    assert bench.chat.current == before
    assert len(bench.library.conversations()) == 1
    assert not folder.exists() or not list(folder.iterdir())


def test_a_conversation_dropped_on_the_window(bench: Bench, qtbot: QtBot, tmp_path: Path) -> None:
    bench.say("hello")
    bench.window.exchange.export(bench.chat.current, tmp_path / "chat.turbochat")
    settle(qtbot, bench)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "chat.turbochat"))])
    button, none, copy = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction
    enter = QDragEnterEvent(bench.window.rect().center(), copy, data, button, none)
    QApplication.sendEvent(bench.window, enter)
    assert enter.isAccepted()
    assert bench.window._drop_target._words == "Drop it to import the conversation"
    QApplication.sendEvent(bench.window, QDropEvent(QPointF(9, 9), copy, data, button, none))
    settle(qtbot, bench)
    assert len(bench.library.conversations()) == 2


def test_closing_during_an_export_leaves_nothing_half(
    start: Callable[..., Bench], qtbot: QtBot, tmp_path: Path
) -> None:
    bench = start()
    bench.say("hello")
    with (tmp_path / "engine.tqcache").open("wb") as file:
        file.truncate(1 << 30)
    bench.engine.packed = (ev.PackedFile(str(tmp_path / "engine.tqcache"), "", FINGERPRINT, "turbo4", 12),)
    bench.window.exchange.export(bench.chat.current, tmp_path / "chat.turbochat")
    bench.rest()
    assert bench.window.exchange._jobs
    bench.close()
    assert not list(tmp_path.glob("*chat.turbochat*"))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("", "conversation"),
        ("...", "conversation"),
        ("../../etc/passwd", "etc passwd"),
        ("a\nb:c*", "a b c"),
        ("x" * 99, "x" * 60),
    ],
)
def test_a_title_becomes_a_name(title: str, name: str) -> None:
    assert file_name(title) == name


def test_what_is_said_of_a_file_is_what_is_in_it(bench: Bench, qtbot: QtBot, tmp_path: Path) -> None:
    """The same conversation twice in a row: the same text, whatever the time."""
    bench.say("hello")
    digests = set()
    for name in ("a.md", "b.md"):
        bench.window.exchange.export(bench.chat.current, tmp_path / name)
        settle(qtbot, bench)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1
