"""The list in memory says what the database says, whoever changes it."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.events import MemorySample
from app.library import listing, touched
from app.library.conversations import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "library.db") as opened:
        yield opened


def same(library: Library) -> bool:
    fresh = listing._sorted(library._listing._read())
    return {c.id: c for c in library.conversations()} == {c.id: c for c in fresh} and [
        (c.pinned, c.updated) for c in library.conversations()
    ] == [(c.pinned, c.updated) for c in fresh]


def test_it_follows_every_change(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched, "MOST", 5)
    rng = random.Random(1)
    ids = [library.create("turbo4").id for _ in range(12)]
    for _ in range(150):
        for _ in range(rng.randint(1, 4)):
            one = rng.choice(ids)
            match rng.randint(0, 9):
                case 0:
                    library.rename(one, str(rng.random()))
                case 1:
                    library.pin(one, rng.random() < 0.5)
                case 2:
                    library.delete(one)
                case 3:
                    library.restore(one)
                case 4:
                    library.add_user_message(one, "more")
                case 5:
                    library.history.record_samples([(MemorySample(one, "turbo4", 9, 9, 9, 9, 9, 9, 9, 9, 9, 9), None)])
                case 6:
                    library._db.execute(
                        "INSERT OR REPLACE INTO caches VALUES (?,?,'','','turbo4',1,?,1,1,1,1)",
                        (f"{one}.{rng.randint(1, 3)}", one, rng.randint(1, 9)),
                    )
                case 7:
                    library._db.execute("DELETE FROM caches WHERE conversation = ?", (one,))
                case 8:
                    ids.append(library.create("turbo2").id)
                case 9:
                    library.set_scheme(one, rng.choice(["turbo2", "none"]))
        assert same(library)


def test_what_is_undone_is_not_remembered(library: Library) -> None:
    one = library.create("turbo4", title="before").id
    library.conversations()
    with contextlib.suppress(RuntimeError), library.transaction():
        library.rename(one, "after")
        assert [c.title for c in library.conversations()] == ["after"]
        raise RuntimeError
    assert [c.title for c in library.conversations()] == ["before"]


def test_another_connections_change_is_seen(library: Library, tmp_path: Path) -> None:
    one = library.create("turbo4", title="before").id
    library.conversations()
    with sqlite3.connect(tmp_path / "library.db") as other:
        other.execute("UPDATE conversations SET title = 'after' WHERE id = ?", (one,))
    other.close()
    assert [c.title for c in library.conversations()] == ["after"]
