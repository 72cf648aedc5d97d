"""One rotating log file. It holds what the program did, never what a person wrote, a model answered or a token is."""

from __future__ import annotations

import copy
import logging
import logging.handlers
import os
import re
import sqlite3
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType

from app import paths
from app.words import say, why

_BYTES = 1_000_000
_FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
# Tokens as the hub makes them, and whatever stands where one is sent.
_TOKENS = re.compile(r"\bhf_[A-Za-z0-9_]{8,}|(?<=Bearer )[^\s'\"]+")
_HIDDEN = "(hidden)"
# Errors whose messages come from code or from the system; a ValueError's may hold the text that it is about.
_TELLING = (OSError, ImportError, AttributeError, TypeError, NameError, MemoryError, AssertionError, sqlite3.Error)
_secrets: set[str] = set()


_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def start(level: int = logging.INFO) -> Callable[[], str]:
    """Send records to the log file, and warnings to stderr as well where there is one. A second call changes nothing.
    What it returns gives a sentence for the user where the log can't be written, else nothing: the program runs without
    one. It is to be asked once the window has its language.
    """
    root = logging.getLogger()
    if any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in root.handlers):
        return str
    console = sys.stderr is not None
    fill_streams()
    handlers: list[logging.Handler] = []
    failed: OSError | None = None
    folder = paths.logs_dir()
    try:
        handlers.append(
            logging.handlers.RotatingFileHandler(
                folder / "turboquant-chat.log", maxBytes=_BYTES, backupCount=3, encoding="utf-8"
            )
        )
    except OSError as error:
        failed = error
    if console:
        handlers.append(logging.StreamHandler())
        handlers[-1].setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(_Formatter(_FORMAT))
        root.addHandler(handler)
    root.setLevel(level)
    # A level that httpx takes up would write every address that is asked for.
    for chatty in ("httpx", "httpcore", "httpx2", "httpcore2", "urllib3", "filelock"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    return partial(_notice, folder, failed) if failed is not None else str


def _notice(folder: Path, error: OSError) -> str:
    return say("The log in {0} can't be written ({1}), so there is none this time.", folder, why(error))


def fill_streams() -> None:
    """The standard streams that the program was started without become the null device. To be called first of all.

    A closed one's number would go to the next file, the library of conversations perhaps, and what a library in C
    writes to stderr would land in it. Python's own streams are then None, and progress bars write there all the same.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def keep_secret(text: str) -> None:
    """From now on `redact` takes this text, a token, out of everything."""
    _secrets.add(text)


def redact(text: str) -> str:
    """`text` without tokens: for what leaves the program, or is read by others."""
    for secret in _secrets:
        text = text.replace(secret, _HIDDEN)
    return _TOKENS.sub(_HIDDEN, text)


def describe(error: BaseException) -> str:
    """The traceback of an exception and of those behind it, without messages that may quote what somebody wrote."""
    parts = []
    cause: BaseException | None = error
    while cause is not None:
        words = f"{type(cause).__name__}: {cause}" if isinstance(cause, _TELLING) else type(cause).__name__
        parts.append("".join(traceback.format_tb(cause.__traceback__)) + words)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n\nwhich led to\n\n".join(reversed(parts))


class _Formatter(logging.Formatter):
    """Takes tokens out of the whole record, and what may quote somebody out of its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        own = copy.copy(record)
        own.exc_text = None  # another formatter's, with the messages in it
        return redact(super().format(own))

    def formatException(self, ei: _ExcInfo) -> str:
        return "" if ei[1] is None else describe(ei[1])
