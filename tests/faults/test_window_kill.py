"""kill −9 of the window itself: what was said is there, and of a reply all but the last two seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.library.conversations import Library
from app.library.records import Message
from tests.faults.window_child import WORD_MS


def killed(home: Path, what: str, until: int) -> list[Message]:
    """Let the child say this many words, kill it, and read what it left."""
    command = [sys.executable, "-m", "tests.faults.window_child", str(home), what]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        said = next((int(line) for line in child.stdout if int(line) >= until), -1)
        child.kill()
    assert child.returncode == -9, "it ended before it was killed"
    assert said >= until
    with Library(home / "library.db") as library:
        assert library.notice == ""
        (conversation,) = library.conversations()
        assert conversation.title == "Count"
        return library.messages(conversation.id)


def test_a_message_is_on_disk_before_the_engine_is_asked(tmp_path: Path) -> None:
    user, reply = killed(tmp_path, "submit", 0)
    assert (user.content, reply.content, reply.state) == ("Count", "", "partial")


@pytest.mark.slow
@pytest.mark.parametrize("until", [130, 171, 200])
def test_a_reply_is_at_most_two_seconds_behind(tmp_path: Path, until: int) -> None:
    _, reply = killed(tmp_path, "stream", until)
    assert reply.state == "partial"
    assert len(reply.content.split()) >= until - 2000 // WORD_MS
