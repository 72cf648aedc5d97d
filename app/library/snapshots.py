"""Which file holds a conversation's compressed cache.

One file a conversation, named by its id, so that the name alone finds it and a lost database row costs nothing. What is
in it (tokens, model fingerprint, scheme) stands in its own header: turboquant.snapshot writes and checks it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger(__name__)

ENDING = ".tqcache"
DEFAULT_LIMIT_BYTES = 8 << 30


class SnapshotStore:
    """The folder of cache files. Holds no state, so two threads may each use one."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    def path(self, conversation_id: str) -> Path:
        """The file that serves this conversation, whether it exists or not. Raises ValueError for an odd id."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", conversation_id):
            raise ValueError(f"{conversation_id!r} can't name a file")
        return self.folder / (conversation_id + ENDING)

    def size(self, conversation_id: str) -> int:
        """Bytes on disk, 0 without a file."""
        try:
            return self.path(conversation_id).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self, conversation_id: str) -> None:
        self.path(conversation_id).unlink(missing_ok=True)

    def tidy(self, known: Iterable[str]) -> list[str]:
        """Remove the files of conversations that are gone, leftovers of a killed save, and, past the limit, the oldest
        files. Returns the known conversations that have no file. Call it before the engine starts to save.
        """
        without = {conversation_id + ENDING: conversation_id for conversation_id in known}
        kept: list[tuple[float, int, Path]] = []
        try:
            files = list(self.folder.iterdir())
        except OSError as error:
            log.warning("the saved caches can't be listed: %s", error)
            return []
        for file in files:
            if file.name in without:
                try:
                    status = file.stat()
                except OSError as error:
                    log.warning("%s can't be read: %s", file.name, error)
                else:
                    kept.append((status.st_mtime, status.st_size, file))
            elif ENDING in file.name and file.is_file():
                log.info("removing %s: no conversation has it", file.name)
                _remove(file)
        total = sum(size for _, size, _ in kept)
        for _, size, file in sorted(kept):
            if total > self.limit_bytes and _remove(file):
                total -= size
            else:
                del without[file.name]
        return list(without.values())


def _remove(file: Path) -> bool:
    """False where that isn't possible: a file too many hinders nothing."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be removed: %s", file.name, error)
        return False
    return True
