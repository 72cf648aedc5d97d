"""What the layers below the window say, where nobody has given them another language."""

from __future__ import annotations

import copy
import errno
import pickle
import sqlite3
from pathlib import Path

import pytest

from app import words
from turboquant.reasons import Reason


def test_values_stand_where_the_sentence_names_them() -> None:
    assert words.say("{1} of {0}", "five", 3) == "3 of five"
    assert words.say("a {name} as it stands") == "a {name} as it stands"
    assert words.say("{0} is odd", "{braces}") == "{braces} is odd"


@pytest.mark.parametrize(
    ("size", "told"), [(812, "812 B"), (9.6e6, "9.6 MB"), (235e6, "235 MB"), (2.314e9, "2.31 GB"), (999_999, "1.0 MB")]
)
def test_sizes(size: float, told: str) -> None:
    assert words.size(size) == told


def test_what_stood_in_the_way_of_a_file(tmp_path: Path) -> None:
    assert words.why(OSError(errno.ENOSPC, "No space left on device")) == "the disk is full"
    assert words.why(OSError(errno.ENOTDIR, "Not a directory")) == "Not a directory"
    assert words.why(ValueError("no bytes")) == "no bytes"
    path = tmp_path / "held.db"
    with sqlite3.connect(path, isolation_level=None) as first, sqlite3.connect(path, timeout=0) as second:
        first.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as held:
            second.execute("CREATE TABLE t (x)")
    assert words.why(held.value) == "another program holds it"


def test_a_reason_is_a_text_that_knows_its_parts_and_keeps_them_in_copies() -> None:
    reason = Reason("a window of {0} tokens", "{512}")
    for copied in (reason, copy.deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert copied == "a window of {512} tokens"
        assert (copied.template, copied.values) == ("a window of {0} tokens", ("{512}",))
    assert words.retold(reason) == reason
    assert words.retold("plain {text}") == "plain {text}"
