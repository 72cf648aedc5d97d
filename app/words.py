"""What the layers below the window say to a person, in the window's language.

They know nothing of Qt: the window hands its translator and its numbers to `speak`, and until then all is English.
`make translations` collects the literal first argument of every `say`.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable


def _english(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


_translate: Callable[[str], str] = str
_decimal: Callable[[float, int], str] = _english


def speak(translate: Callable[[str], str], decimal: Callable[[float, int], str]) -> None:
    """From now on sentences go through `translate` and numbers (value, decimals) through `decimal`, in any thread."""
    global _translate, _decimal
    _translate, _decimal = translate, decimal


def say(sentence: str, *values: object) -> str:
    """The sentence with {0}, {1} … filled in. A literal: what is put together first can't be translated."""
    told = _translate(sentence)
    return told.format(*values) if values else told


def retold(text: str) -> str:
    """What turboquant says (turboquant.reasons), in the window's language."""
    return say(getattr(text, "template", text), *getattr(text, "values", ()))


def number(value: float, decimals: int = 0) -> str:
    return _decimal(value, decimals)


def bytes_unit(largest: float) -> tuple[float, str]:
    """(divisor, unit) that suits values up to `largest`, for an axis whose ticks share one unit."""
    for divisor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= divisor:
            return divisor, unit
    return 1.0, "B"


def size(size_bytes: float) -> str:
    """ "9.6 MB", "235 MB", "2.31 GB", "812 B"."""
    # What would be rounded up to a thousand of a unit is written in the next one.
    divisor, unit = bytes_unit(size_bytes * 1.0005)
    value = size_bytes / divisor
    if unit == "B":
        decimals = 0
    elif unit == "GB" and value < 10:
        decimals = 2
    else:
        decimals = 1 if value < 99.95 else 0
    return f"{_decimal(value, decimals)} {unit}"


def why(error: BaseException) -> str:
    """What stood in the way of a file, a database too, as a part of a sentence; what is rare is told in the system's
    own words.
    """
    match getattr(error, "errno", None), getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case (errno.ENOSPC | errno.EDQUOT, _) | (_, sqlite3.SQLITE_FULL):
            return say("the disk is full")
        case (errno.EACCES | errno.EPERM, _) | (_, sqlite3.SQLITE_PERM):
            return say("you have no permission for it")
        case (errno.EROFS, _) | (_, sqlite3.SQLITE_READONLY):
            return say("it is write-protected")
        case errno.ENOENT, _:
            return say("it isn't there")
        case _, sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return say("another program holds it")
    return str(getattr(error, "strerror", None) or error)
