"""A file that is there while the engine works: found at the next start, it says what ended the program.

A crash in native code, or the system taking the process for want of memory, can't be caught. Needs no MLX, so that the
window can look before it starts the engine.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from app.paths import write_atomic

log = logging.getLogger(__name__)

NAME = "working.json"
Doing = Literal["load", "open", "prefill", "generate", "switch"]


@dataclass(frozen=True)
class Unfinished:
    """What the program was at when it ended: `folder` is the model's; `conversation` and `file`, a saved cache, may be
    empty.
    """

    doing: Doing
    folder: str
    conversation: str = ""
    file: str = ""


class WorkMarker:
    def __init__(self, folder: Path) -> None:
        """`folder` is that of the cache files."""
        self._path = folder / NAME

    @contextlib.contextmanager
    def over(self, work: Unfinished) -> Iterator[None]:
        """The mark stands while the block runs, whatever ends it, unless that is the end of the process."""
        self.set(work)
        try:
            yield
        finally:
            self.clear()

    def set(self, work: Unfinished) -> None:
        try:
            write_atomic(self._path, json.dumps({"version": 1, **work.__dict__}).encode())
        except OSError as error:
            log.warning("%s can't be marked: %s", work.doing, error)  # a full disk hinders no work

    def clear(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s can't be removed: %s", self._path, error)

    def read(self) -> Unfinished | None:
        """None where the program ended as it should, or where what is written makes no sense."""
        try:
            found = json.loads(self._path.read_bytes())
            work = Unfinished(**{name: found[name] for name in ("doing", "folder", "conversation", "file")})
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        texts = all(isinstance(value, str) for value in work.__dict__.values())
        return work if texts and work.doing in get_args(Doing) else None
