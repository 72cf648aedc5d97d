"""Folders that are being made or deleted: hidden, and gone when that ends, however it ends.

A model appears by a rename, whole, and goes by one. What a killed program leaves is removed by the next one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_open: set[str] = set()  # this process's own, by name: its number may have been a dead one's


@contextmanager
def part(parent: Path) -> Iterator[Path]:
    """A new hidden folder in `parent`, which is made if need be; removed at the end with all that is left in it.

    Raises OSError.
    """
    with _named(parent) as folder:
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def discard(folder: Path) -> None:
    """Delete a folder: it is gone at once, its files soon after. Needs no room on the disk.

    Raises OSError: with all of it in place, or with files left that `remove_stale` tries again.
    """
    with _named(folder.parent) as gone:
        folder.rename(gone)
        shutil.rmtree(gone)


def remove_stale(parent: Path) -> None:
    """Remove what programs that were killed left in `parent`."""
    for folder in parent.glob(".*.*.part"):
        owner = folder.name.split(".")[-2]
        if owner.isdecimal() and folder.name not in _open and (int(owner) == os.getpid() or not _runs(int(owner))):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _named(parent: Path) -> Iterator[Path]:
    name = f".{secrets.token_hex(8)}.{os.getpid()}.part"
    _open.add(name)
    try:
        yield parent / name
    finally:
        _open.discard(name)


def _runs(process: int) -> bool:
    return process < 1 << 31 and psutil.pid_exists(process)
