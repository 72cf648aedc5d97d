"""Where the compressed caches lie on disk, and how much room they may take.

A file serves one tip of one conversation: the last message of a branch. Its name says which, so that the name alone
finds it and a lost database row costs nothing. Behind them stands a hash of what is in it (tokens, model, scheme): the
same content isn't written twice. What that is stands in the file's own header, which turboquant.snapshot writes and
checks.

    CONVERSATION.TIP.HASH.tqcache       CONVERSATION.tqcache: of version 1, which had one a conversation
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

ENDING = ".tqcache"
DEFAULT_QUOTA_BYTES = 4_000_000_000
# How the id of a conversation begins that came with a cache. What is in such a cache can't be told from its tokens, so
# it serves that conversation only.
FOREIGN = "imported-"
_ID = r"[A-Za-z0-9_-]{1,64}"
_NAME = re.compile(rf"(?P<conversation>{_ID})(?:\.(?P<tip>{_ID}|)\.(?P<key>[0-9a-f]{{32}}))?{re.escape(ENDING)}")
_INCOMING = "incoming."  # of an import; what a crash leaves of one names no conversation and is tidied away


@dataclass(frozen=True)
class CacheFile:
    """`tip` is the last message of the branch that it serves, empty where that isn't known. `used`: when last."""

    path: Path
    conversation: str
    tip: str
    size_bytes: int
    used: float

    @property
    def name(self) -> str:
        return self.path.name


class SnapshotStore:
    """The folder of cache files. Holds no state, so two threads may each use one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, conversation_id: str, tip: str, key: str) -> Path:
        """The file for this content, whether it exists or not. Raises ValueError for an odd id."""
        name = f"{conversation_id}.{tip}.{key}{ENDING}"
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't name a file")
        return self.folder / name

    def incoming(self) -> Path:
        """A new file for a cache that comes from elsewhere and has yet to prove itself. Raises OSError."""
        handle, name = tempfile.mkstemp(prefix=_INCOMING, suffix=f"{ENDING}.tmp", dir=self.folder)
        os.close(handle)
        return Path(name)

    def files(self, conversation_id: str | None = None) -> list[CacheFile]:
        """All cache files, or one conversation's; what was used last comes first."""
        found = [file for entry in self._entries() if (file := _described(entry)) is not None]
        mine = [file for file in found if conversation_id in (None, file.conversation)]
        return sorted(mine, key=lambda file: file.used, reverse=True)

    def use(self, file: CacheFile) -> CacheFile:
        """It is needed now: others go first where room is short. Returns it as it stands then."""
        try:
            os.utime(file.path)
        except OSError as error:
            log.warning("%s can't be touched: %s", file.name, error)
        return _described(file.path) or file

    def remove(self, files: Iterable[CacheFile]) -> list[str]:
        """The names of those that are gone now."""
        return [file.name for file in files if _remove(file.path)]

    def make_room(self, quota_bytes: int, keep: Path | None = None) -> list[str]:
        """Past the quota remove what was used longest ago, except `keep`; the names of what went."""
        files = self.files()
        total = sum(file.size_bytes for file in files)
        gone = []
        for file in reversed(files):
            if total <= quota_bytes:
                break
            if file.path != keep and _remove(file.path):
                total -= file.size_bytes
                gone.append(file.name)
        return gone

    def tidy(self, known: Collection[str], quota_bytes: int = DEFAULT_QUOTA_BYTES) -> list[CacheFile]:
        """Remove the files of conversations that aren't `known` and leftovers of a killed save or import, and make
        room. Returns what is there then. Call it before the engine starts to save.
        """
        for entry in self._entries():
            file = _described(entry)
            orphan = file is not None and file.conversation not in known
            half = ENDING in entry.name or (entry.name.startswith(".") and entry.name.endswith(".tmp"))
            if orphan or (file is None and half and entry.is_file()):
                log.info("removing %s: nothing needs it", entry.name)
                _remove(entry)
        self.make_room(quota_bytes)
        return self.files()

    def _entries(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except OSError as error:
            log.warning("the saved caches can't be listed: %s", error)
            return []


def _described(path: Path) -> CacheFile | None:
    """None where the name is no cache file's, or the file is gone."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    try:
        status = path.stat()
    except OSError as error:
        log.warning("%s can't be read: %s", path.name, error)
        return None
    return CacheFile(path, named["conversation"], named["tip"] or "", status.st_size, status.st_mtime)


def _remove(file: Path) -> bool:
    """False where that isn't possible: a file too many hinders nothing."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be removed: %s", file.name, error)
        return False
    return True
