"""Names of cache files, orphans and the quota."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.library.snapshots import CacheFile, SnapshotStore
from app.paths import beside

KEY = "0123456789abcdef" * 2


def put(store: SnapshotStore, conversation: str, size: int, age: int, tip: str = "m1", key: str = KEY) -> Path:
    path = store.path(conversation, tip, key)
    path.write_bytes(b"x" * size)
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def names(store: SnapshotStore, conversation: str | None = None) -> list[str]:
    return [file.conversation for file in store.files(conversation)]


def test_a_name_says_whom_the_file_serves(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    path = put(store, "a", 10, 5)
    assert store.files() == [CacheFile(path, "a", "m1", 10, 1_000_000 - 5)]
    old = tmp_path / "b.tqcache"  # of version 1
    old.write_bytes(b"old")
    os.utime(old, (999_999, 999_999))
    assert store.files("b") == [CacheFile(old, "b", "", 3, 999_999)]
    assert names(store) == ["b", "a"]


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a.b", "x" * 65, "a\n"])
def test_an_id_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    for ids in ((name, "m1", KEY), ("a", name or "m/1", KEY), ("a", "m1", name)):
        with pytest.raises(ValueError, match="can't name a file"):
            SnapshotStore(tmp_path).path(*ids)


def test_the_longest_ids_fit_a_file_name(tmp_path: Path) -> None:
    put(SnapshotStore(tmp_path), "c" * 64, 1, 0, "m" * 64)


def test_orphans_and_leftovers_go_and_foreign_files_stay(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    kept = [put(store, "known", 10, 0), put(store, "known", 10, 0, tip="m2", key=KEY[::-1])]
    put(store, "orphan", 10, 0)
    (tmp_path / "orphan.tqcache").write_bytes(b"version 1")
    (tmp_path / f"{kept[0].name}.123.tmp").write_bytes(b"half")
    beside(tmp_path / "working.json").write_bytes(b"half a marker")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    incoming = store.incoming()
    assert incoming.exists()
    assert {file.path for file in store.tidy({"known", "never saved"})} == set(kept)
    assert set(tmp_path.iterdir()) == {*kept, tmp_path / "notes.txt"}


def test_past_the_quota_what_was_used_longest_ago_goes(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    for age, name in enumerate("abcd"):
        put(store, name, 10, age)
    (oldest,) = store.files("d")
    store.use(oldest)
    assert names(store) == ["d", "a", "b", "c"]
    assert store.make_room(25) == [f"c.m1.{KEY}.tqcache", f"b.m1.{KEY}.tqcache"]
    assert store.make_room(25) == []
    assert store.make_room(0, keep=store.files("a")[0].path) == [f"d.m1.{KEY}.tqcache"]
    put(store, "e", 10, 9)
    assert [file.conversation for file in store.tidy({"a", "e"}, quota_bytes=15)] == ["a"]


def test_a_folder_that_cannot_be_tidied_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SnapshotStore(tmp_path)
    for name in ("a", "b", "gone"):
        put(store, name, 10, 0)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", read_only)
    assert len(store.tidy({"a", "b"}, quota_bytes=15)) == 3
    assert store.remove(store.files()) == []
    assert SnapshotStore(tmp_path / "missing").tidy({"a"}) == []
