"""Every number that a person reads: bytes, counts, rates, times. Decimal units, the locale's separators."""

from __future__ import annotations

import html

from PySide6.QtCore import QLocale


def locale() -> QLocale:
    """The system's locale; the "C" locale has no thousands separator, so it reads as English."""
    system = QLocale()
    return QLocale(QLocale.Language.English) if system.language() == QLocale.Language.C else system


def tip(text: str) -> str:
    """A tooltip that shows the text as it is; Qt would take what looks like HTML for HTML."""
    return f"<p style='white-space: pre-wrap'>{html.escape(text)}</p>" if text else ""


def count(value: int) -> str:
    return locale().toString(int(value))


def decimal(value: float, decimals: int) -> str:
    return locale().toString(float(value), "f", decimals)  # type: ignore[call-overload]


def bytes_unit(largest: float) -> tuple[float, str]:
    """(divisor, unit) that suits values up to `largest`, for an axis whose ticks share one unit."""
    for divisor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= divisor:
            return divisor, unit
    return 1.0, "B"


def data_size(size_bytes: float) -> str:
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
    return f"{decimal(value, decimals)} {unit}"


def ratio(value: float) -> str:
    return f"{decimal(value, 1)}×"


def rate(tokens_per_s: float) -> str:
    return f"{decimal(tokens_per_s, 1 if tokens_per_s < 99.95 else 0)} tok/s"


def seconds(value: float) -> str:
    return f"{decimal(value, 2 if value < 9.995 else 1)} s"


def plain(value: float) -> str:
    """A tick's number: no more decimals than it needs."""
    decimals = next((d for d in (0, 1, 2) if abs(value - round(value, d)) < 1e-9), 3)
    return count(round(value)) if decimals == 0 else decimal(value, decimals)


def short(title: str, letters: int = 48) -> str:
    """A title inside a sentence."""
    return title if len(title) <= letters else title[: letters - 1].rstrip() + "…"
