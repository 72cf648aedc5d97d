"""Painting that ends in order when an exception passes.

A QPainter that is still active when its widget's paint event returns crashes the process: `with QPainter(…) as painter`
ends it. A delegate's painter belongs to the view; what was changed on it is put back by `saved`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from app.ui.shared import theme

SHADOW = 16  # room around a floating card


@contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """Pen, brush, font and the rest are afterwards what they were."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()


def floating_card(painter: QPainter, card: QRectF, radius: float, color: str) -> None:
    """A rounded card in its shadow, which takes SHADOW around it."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 14 if theme.theme().dark else 5))
    for out in range(SHADOW - 3, 0, -2):  # layers add up towards the card; a little lower than it
        painter.drawRoundedRect(card.adjusted(-out, -out + 3, out, out + 3), radius + out, radius + out)
    painter.setPen(QColor(theme.colors().line))
    painter.setBrush(QColor(color))
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def input_frame(painter: QPainter, box: QRectF, *, focused: bool) -> None:
    """The rounded frame around what is typed into; it shows where the focus is."""
    colors = theme.colors()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(colors.accent if focused else colors.line))
    painter.setBrush(QColor(colors.panel))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 13, 13)
