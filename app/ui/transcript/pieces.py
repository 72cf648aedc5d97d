"""The pieces of a transcript: made when the reader comes near them, kept from then on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget, QWidgetItem

MESSAGE = "message_id"  # the property of a piece that stands for a message
LETTERS_A_LINE = 95  # for a guess at the height of what isn't made yet
LINE_HEIGHT = 24

ItemMaker = Callable[[], QWidget]


@runtime_checkable
class Texts(Protocol):
    """A piece whose words can be found. Its texts are those of its panes, in reading order, folded ones too."""

    def source(self) -> str: ...

    @staticmethod
    def texts(source: str) -> list[str]: ...

    def panes(self) -> Sequence[QTextEdit | QPlainTextEdit | None]:
        """Those that are made, at their places."""
        ...

    def reveal(self, number: int) -> QTextEdit | QPlainTextEdit:
        """The pane, unfolded."""
        ...


@dataclass(frozen=True)
class Piece:
    """Makes a piece that stands for a message; what it says is known before it is made."""

    message: str
    source: str
    kind: type[Texts]
    make: ItemMaker

    def __call__(self) -> QWidget:
        return self.make()


@dataclass(eq=False)
class Entry:
    """One piece in its place. `height` is a guess until it is made."""

    maker: ItemMaker | None = None
    widget: QWidget | None = None
    height: int = 48
    y: int = 0
    width: int = 0  # for which `height` was found
    found: tuple[str, str, list[tuple[int, int, int]]] = field(default=("", "", []))  # the finder's

    def __post_init__(self) -> None:
        if isinstance(self.maker, Piece):
            lines = sum(math.ceil(len(line) / LETTERS_A_LINE) for line in self.maker.source[:20_000].split("\n"))
            self.height = 40 + LINE_HEIGHT * max(lines, 1)

    @property
    def message(self) -> str:
        if self.widget is not None:
            return str(self.widget.property(MESSAGE) or "")
        return self.maker.message if isinstance(self.maker, Piece) else ""

    @property
    def source(self) -> str:
        """What its message says, as it is stored; of a reply that is being written, as far as it is."""
        if isinstance(self.widget, Texts):
            return self.widget.source()
        return self.maker.source if self.widget is None and isinstance(self.maker, Piece) else ""

    @property
    def kind(self) -> type[Texts] | None:
        if isinstance(self.widget, Texts):
            return type(self.widget)
        return self.maker.kind if self.widget is None and isinstance(self.maker, Piece) else None

    def fit(self, left: int, width: int) -> bool:
        """Give its widget the width and the height that it needs then. Returns whether the height is another."""
        assert self.widget is not None
        if self.widget.width() != width:
            self.widget.resize(width, self.widget.height())
        item = QWidgetItem(self.widget)
        layout = self.widget.layout()
        if layout is not None:
            layout.activate()
        height = item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
        changed = height != self.height
        self.height, self.width = height, width
        self.widget.setGeometry(left, self.y, width, height)
        return changed
