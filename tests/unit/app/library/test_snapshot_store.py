"""Names of cache files, orphans and the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.library.snapshots import SnapshotStore


def put(store: SnapshotStore, name: str, size: int, age: int) -> None:
    store.path(name).write_bytes(b"x" * size)
    os.utime(store.path(name), (1_000_000 - age, 1_000_000 - age))


def test_sizes_and_removal(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    assert store.size("a") == 0
    put(store, "a", 10, 0)
    assert store.size("a") == 10
    store.remove("a")
    store.remove("a")
    assert store.size("a") == 0


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a.b", "x" * 65, "a\n"])
def test_an_id_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="can't name a file"):
        SnapshotStore(tmp_path).path(name)


def test_orphans_and_leftovers_go_and_foreign_files_stay(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    for name in ("known", "orphan"):
        put(store, name, 10, 0)
    (tmp_path / "known.tqcache.123.tmp").write_bytes(b"half")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    assert store.tidy(["known", "never saved"]) == ["never saved"]
    assert {file.name for file in tmp_path.iterdir()} == {"known.tqcache", "notes.txt"}


def test_past_the_limit_the_oldest_go(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, limit_bytes=25)
    for age, name in enumerate("abc"):
        put(store, name, 10, age)
    assert store.tidy("abc") == ["c"]
    assert store.tidy("ab") == []


def test_a_folder_that_cannot_be_tidied_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SnapshotStore(tmp_path, limit_bytes=15)
    put(store, "a", 10, 0)
    put(store, "b", 10, 5)
    put(store, "gone", 10, 5)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", read_only)
    assert store.tidy(["a", "b", "c"]) == ["c"]
    assert SnapshotStore(tmp_path / "missing").tidy(["a"]) == []
