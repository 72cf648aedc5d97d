"""What the window looked like when it was closed: its place, its columns and their widths."""

from __future__ import annotations

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.settings import Settings
from app.ui.shared.columns import Columns

USUAL = (1180, 780)


def restore(window: QWidget, columns: Columns, settings: Settings) -> None:
    """As it was; on a screen that is still there."""
    window.resize(*USUAL)
    window.restoreGeometry(QByteArray(settings.get_bytes("window_geometry")))
    bring_on_screen(window)
    for name in columns.wanted:
        columns.wanted[name] = settings.get(f"{name}_shown", True)
        columns.set_width(name, settings.get(f"{name}_width", 0))


def remember(window: QWidget, columns: Columns, settings: Settings) -> None:
    settings.set_bytes("window_geometry", bytes(window.saveGeometry().data()))
    for name, wanted in columns.wanted.items():
        settings.set(f"{name}_shown", wanted)
        settings.set(f"{name}_width", columns.width_of(name))


def bring_on_screen(window: QWidget) -> None:
    """Its screen may be gone, or small: no more of the window than of the screens together, its head in reach."""
    seen = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    if not seen:
        return
    primary = QGuiApplication.primaryScreen()
    if any(area.intersects(window.geometry().adjusted(60, 0, -60, 0)) for area in seen):
        area = primary.availableVirtualGeometry()
        window.resize(window.size().boundedTo(area.size()))
        if window.y() < area.top():  # else it stays: where its frame is isn't known yet, and moving it would add that
            window.move(window.x(), area.top())
    else:
        area = primary.availableGeometry()
        window.resize(window.size().boundedTo(area.size()))
        window.move(area.center() - window.rect().center())
