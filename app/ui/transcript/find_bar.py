"""The bar that finds in a conversation: a field, "3/17", back and forth; it lies over the transcript's corner."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLineEdit, QToolButton

from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label
from app.ui.transcript.finding import Finder
from app.ui.transcript.transcript import Transcript

WIDTH = 380
MARGIN = 12


class FindBar(QFrame):
    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self.setObjectName("findBar")
        self._transcript = transcript
        self._conversation = ""  # what it was opened in
        self._of_search = False  # a search over all conversations opened it
        self.finder = Finder(transcript)
        self.finder.changed.connect(self.on_found)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 5, 5, 5)
        row.setSpacing(2)
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Find in this conversation"))
        self.field.setAccessibleName(self.tr("Find in this conversation"))
        self.field.textEdited.connect(self.on_edited)
        self.field.installEventFilter(self)
        row.addWidget(self.field, 1)
        self.label = small_label("", self)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.label.setMinimumWidth(58)
        row.addWidget(self.label)
        self.previous = self._button("up", self.tr("Previous hit"), "Shift+F3")
        self.previous.clicked.connect(self.on_previous)
        self.next = self._button("down", self.tr("Next hit"), "Ctrl+G")
        self.next.clicked.connect(self.on_next)
        self.shut = self._button("close", self.tr("Close the find bar"), "Esc")
        self.shut.clicked.connect(self.close_bar)
        transcript.installEventFilter(self)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.hide()

    def _button(self, icon: str, words: str, keys: str) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("icon_name", icon)
        shown = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
        button.setToolTip(f"{words} ({shown})")
        button.setAccessibleName(words)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(button)
        return button

    # ------------------------------------------------------------ opening and closing

    def open_bar(self) -> None:
        """Ready to type; what was looked for last is selected and found again."""
        self._of_search = False
        self._show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if self.field.text() and not self.finder.count:
            self.finder.find(self.field.text())

    def show_message(self, message_id: str, words: Sequence[str], around: tuple[str, str] = ("", "")) -> bool:
        """Scroll to a message and mark these words, in it and after it; the first is the one with this before it, and
        this from there on. False where the message isn't in this branch.
        """
        entry = self._transcript.entry_of_message(message_id)
        if entry is None:
            return False
        if any(words):
            self.field.setText(" ".join(words))
            self._of_search = True
            self._show()  # first: the message is brought to below it
        self._transcript.bring(entry)
        if any(words):
            self.finder.find_words(words, entry, around)
        return True

    def _show(self) -> None:
        self.show()
        self.raise_()
        self._place()

    def close_bar(self) -> None:
        """The marks go with it; the reader stays where the last hit was."""
        self._shut()
        self._transcript.setFocus()

    def show_conversation(self, conversation_id: str) -> None:
        """This one is on screen: the bar stays with the one that it was opened in."""
        if conversation_id != self._conversation:
            self._conversation = conversation_id
            self._leave()

    def on_search_changed(self, text: str) -> None:
        """Of a search that is over no marks stay."""
        if self._of_search and not text.strip():
            self._leave()

    def _leave(self) -> None:
        """Close it without taking the focus from elsewhere."""
        focus = QApplication.focusWidget()
        if focus is not None and self.isAncestorOf(focus):
            self.close_bar()
        elif not self.isHidden():
            self._shut()

    def _shut(self) -> None:
        self.hide()
        self.finder.clear()

    # ------------------------------------------------------------ finding

    def on_edited(self, text: str) -> None:
        self._of_search = False
        self.finder.find(text)

    def on_next(self) -> None:
        self._step(1)

    def on_previous(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        if self.isHidden():
            self.open_bar()
        else:
            self.finder.step(by)

    def on_found(self) -> None:
        count, number = self.finder.count, self.finder.number
        if not self.field.text().split():
            text = ""
        elif not count:
            text = "…" if self.finder.searching else self.tr("No hits")
        else:
            text = f"{formats.count(number)}/{formats.count(count)}" + ("…" if self.finder.searching else "")
        self.label.setText(text)
        self.label.setAccessibleName(self.tr("Hit {0} of {1}").format(number, count) if count else text)
        for button in (self.previous, self.next):
            button.setEnabled(count > 0)

    # ------------------------------------------------------------ keys and geometry

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._transcript:
            if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutDirectionChange):
                self._place()
        elif isinstance(event, QKeyEvent):
            escape = event.key() == Qt.Key.Key_Escape
            if event.type() == QEvent.Type.ShortcutOverride and escape:
                event.accept()  # else the window's own Esc would stop the reply
                return True
            if event.type() == QEvent.Type.KeyPress and escape:
                self.close_bar()
                return True
            if event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                return True
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        room = self._transcript.viewport()
        width = min(WIDTH, room.width() - 2 * MARGIN)
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        left = MARGIN if mirrored else room.x() + room.width() - width - MARGIN
        at = QPoint(0, 0) if self.parent() is self._transcript else self._transcript.pos()
        self.setGeometry(at.x() + left, at.y() + MARGIN, width, self.sizeHint().height())

    def on_theme_changed(self) -> None:
        c = theme.colors()
        for button in (self.previous, self.next, self.shut):
            button.setIcon(theme.icon(str(button.property("icon_name"))))
        self.setStyleSheet(
            f"#findBar {{ background: {c.panel}; border: 1px solid {c.line}; border-radius: 10px; }}"
            "#findBar QLineEdit { border: none; background: transparent; padding: 4px 6px; }"
        )
