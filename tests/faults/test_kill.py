"""kill −9 in the middle of a reply and of a save: the next start shows everything up to a moment before."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.events import OpenConversation, SnapshotLoaded
from app.library.conversations import Library
from app.library.snapshots import SnapshotStore
from tests.engine_kit import ask, drive, make_model, one, ready_engine, transcript
from tests.faults.engine_child import QUESTION


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


def killed(model: Path, home: Path, what: str, lines: int, delay_s: float = 0.0) -> list[int]:
    """Let the child print some lines, kill it, and return what it printed."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.faults.engine_child", str(model), str(home), what]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        printed = []
        for line in child.stdout:
            printed.append(int(line))
            if len(printed) == lines:
                break
        time.sleep(delay_s)
        child.kill()
    assert child.returncode == -9, "it ended before it was killed"
    return printed


def test_in_the_middle_of_a_reply(model: Path, tmp_path: Path) -> None:
    printed = killed(model, tmp_path, "reply", lines=4)
    with Library(tmp_path / "library.db") as library:
        assert library.notice == ""
        (conversation,) = library.conversations()
        question, reply = library.messages(conversation.id)
        assert question.content == QUESTION
        assert reply.state == "partial"
        assert len(reply.content) >= printed[-1]
        engine = ready_engine(model, tmp_path)
        more = transcript(QUESTION, reply.content, "Go on.")
        assert ask(engine, more, conversation=conversation.id).text


def check_saved(model: Path, home: Path) -> None:
    with Library(home / "library.db") as library:
        (conversation,) = library.conversations()
        question, reply = library.messages(conversation.id)
        assert (question.content, reply.state) == (QUESTION, "length")  # whole: ended at its limit
        there = SnapshotStore(home).files()
        assert there
        engine = ready_engine(model, home)
        SnapshotStore(home).tidy(set(library.ids()))
        assert {file.path for file in SnapshotStore(home).files()} == {file.path for file in there}, (
            "a later start uses it"
        )
        loaded = one(SnapshotLoaded, drive(engine, OpenConversation(conversation.id, (), "turbo4")))
        assert loaded.tokens > 200
        turn = ask(engine, transcript(QUESTION, reply.content, "Go on."), conversation=conversation.id)
        assert turn.reused_tokens == loaded.tokens
        files = SnapshotStore(home).tidy(set(library.ids()))
        library.caches.reconcile(files)
        assert {file.file for file in library.caches.all()} == {file.name for file in files}
    assert 1 <= len(files) <= 2  # killed before it was recorded, or before the file that it replaces was removed
    assert {path.name for path in home.glob("*.tqcache*")} == {file.name for file in files}


def test_in_the_middle_of_a_save(model: Path, tmp_path: Path) -> None:
    killed(model, tmp_path, "save", lines=3, delay_s=0.004)
    check_saved(model, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_in_the_middle_of_many_saves(model: Path, tmp_path: Path, seed: int) -> None:
    killed(model, tmp_path, "save", lines=2, delay_s=random.Random(seed).random() * 0.05)
    check_saved(model, tmp_path)
