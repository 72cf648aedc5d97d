"""Files that go with a message, as chips above its text: name, size, tokens, and a way to take each away."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from app import attachments
from app.attachments import Attachment
from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label

NAME_WIDTH = 220
GAP = 6
TIP_LETTERS = 4000  # of a megabyte the beginning says enough
MOST_IN_TEXT = 40_000  # letters: a box with more answers its keys late


class Chip(QWidget):
    """One file; `block` is what it is within the message. `removed`; `wanted_as_text`: it shall stand in the message's
    text instead.
    """

    removed = Signal()
    wanted_as_text = Signal()

    def __init__(self, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.attachment, self.block = attachment, attachments.block(attachment)
        row = QHBoxLayout(self)
        row.setContentsMargins(9, 3, 3, 3)
        row.setSpacing(6)
        self._icon = QLabel(self)
        name = QLabel(self)
        name.setFont(theme.font(0.94))
        name.setTextFormat(Qt.TextFormat.PlainText)
        name.setText(name.fontMetrics().elidedText(attachment.name, Qt.TextElideMode.ElideMiddle, NAME_WIDTH))
        self._figures = small_label("", self)
        self.remove = QToolButton(self)
        self.remove.setProperty("role", "quiet")
        self.remove.setToolTip(formats.tip(self.tr("Remove {0}").format(attachment.name)))
        self.remove.setAccessibleName(self.remove.toolTip())
        self.remove.clicked.connect(self.removed)
        for part in (self._icon, name, self._figures, self.remove):
            row.addWidget(part)
        lines = attachment.text[:TIP_LETTERS].strip().splitlines()
        self.setToolTip(formats.tip("\n".join(line[:120] for line in lines[:12]) + ("\n…" if len(lines) > 12 else "")))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.on_menu)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.show_tokens(None)

    def show_tokens(self, tokens: int | None) -> None:
        parts = [formats.data_size(self.attachment.size_bytes)]
        if tokens is not None:
            parts.append(self.tr("{0} tokens", "", tokens).format(formats.count(tokens)))
        self._figures.setText(" · ".join(parts))
        self.setAccessibleName(f"{self.attachment.name}, {self._figures.text()}")

    @property
    def figures(self) -> str:
        return self._figures.text()

    def menu(self) -> QMenu:
        menu = QMenu(self)
        into = menu.addAction(self.tr("Put it into the text"), self.wanted_as_text.emit)
        into.setEnabled(len(self.attachment.text) <= MOST_IN_TEXT)
        menu.addAction(self.tr("Remove"), self.removed.emit)
        return menu

    def on_menu(self, place: QPoint) -> None:
        self.menu().popup(self.mapToGlobal(place))

    def on_theme_changed(self) -> None:
        colors = theme.colors()
        self._icon.setPixmap(theme.icon("file", colors.muted).pixmap(theme.sized(16)))
        self.remove.setIcon(theme.icon("close", colors.muted))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(theme.colors().line))
            painter.setBrush(QColor(theme.colors().background))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)


class AttachmentRow(QWidget):
    """The chips, in as many lines as they need; not to be seen while there are none. `changed` when there are others.
    `wanted_as_text(text)`: this one has been taken away for that.
    """

    changed = Signal()
    wanted_as_text = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._chips: list[Chip] = []
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(chip.attachment for chip in self._chips)

    @property
    def blocks(self) -> list[str]:
        return [chip.block for chip in self._chips]

    def content(self, text: str) -> str:
        """A message with these files; see attachments.join."""
        return "\n\n".join([*self.blocks, *([text] if text else [])])

    @property
    def chips(self) -> list[Chip]:
        return list(self._chips)

    def add(self, attachment: Attachment) -> None:
        chip = Chip(attachment, self)
        chip.removed.connect(self.on_removed)
        chip.wanted_as_text.connect(self.on_wanted_as_text)
        self._chips.append(chip)
        chip.show()
        self._changed()

    def set_all(self, attachments: tuple[Attachment, ...]) -> None:
        if attachments == self.attachments:
            return
        for chip in self._chips:
            chip.hide()
            chip.deleteLater()
        self._chips.clear()
        for attachment in attachments:
            self.add(attachment)
        self._changed()

    def show_tokens(self, counts: Sequence[int | None]) -> None:
        for chip, count in zip(self._chips, counts, strict=False):
            chip.show_tokens(count)
        self.arrange()

    def on_removed(self) -> None:
        self._take(self.sender())

    def on_wanted_as_text(self) -> None:
        chip = self._take(self.sender())
        self.wanted_as_text.emit(chip.attachment.text)

    def _take(self, chip: object) -> Chip:
        assert isinstance(chip, Chip)
        self._chips.remove(chip)
        chip.hide()
        chip.deleteLater()
        self._changed()
        return chip

    def _changed(self) -> None:
        self.setVisible(bool(self._chips))
        self.arrange()
        self.changed.emit()

    # ------------------------------------------------------------ geometry

    def resizeEvent(self, _event: QResizeEvent) -> None:
        self.arrange()

    def arrange(self) -> None:
        """Chips one behind the other, in the next line where the width ends."""
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        x = y = height = 0
        for chip in self._chips:
            size = chip.sizeHint()
            width = min(size.width(), max(self.width(), 1))
            if x and x + width > self.width():
                x, y = 0, y + height + GAP
            height = size.height()
            chip.setGeometry(QRect(self.width() - x - width if mirrored else x, y, width, height))
            x += width + GAP
        self.setFixedHeight(y + height)
