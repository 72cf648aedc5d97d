"""The library's file: migrations, and files that can't be used as they are."""

from __future__ import annotations

import datetime
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import AppError
from app.events import MemorySample, SchemeSwitched
from app.library import database
from app.library.conversations import Library


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


def fill(path: Path, count: int = 30) -> None:
    with Library(path) as library:
        for number in range(count):
            conversation = library.create("turbo4").id
            first = library.add_user_message(conversation, f"Question {number} " + "word " * 200)
            library.edit(first, f"Another {number}")
            library.show(conversation, first.id)
            library.start_context(first.id)
            library.drafts.write(conversation, f"Draft {number}")
            library.profiles.save(f"Profile {number}", {"temperature": 0.5})
            library.history.record_samples(
                [(MemorySample(conversation, "turbo4", 9, 9, 9, 36, 1, 2, 2, 0, 0, 0), None)]
            )
            library.history.record_switch(
                SchemeSwitched(conversation, "turbo4", "turbo2", 9, 9, 5, "encoded", 0.1), None
            )


def test_the_version_counts_the_migrations(path: Path) -> None:
    fill(path, 1)
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA user_version").fetchone() == (len(database.MIGRATIONS),)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_a_later_migration_runs_once_and_keeps_the_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, 2)
    later = (*database.MIGRATIONS, "ALTER TABLE conversations ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';")
    monkeypatch.setattr(database, "MIGRATIONS", later)
    for _ in range(2):
        with Library(path) as library:
            assert len(library.conversations()) == 2
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT DISTINCT colour FROM conversations").fetchall() == [("blue",)]
    raw.close()


def test_left_out_turns_of_an_earlier_version_stay_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", database.MIGRATIONS[:3])
        old = database.open_database(path).connection
    old.execute("INSERT INTO conversations (id, scheme, leaf, context_start, created, updated) "
                "VALUES ('c', 'turbo4', 'b', 'b', 1, 1)")  # fmt: skip
    for message, parent in (("a", None), ("b", "a")):
        old.execute("INSERT INTO messages (id, conversation, parent, role, content, state, created) "
                    "VALUES (?, 'c', ?, 'user', ?, 'complete', 1)", (message, parent, message))  # fmt: skip
    old.close()
    with Library(path) as library:
        assert [(m.content, m.starts_context) for m in library.messages("c")] == [("a", False), ("b", True)]


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, 2)
    broken = (*database.MIGRATIONS, "ALTER TABLE conversations ADD COLUMN colour TEXT; SELECT nonsense FROM nowhere;")
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", broken)
        with pytest.raises(sqlite3.OperationalError):
            database._connect(path)
    with Library(path) as library:
        assert library.notice == ""
        assert len(library.conversations()) == 2


def test_a_later_versions_file_is_refused_untouched(path: Path) -> None:
    fill(path, 1)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(AppError, match="later version"):
        Library(path)
    assert path.read_bytes() == before


def test_a_foreign_file_is_set_aside(path: Path) -> None:
    path.write_bytes(b"These are not conversations. " * 100)
    with Library(path) as library:
        assert "damaged" in library.notice
        assert library.conversations() == []
        library.create("turbo4")
    (aside,) = path.parent.glob("library-damaged-*.db")
    assert aside.read_bytes().startswith(b"These are not")
    assert str(aside) in library.notice
    with Library(path) as again:
        assert again.notice == ""
        assert len(again.conversations()) == 1


