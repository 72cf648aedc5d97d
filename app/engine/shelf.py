"""What the cache files on disk hold: read from their headers once, and again only where a file is new."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.library.snapshots import CacheFile, SnapshotStore
from turboquant import snapshot
from turboquant.errors import SnapshotDamaged, SnapshotError

log = logging.getLogger(__name__)

Tokens = NDArray[np.int64]


@dataclass
class Stored:
    """One file's content. `whole`: it can't be cut back, as a load has shown, so it serves entirely or not at all."""

    file: CacheFile
    fingerprint: str
    scheme: str
    tokens: Tokens
    whole: bool = False


class Shelf:
    """`stored` are the readable files, what was used last first; `unreadable` says of the others why they aren't."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self._known: dict[CacheFile, Stored | SnapshotError] = {}
        self.stored: list[Stored] = []
        self.unreadable: list[tuple[CacheFile, SnapshotError]] = []

    def refresh(self) -> None:
        """Look at the folder again."""
        known, self._known, self.stored, self.unreadable = self._known, {}, [], []
        for file in self._store.files():
            self._known[file] = entry = known.get(file) or _read(file)
            if isinstance(entry, Stored):
                self.stored.append(entry)
            else:
                self.unreadable.append((file, entry))

    def refuse(self, entry: Stored, error: SnapshotError) -> None:
        """A load has shown that it serves nobody here."""
        self._known[entry.file] = error

    def use(self, entry: Stored) -> None:
        """It was needed just now."""
        self._known.pop(entry.file, None)
        entry.file = self._store.use(entry.file)
        self._known[entry.file] = entry


def key(tokens: Sequence[int], fingerprint: str, scheme: str) -> str:
    """A hash of what a cache holds: the part of a file's name that says whether it is on disk already."""
    digest = hashlib.blake2b(f"{fingerprint} {scheme} ".encode(), digest_size=16)
    digest.update(np.asarray(tokens, np.int64).tobytes())
    return digest.hexdigest()


def shared(left: Tokens, right: Tokens) -> int:
    """How many leading tokens are equal."""
    length = min(len(left), len(right))
    differ = np.flatnonzero(left[:length] != right[:length])
    return int(differ[0]) if len(differ) else length


def _read(file: CacheFile) -> Stored | SnapshotError:
    try:
        header = snapshot.read_header(file.path)
        tokens = np.asarray(header["tokens"], np.int64).reshape(-1)
    except SnapshotError as error:
        log.warning("%s: %s", file.name, str(error))
        return type(error)(str(error))  # without the frames
    except (OverflowError, TypeError, ValueError):
        return SnapshotDamaged("The cache file's header doesn't describe a cache.")
    return Stored(file, header["fingerprint"], header["scheme"], tokens)
