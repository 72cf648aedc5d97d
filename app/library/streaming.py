"""Replies that are being written, each in a plain file that only grows: a second's words cost their own bytes.

The database would write whole pages for every few words. A file is named by its message and holds its text so far in
UTF-8; the reply's end goes into the database, and then the file goes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

ENDING = ".reply"
MOST_BYTES = 64 << 20  # of a reply; what is larger is no reply


class Streaming:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}  # what is in the files

    def put(self, message_id: str, text: str) -> None:
        """`text` is what the reply says so far. Raises OSError, with what was written before still there."""
        before = self._texts.get(message_id, "")
        if not text.startswith(before):
            before = ""
        self._folder.mkdir(exist_ok=True)
        with self._path(message_id).open("ab", buffering=0) as file:
            file.truncate(len(_bytes(before)))  # a part that was too much for the disk may lie behind it
            rest = _bytes(text[len(before) :])
            if file.write(rest) != len(rest):
                raise OSError("only a part could be written")
        self._texts[message_id] = text

    def text(self, message_id: str) -> str | None:
        """What was put last of a reply that isn't over, or what an earlier run left of it."""
        return self._texts.get(message_id)

    def drop(self, message_id: str) -> None:
        """The reply's end is in the database, or the reply is gone."""
        if self._texts.pop(message_id, None) is not None:
            try:
                self._path(message_id).unlink(missing_ok=True)
            except OSError as error:  # the next start looks at it again
                log.warning("the file of %s can't be removed: %s", message_id, error)

    def left(self) -> Iterator[tuple[str, str]]:
        """The replies that a killed program left. What can't be read, or is none, is left where it is."""
        for file in sorted(self._folder.glob("*" + ENDING)):
            if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", file.stem):
                try:
                    if not file.is_file() or file.stat().st_size > MOST_BYTES:  # a pipe would be waited for
                        raise OSError("it is no reply")
                    self._texts[file.stem] = file.read_bytes().decode("utf-8", "replace")
                except OSError as error:
                    log.warning("%s can't be read: %s", file, error)
                else:
                    yield file.stem, self._texts[file.stem]

    def _path(self, message_id: str) -> Path:
        return self._folder / (message_id + ENDING)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
