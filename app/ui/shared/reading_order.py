"""The order in which a window is read: by Tab and by whoever listens to it. It follows the layouts, not the order in
which the widgets happened to be made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLayout, QMainWindow, QScrollArea, QSplitter, QToolBar, QWidget

from app.ui.shared import focus_ring


def parts(widget: QWidget) -> list[QWidget]:
    """The child widgets in reading order; those that no layout places come last."""
    if isinstance(widget, QScrollArea):
        placed = [widget.widget()]
    elif isinstance(widget, QSplitter):
        placed = [widget.widget(place) for place in range(widget.count())]
    elif isinstance(widget, QMainWindow):
        placed = [
            *widget.findChildren(QToolBar, options=Qt.FindChildOption.FindDirectChildrenOnly),
            widget.centralWidget(),
        ]
    else:
        placed = list(_placed(widget.layout()))
    placed = [part for part in placed if part is not None]
    others = [child for child in widget.children() if isinstance(child, QWidget) and child not in placed]
    if isinstance(widget, QScrollArea):
        others.remove(widget.viewport())  # it holds the widget named first
    return placed + [child for child in others if not child.isWindow()]


def _placed(layout: QLayout | None) -> Iterator[QWidget]:
    if layout is None:
        return
    for place in range(layout.count()):
        item: Any = layout.itemAt(place)
        if item.widget() is not None:
            yield item.widget()
        elif item.layout() is not None:
            yield from _placed(item.layout())


def stops(widget: QWidget) -> Iterator[QWidget]:
    """What Tab comes to inside a widget that is on screen."""
    for part in parts(widget):
        if part.isVisible():
            if part.isEnabled() and part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.focusProxy() is None:
                yield part
            yield from stops(part)


def step(window: QWidget, forward: bool) -> bool:
    """Move the focus to the next stop of the window, or to the one before; what `focusNextPrevChild` is meant to do."""
    order, at = list(stops(window)), QApplication.focusWidget()
    if not order:
        return False
    if at in order:
        target = order[(order.index(at) + (1 if forward else -1)) % len(order)]
    else:
        target = order[0 if forward else -1]
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    focus_ring.mark()
    _bring_into_view(target)
    return True


def _bring_into_view(target: QWidget) -> None:
    area = target.parentWidget()
    while area is not None:
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(target, 0, 24)
        area = area.parentWidget()


def arrange(widget: QWidget) -> None:
    """Put the children that a layout places into reading order: accessibility's tree is made of them.

    Before the window is shown: it also changes what lies above what.
    """
    for part in parts(widget):
        if not isinstance(widget, QScrollArea):  # its bars and its viewport are no parts of what is read
            part.raise_()
        arrange(part)
