"""Painting that ends in order when an exception passes.

A QPainter that is still active when its widget's paint event returns crashes the process: `with QPainter(…) as painter`
ends it. A delegate's painter belongs to the view; what was changed on it is put back by `saved`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPainter


@contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """Pen, brush, font and the rest are afterwards what they were."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()
