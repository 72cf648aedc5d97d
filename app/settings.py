"""The user's settings: one JSON object, written at once and whole.

A key that this version doesn't know is kept. A damaged file is set aside and the defaults rule; a file of a later
version is left as it is. Where the file can't be written, changes last until the program ends: nobody's chat should
stop for that.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from app import paths
from app.words import say, why

VERSION = 1
Value = str | int | float | bool | list[str] | list[int]

T = TypeVar("T", bound=Value)

log = logging.getLogger(__name__)


class Settings:
    """`notice` is a sentence for the user when the file couldn't be used as it was, else empty: said when it is asked
    for, since the window's language stands in the file.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.settings_dir() / "settings.json"
        self._notice: Callable[[], str] = str
        self._writable = True
        self._unwritten = False
        self._values: dict[str, object] = self._read()

    @property
    def notice(self) -> str:
        return self._notice()

    def get(self, key: str, default: T, valid: Callable[[T], bool] = lambda _: True) -> T:
        """The stored value, or `default` when there is none of the default's type that is `valid`."""
        value = self._values.get(key, default)
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if type(value) is not type(default):
            log.warning("setting %r is a %s, not a %s", key, type(value).__name__, type(default).__name__)
            return default
        if not valid(value):
            log.warning("setting %r is odd", key)
            return default
        return value

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get_bytes(self, key: str) -> bytes:
        """What `set_bytes` stored, else nothing."""
        try:
            return base64.b64decode(self.get(key, ""), validate=True)
        except (binascii.Error, ValueError):
            log.warning("setting %r is no base64", key)
            return b""

    def set(self, key: str, value: Value) -> None:
        """Store `value`, and write the file if that changed anything or the last write failed."""
        same = key in self._values and self._values[key] == value and type(self._values[key]) is type(value)
        if same and not self._unwritten:
            return
        self._values[key] = value
        if self._writable:
            document = {**self._values, "version": VERSION}
            try:
                paths.write_atomic(self.path, json.dumps(document, indent=1).encode())
                self._unwritten = False
            except OSError as error:
                self._unwritten = True
                log.warning("the settings could not be written: %s", error)

    def set_bytes(self, key: str, value: bytes) -> None:
        self.set(key, base64.b64encode(value).decode())

    def _read(self) -> dict[str, object]:
        try:
            document = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._writable, reason = False, error
            self._notice = lambda: say(
                "The settings can't be read ({0}), so the defaults are used. The file {1} is untouched.",
                why(reason),
                self.path,
            )
            return {}
        except (ValueError, RecursionError):  # no JSON, or nested without end
            document = None
        version = document.get("version") if isinstance(document, dict) else None
        if type(version) is not int or version < 1:
            self._set_aside()
            return {}
        if version > VERSION:
            self._writable = False
            self._notice = lambda: say(
                "The settings were written by a later version of this program, so the defaults are used and "
                "changes aren't kept. The file {0} is untouched.",
                self.path,
            )
            return {}
        del document["version"]
        return dict(document)

    def _set_aside(self) -> None:
        aside = self.path.with_suffix(".damaged.json")
        try:
            self.path.replace(aside)
        except OSError as error:
            self._writable, reason = False, error
            self._notice = lambda: say(
                "The settings file {0} is damaged and can't be set aside ({1}): the defaults are used, and "
                "changes aren't kept.",
                self.path,
                why(reason),
            )
            log.warning("%s", self.notice)
            return
        self._notice = lambda: say(
            "The settings file was damaged, so the defaults are used. The old file is kept as {0}.", aside
        )
        log.warning("%s", self.notice)
