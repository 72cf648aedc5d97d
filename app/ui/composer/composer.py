"""Where the user writes: Enter sends, Shift+Enter breaks the line, and the button stops what is being written.

Files stand above the text; below it is said how much room the message takes and leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app import attachments
from app.attachments import Attachment
from app.errors import AppError
from app.ui.composer.attachment_row import AttachmentRow
from app.ui.composer.message_edit import MessageEdit, says_something, trimmed
from app.ui.shared import formats, painting, theme
from app.ui.shared.cards import ShortLabel
from app.work.tasks import Task, Tasks

LEAST_ROOM = 256  # tokens that a reply wants
REFUSAL_MS = 8000


class Composer(QWidget):
    """`sent(content)` carries a message that isn't empty; it stays in the box until `clear`. `stop_clicked` asks to
    stop the running reply. `edited` when there is another message than before. `sendable_changed`: see `can_send`.

    `earlier` gives the contents of the user's messages so far, the latest last: ↑ in an empty box brings them back.
    """

    sent = Signal(str)
    stop_clicked = Signal()
    edited = Signal()
    sendable_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.earlier: Callable[[], Sequence[str]] = tuple
        self._tasks = Tasks(self)
        self._reading: list[Task] = []  # of files
        self._recalled: tuple[int, str] | None = None  # how many messages back, and what stood there
        self._blocked = self._context = self._refused = ""
        self._generating = self._sendable = False
        self._used = self._room = 0  # tokens
        self._tokens: int | None = None
        self._ahead = 0
        self._refusal = QTimer(self, singleShot=True, interval=REFUSAL_MS)
        self._refusal.timeout.connect(self.on_refusal_over)
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 11, 11, 10)
        column.setSpacing(8)
        self.files = AttachmentRow(self)
        self.files.changed.connect(self.on_edited)
        self.files.wanted_as_text.connect(self.on_wanted_as_text)
        column.addWidget(self.files)
        self.edit = MessageEdit(self)
        self.edit.takes_files = True
        self.edit.setPlaceholderText(self.tr("Message"))
        self.edit.setAccessibleName(self.tr("Message"))
        self.edit.submitted.connect(self.on_submitted)
        self.edit.textChanged.connect(self.on_text_changed)
        self.edit.focus_changed.connect(self.update)
        self.edit.files_given.connect(self.add_files)
        self.edit.long_text_pasted.connect(self.on_long_text)
        self.edit.stepped.connect(self.on_stepped)
        column.addWidget(self.edit)
        row = QHBoxLayout()
        row.setSpacing(2)
        self.attach = self._tool(self.tr("Attach text files"))
        self.attach.clicked.connect(self.on_attach)
        self.settings = self._tool(self.tr("Reply settings"))
        self._note = ShortLabel(self)
        self.button = QPushButton(self)
        self.button.setProperty("role", "primary")
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the caret in the text
        self.button.clicked.connect(self.on_button_clicked)
        row.addWidget(self.attach)
        row.addWidget(self.settings)
        row.addSpacing(8)
        row.addWidget(self._note, 1)
        row.addSpacing(8)
        row.addWidget(self.button)
        column.addLayout(row)
        theme.theme().changed.connect(self._update)
        self._update()

    def _tool(self, words: str) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("role", "tool")
        button.setToolTip(words)
        button.setAccessibleName(words)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    # ------------------------------------------------------------ the message

    @property
    def text(self) -> str:
        """As typed, but for blank edges."""
        return trimmed(self.edit.toPlainText())

    @property
    def content(self) -> str:
        """The message as it is sent and kept: files, then text."""
        return self.files.content(self.text)

    @property
    def empty(self) -> bool:
        return not self.files.attachments and not self.text

    def set_content(self, content: str) -> None:
        """In place of what stands here, and of files that are still being read; it can't be undone."""
        for task in self._reading:
            task.cancel()
        self._reading.clear()
        text, files = attachments.split(content)
        self.files.set_all(files)
        self.edit.replace(text)

    def clear(self) -> None:
        """The message is safe elsewhere."""
        self.files.set_all(())
        self.edit.clear()

    def give_back(self, content: str) -> None:
        """A message that wasn't answered, before what was typed meanwhile."""
        text, files = attachments.split(content)
        whole = "\n\n".join(part for part in (text, self.text) if part)
        self.set_content(attachments.join(whole, (*files, *self.files.attachments)))

    @property
    def can_send(self) -> bool:
        says = says_something(self.edit.toPlainText()) or bool(self.files.attachments)
        return not self._blocked and not self._generating and not self._reading and says

    # ------------------------------------------------------------ what is said of it

    def set_generating(self, generating: bool) -> None:
        self._generating = generating
        self._update()

    def set_blocked(self, reason: str) -> None:
        """While `reason` isn't empty nothing can be sent, and it is shown."""
        self._blocked = reason
        self._update()

    def set_context(self, used_tokens: int, context_tokens: int) -> None:
        self._used, self._room = used_tokens, context_tokens
        self._update()

    @property
    def used_tokens(self) -> int:
        """What the model holds of this conversation."""
        return self._used

    def set_tokens(self, tokens: int | None, of_files: Sequence[int | None] = (), ahead: int = 0) -> None:
        """What the message takes, and each of its files; None: not counted yet. `ahead`: what is read before it."""
        self._tokens, self._ahead = tokens, ahead
        self.files.show_tokens(of_files)
        self._update()

    @property
    def note(self) -> str:
        """What stands below the text: why nothing can be sent, else the room that the message takes, or the context."""
        return self._note.text()

    def _describe(self) -> tuple[str, str, str]:
        """(the note, its role, the note where there is little room)."""
        if self._refused:
            return self._refused, "bad", ""
        if self._blocked:
            return self._blocked, "muted", ""
        if self._reading:
            return self.tr("Reading files…"), "muted", ""
        if not self._room:
            return "", "muted", ""
        used, room = formats.count(self._used), formats.count(self._room)
        if not self._tokens:
            brief = self.tr("{0} of {1}").format(used, room)
            return self.tr("Context {0} of {1}").format(used, room), "muted", brief
        tokens = self.tr("{0} tokens", "", self._tokens).format(formats.count(self._tokens))
        left = self._room - self._used - self._ahead - self._tokens
        if left < 0:
            words = self.tr("{0} · {1} more than the context has room for").format(tokens, formats.count(-left))
            return words, "bad", self.tr("{0} too many").format(formats.count(-left))
        brief = self.tr("{0} left").format(formats.count(left))
        if left < min(LEAST_ROOM, self._room // 8):
            return self.tr("{0} · only {1} left for the reply").format(tokens, formats.count(left)), "bad", brief
        return self.tr("{0} · {1} left").format(tokens, formats.count(left)), "muted", brief

    def _update(self) -> None:
        colors, sendable = theme.colors(), self.can_send
        self.edit.steps = not self._reading and (self._recalled is not None or self.empty)
        text, role, self._note.brief = self._describe()
        self._note.setText(text)
        self._note.setToolTip(formats.tip(text))
        if self._note.property("role") != role:
            self._note.setProperty("role", role)
            self._note.style().unpolish(self._note)
            self._note.style().polish(self._note)
        self.attach.setIcon(theme.icon("paperclip", colors.muted))
        self.settings.setIcon(
            theme.icon("settings", colors.accent if self.settings.property("chosen") else colors.muted)
        )
        if self._generating:
            self.button.setText(self.tr("Stop"))
            self.button.setIcon(theme.icon("stop", colors.on_accent))
            self.button.setToolTip(self.tr("Stop (Esc)"))
            self.button.setEnabled(True)
        else:
            self.button.setText(self.tr("Send"))
            self.button.setIcon(theme.icon("send", colors.on_accent if sendable else colors.muted))
            self.button.setToolTip(formats.tip(self._blocked) or self.tr("Send (Enter)"))
            self.button.setEnabled(sendable)
        self.button.setAccessibleName(self.button.text())
        if self._sendable != sendable:
            self._sendable = sendable
            self.sendable_changed.emit()
        self.update()

    def mark_settings(self, chosen: bool, words: str) -> None:
        """Whether something was chosen for the replies, and what the button says of it."""
        self.settings.setProperty("chosen", chosen)
        self.settings.setToolTip(formats.tip(words))
        self._update()

    # ------------------------------------------------------------ what the user does

    def on_text_changed(self) -> None:
        text = self.edit.toPlainText()
        self.edit.wrap_for(text)
        if self._recalled is not None and text != self._recalled[1]:
            self._recalled = None
        self.on_edited()

    def on_edited(self) -> None:
        self._tokens = 0 if self.empty else self._tokens
        self.on_refusal_over()
        self.edited.emit()

    def on_submitted(self) -> None:
        if self.can_send and not self.edit.composing:
            self.sent.emit(self.content)

    def on_stepped(self, step: int) -> None:
        """Through earlier messages: up to older ones, down to newer ones and back to the empty box."""
        said = list(self.earlier())
        back = (self._recalled[0] if self._recalled else 0) - step
        if back > len(said):
            return
        content = said[-back] if back > 0 else ""
        self._recalled = (back, attachments.split(content)[0]) if back > 0 else None
        self.set_content(content)

    def on_button_clicked(self) -> None:
        if self._generating:
            self.stop_clicked.emit()
        else:
            self.on_submitted()
        self.edit.setFocus()

    # ------------------------------------------------------------ files

    def on_attach(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Attach text files"))
        self.add_files([Path(name) for name in names])
        self.edit.setFocus()

    def add_files(self, paths: list[Path]) -> None:
        """Read them beside; each becomes a chip, or its refusal is said."""
        paths = paths[: attachments.MOST_FILES + 1]  # one more, so that it is said
        if paths:
            self._reading.append(self._tasks.run(partial(_read, paths), self.on_read, self.on_unreadable))
        self._update()

    def on_read(self, found: list[Attachment | AppError]) -> None:
        self._over()
        for file in found:
            if isinstance(file, Attachment) and file not in self.files.attachments:
                self._take(file)
        refused = [str(error) for error in found if isinstance(error, AppError)]
        if refused:
            self._refuse(refused[0])
        self._update()

    def _take(self, file: Attachment) -> None:
        """As a chip, unless there is no room for it."""
        whole = file.size_bytes + sum(other.size_bytes for other in self.files.attachments)
        if whole <= attachments.MOST_BYTES and len(self.files.attachments) < attachments.MOST_FILES:
            self.files.add(file)
            return
        words = self.tr("{0} isn't attached: a message takes {1} files and {2} at most.")
        limits = formats.count(attachments.MOST_FILES), formats.data_size(attachments.MOST_BYTES)
        self._refuse(words.format(formats.short(file.name), *limits))

    def on_unreadable(self, error: AppError) -> None:
        self._over()
        self._refuse(str(error))

    def _over(self) -> None:
        task = self.sender()
        assert isinstance(task, Task)
        self._reading.remove(task)

    def _refuse(self, words: str) -> None:
        self._refused = words
        self._refusal.start()
        self._update()

    def on_refusal_over(self) -> None:
        self._refused = ""
        self._update()

    def on_long_text(self, text: str) -> None:
        """A paste that long is handled like a file: the box stays quick, and what is asked about it stays in sight."""
        names = {attachment.name for attachment in self.files.attachments}
        name = self.tr("Pasted text")
        number = next(n for n in range(1, len(names) + 2) if (f"{name} {n}" if n > 1 else name) not in names)
        self._take(Attachment(f"{name} {number}" if number > 1 else name, text.replace("\r\n", "\n")))

    def on_wanted_as_text(self, text: str) -> None:
        self.edit.insert(text)
        self.edit.setFocus()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painting.input_frame(painter, QRectF(self.rect()), focused=self.edit.hasFocus())


def _read(paths: list[Path]) -> list[Attachment | AppError]:
    """Each file, or why it can't be attached, in order."""
    found: list[Attachment | AppError] = []
    for path in paths:
        try:
            found.append(attachments.read_file(path))
        except AppError as error:
            found.append(error)
    return found