def test_what_can_be_read_of_a_damaged_file_is_copied(path: Path) -> None:
    fill(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\x55" * 4096
    path.write_bytes(content)
    with Library(path) as library:
        assert "could be read" in library.notice
        assert len(library.conversations()) > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"cached_tokens", b"caghed_tokens"),
        (b"bytes_after", b"bytes_\xfffter"),
        (b"conversations(id)", b"conversatkons(id)"),
        (b"title TEXT", b"title TEXU"),
        (b"CREATE TABLE messages", b"CREATE TABLF messages"),
        (b"tablemessagesmessages", b"tablemessagfsmessages"),
        (b"starts_context", b"starts_contexu"),
        (b"shown TEXT", b"shown TEXU"),
        (b"is_first INTEGER", b"is_firsu INTEGER"),
        (b"CREATE TABLE drafts", b"CREATE TABLE drafus"),
        (b"tablecachescaches", b"tabldcachescaches"),
    ],
)
def test_a_damaged_description_is_mended_once(path: Path, old: bytes, new: bytes) -> None:
    fill(path, 2)
    sound = path.read_bytes()
    assert old in sound
    assert len(old) == len(new)
    path.write_bytes(sound.replace(old, new))
    with Library(path) as library:
        assert "damaged" in library.notice
        assert len(library.conversations()) == 2
        for conversation in library.conversations():
            (message,) = library.messages(conversation.id)
            assert message.content.startswith("Question")
            assert message.starts_context
            assert len(library.branch(conversation.id)[1][message.id]) == 2
            assert library.drafts.read(conversation.id).startswith("Draft")
            assert len(library.history.samples(conversation.id)) == 1
            assert len(library.history.switches(conversation.id)) == 1
        assert [profile.chosen for profile in library.profiles.all()] == [{"temperature": 0.5}] * 2
    (aside,) = path.parent.glob("library-damaged-*.db")
    assert aside.read_bytes() == sound.replace(old, new)
    with Library(path) as again:
        assert again.notice == ""
        again.create("turbo4")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_damage_the_program_starts(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "fresh" / "library.db"
    path.parent.mkdir(exist_ok=True)
    for old in path.parent.iterdir():
        old.unlink()
    fill(path, 3)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    path.write_bytes(content[:cut])
    try:
        library = Library(path)
    except AppError:
        # A flipped version number looks like a later version's; such a file isn't touched.
        assert path.read_bytes() == bytes(content[:cut])
        return
    with library:
        for conversation in library.conversations():
            datetime.date.fromtimestamp(conversation.updated)
            _, versions = library.branch(conversation.id)
            for other in itertools.chain.from_iterable(versions.values()):
                library.show(conversation.id, other)
                library.branch(conversation.id)
            library.history.samples(conversation.id)
            library.history.switches(conversation.id)
            library.drafts.read(conversation.id)
            library.caches.of(conversation.id)
        library.profiles.all()
        made = library.create("turbo4")
        library.add_user_message(made.id, "It goes on")
        assert [m.content for m in library.messages(made.id)] == ["It goes on"]


def test_a_file_that_cant_be_made_is_explained(tmp_path: Path) -> None:
    with pytest.raises(AppError, match="can't be opened"):
        Library(tmp_path / "no such folder" / "library.db")


def test_a_file_that_another_program_holds_is_explained(path: Path) -> None:
    with Library(path) as library:
        conversation = library.create("turbo4").id
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError, match="untouched"):
            Library(path)
    with Library(path) as library:
        assert library.ids() == [conversation]


def test_what_version_1_knew_of_cache_files_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    before = next(place for place, script in enumerate(database.MIGRATIONS) if "TABLE caches" in script)
    old = sqlite3.connect(path)
    old.executescript("".join(database.MIGRATIONS[:before]))
    old.execute("INSERT INTO conversations (id, scheme, created, updated) VALUES ('c', 'turbo3', 1, 1)")
    old.execute("INSERT INTO snapshots VALUES ('c', 'c.tqcache', 'print', 'turbo3', 900, 5000, 0.5, 7)")
    old.execute(f"PRAGMA user_version = {before}")
    old.commit()
    old.close()
    with Library(path) as library:
        (stored,) = library.caches.all()
        assert (stored.file, stored.conversation, stored.tip, stored.tokens) == ("c.tqcache", "c", "", 900)
        assert (stored.size_bytes, stored.save_s, stored.load_s, stored.prefill_s) == (5000, 0.5, 0.0, 0.0)
        assert library.conversation("c").snapshot_bytes == 5000
        library.caches.forget(["c.tqcache"])
        assert library.conversations()[0].snapshot_bytes == 0


def test_how_fast_models_read_is_taken_over_from_their_cache_files(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    before = next(place for place, script in enumerate(database.MIGRATIONS) if "TABLE rates" in script)
    old = sqlite3.connect(path)
    old.executescript("".join(database.MIGRATIONS[:before]))
    old.execute("INSERT INTO conversations (id, scheme, created, updated) VALUES ('c', 'turbo3', 1, 1)")
    for name, model, rate, used in (
        ("a", "one", 50.0, 2),
        ("b", "one", 40.0, 1),
        ("d", "one", 0.0, 3),
        ("e", "two", 0.0, 1),
    ):
        old.execute("INSERT INTO caches VALUES (?, 'c', '', ?, 'turbo3', 9, 9, 0, 0, ?, ?)", (name, model, rate, used))
    old.execute(f"PRAGMA user_version = {before}")
    old.commit()
    old.close()
    with Library(path) as library:
        assert (library.caches.rate("one"), library.caches.rate("two")) == (50.0, 0.0), "the latest that was measured"
        library._db.execute("UPDATE rates SET prefill = 'x'")
        assert library.caches.rate("one") == 0.0, "damaged"
