"""Every number that a person reads: bytes, counts, rates, times. Decimal units, the locale's separators."""

from __future__ import annotations

import html
import re

from PySide6.QtCore import QCoreApplication, QDate, QDateTime, QLocale, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeySequence

from app import words
from app.words import bytes_unit as bytes_unit

data_size = words.size


def locale() -> QLocale:
    """The system's locale; the "C" locale has no thousands separator, so it reads as English."""
    system = QLocale()
    return QLocale(QLocale.Language.English) if system.language() == QLocale.Language.C else system


def tip(text: str) -> str:
    """A tooltip that shows the text as it is; Qt would take what looks like HTML for HTML."""
    return f"<p style='white-space: pre-wrap'>{html.escape(text, quote=False)}</p>" if text else ""


def count(value: int) -> str:
    return locale().toString(int(value))


def decimal(value: float, decimals: int) -> str:
    return locale().toString(float(value), "f", decimals)  # type: ignore[call-overload]


def ratio(value: float) -> str:
    return f"{decimal(value, 1)}×"


def rate(tokens_per_s: float) -> str:
    return f"{decimal(tokens_per_s, 1 if tokens_per_s < 99.95 else 0)} tok/s"


def seconds(value: float) -> str:
    return f"{decimal(value, 2 if value < 9.995 else 1)} s"


def speed(bytes_per_s: float) -> str:
    return f"{data_size(bytes_per_s)}/s"


def duration(value_s: float) -> str:
    """A rough time for people: "40 s", "12 min", "1 h 20 min"."""
    if value_s < 59.5:
        return f"{max(1, round(value_s))} s"
    minutes = round(value_s / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def spell(value_s: float) -> str:
    """A measured or estimated time, short or long: "0.12 s", "8.1 s", "12 min"."""
    return seconds(value_s) if value_s < 20 else duration(value_s)


def tokens(value: int) -> str:
    """A context's length as models are named: "4k", "128k", "1M"; an odd one in full."""
    for unit, size in (("M", 1 << 20), ("k", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{count(value // size)}{unit}"
    return count(value)


def about(value: int) -> str:
    """A count where only its size matters: "812", "3.4k", "12k", "1.2M", "4.0B"."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            scaled = value / size
            return f"{decimal(scaled, 1 if scaled < 9.95 else 0)}{unit}"
    return count(value)


def day(timestamp: float) -> str:
    form = QCoreApplication.translate("formats", "d MMM yyyy", "a date: Qt's letters for day, month and year")
    return locale().toString(QDateTime.fromSecsSinceEpoch(int(timestamp)).date(), form)


def moment(timestamp: float) -> str:
    return locale().toString(QDateTime.fromSecsSinceEpoch(int(timestamp)), QLocale.FormatType.ShortFormat)


def month(first: QDate) -> str:
    return locale().toString(first, "MMMM yyyy")


def isolated(text: str) -> str:
    """Figures and names, which keep their order in a window that runs from right to left: "4-bit · 2.3 GB"."""
    mirrored = QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    return f"\u200e{text}\u200e" if mirrored else text  # marks of direction


def plain(value: float) -> str:
    """A tick's number: no more decimals than it needs."""
    decimals = next((d for d in (0, 1, 2) if abs(value - round(value, d)) < 1e-9), 3)
    return count(round(value)) if decimals == 0 else decimal(value, decimals)


def keys(sequence: QKeySequence | str) -> str:
    """A shortcut as it stands on this system's keyboard: "Ctrl+Enter", "⌘↩"."""
    text = QKeySequence(sequence).toString(QKeySequence.SequenceFormat.NativeText)
    return text.replace("Return", "Enter")  # Qt's name for the larger of two keys that do the same


def short(title: str, letters: int = 48) -> str:
    """A title inside a sentence. The number that tells it from another one, “(2)”, stays."""
    if len(title) <= letters:
        return title
    name, number = _numbered(title)
    return name[: letters - 1 - len(number)].rstrip() + "…" + number


def elided(title: str, metrics: QFontMetrics, width: int) -> str:
    """A title in so many pixels; its number stays too."""
    if metrics.horizontalAdvance(title) <= width:
        return title
    name, number = _numbered(title)
    room = width - metrics.horizontalAdvance(number)
    return metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) + number


def _numbered(title: str) -> tuple[str, str]:
    number = re.search(r" \(\d{1,4}\)$", title)
    return (title[: number.start()], number[0]) if number else (title, "")
