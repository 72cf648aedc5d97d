"""Replies that stream: what a second of them costs, and what a killed program leaves."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.events import TurnFinished
from app.library.conversations import Library
from app.library.streaming import Streaming

TEXT = "Größe 猫 🙂 and so on. "


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "library.db") as opened:
        yield opened


def begun(library: Library) -> tuple[str, str]:
    conversation = library.create("turbo4").id
    library.add_user_message(conversation, "Go on")
    return conversation, library.begin_reply(conversation, "turbo4").id


def files(folder: Path) -> list[Path]:
    return sorted((folder / "streaming").glob("*"))


def test_only_what_is_new_is_written(library: Library, tmp_path: Path) -> None:
    conversation, reply = begun(library)
    database = (tmp_path / "library.db-wal").stat().st_size
    for count in range(1, 200):
        library.update_partial(reply, TEXT * count)
    assert files(tmp_path)[0].read_text("utf-8") == TEXT * 199
    assert (tmp_path / "library.db-wal").stat().st_size == database
    assert library.messages(conversation)[-1].content == TEXT * 199


def test_the_file_goes_with_the_reply(library: Library, tmp_path: Path) -> None:
    for end in ("finish", "fail", "remove"):
        conversation, reply = begun(library)
        library.update_partial(reply, TEXT)
        assert len(files(tmp_path)) == 1
        if end == "finish":
            library.finish_reply(TurnFinished(conversation, reply, "stop", "turbo4", "Whole", 1, 0, 1, 1.0, 1.0))
        elif end == "fail":
            library.fail_reply(reply, TEXT, "No memory.")
        else:
            library.remove_message(reply)
        assert files(tmp_path) == []
        library.update_partial(reply, "late")
        assert files(tmp_path) == []


def test_what_a_killed_program_left_is_taken_in(library: Library, tmp_path: Path) -> None:
    conversation, reply = begun(library)
    library.update_partial(reply, TEXT)
    with (tmp_path / "streaming" / f"{reply}.reply").open("ab") as file:
        file.write("猫".encode()[:2])  # killed in the middle of a letter
    for _ in range(2):
        with Library(tmp_path / "library.db") as again:
            last = again.messages(conversation)[-1]
            assert (last.content, last.state) == (TEXT + "\ufffd", "partial")
            assert files(tmp_path) == []


def test_killed_between_the_end_and_the_file(library: Library, tmp_path: Path) -> None:
    conversation, reply = begun(library)
    library.finish_reply(TurnFinished(conversation, reply, "stop", "turbo4", "Whole", 1, 0, 1, 1.0, 1.0))
    (tmp_path / "streaming").mkdir(exist_ok=True)
    (tmp_path / "streaming" / f"{reply}.reply").write_text("Who")
    with Library(tmp_path / "library.db") as again:
        assert again.messages(conversation)[-1].content == "Whole"
    assert files(tmp_path) == []


def test_one_odd_file_hinders_no_other(library: Library, tmp_path: Path) -> None:
    conversation, reply = begun(library)
    library.update_partial(reply, TEXT)
    folder = tmp_path / "streaming"
    (folder / "a.reply").mkdir()
    (folder / "0 odd' name.reply").write_bytes(b"x")
    (folder / "nobody.reply").write_bytes(b"\xff\x00")
    (folder / "notes.txt").write_text("mine")
    os.mkfifo(folder / "pipe.reply")
    with (folder / "vast.reply").open("wb") as vast:
        vast.truncate(2_000_000_000)
    with Library(tmp_path / "library.db") as again:
        assert again.notice == ""
        assert again.messages(conversation)[-1].content == TEXT
    assert [file.name for file in files(tmp_path)] == [
        "0 odd' name.reply",
        "a.reply",
        "notes.txt",
        "pipe.reply",
        "vast.reply",
    ]


@pytest.mark.parametrize("odd", ["file", "nothing"])
def test_without_the_folder_the_program_starts(tmp_path: Path, odd: str) -> None:
    if odd == "file":
        (tmp_path / "streaming").write_text("not a folder")
    with Library(tmp_path / "library.db") as library:
        conversation, reply = begun(library)
        if odd == "file":
            with pytest.raises(OSError, match="streaming"):
                library.update_partial(reply, TEXT)
        library.finish_reply(TurnFinished(conversation, reply, "stop", "turbo4", "Whole", 1, 0, 1, 1.0, 1.0))
        assert library.messages(conversation)[-1].content == "Whole"


def test_a_full_disk_costs_nothing_of_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streaming = Streaming(tmp_path / "streaming")
    streaming.put("r", "abc")
    opened = Path.open

    def full(self: Path, *args: Any, **kwargs: Any) -> Any:
        file = opened(self, *args, **kwargs)

        class Full:
            def __enter__(self) -> Full:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def truncate(self, size: int) -> None:
                file.truncate(size)

            def write(self, data: bytes) -> int:
                file.write(data[:1])
                raise OSError(errno.ENOSPC, "No space left on device")

        return Full()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(OSError, match="No space"):
            streaming.put("r", "abcdef")
    assert streaming.text("r") == "abc"
    streaming.put("r", "abcdefg")
    assert (tmp_path / "streaming" / "r.reply").read_text() == "abcdefg"
