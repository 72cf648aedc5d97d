"""From what the library stores to the pieces of a transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import events as ev
from app.errors import AppError
from app.library.records import Message, Switch
from app.ui.chat.editing import Editing
from app.ui.memory.chart_data import Marker
from app.ui.shared import formats
from app.ui.shared.cards import Divider
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.message_tools import MessageTools
from app.ui.transcript.pieces import MESSAGE, ItemMaker, Piece
from app.ui.transcript.reply_view import ReplyFigures, ReplyView
from app.ui.transcript.user_bubble import UserBubble


class ChatItems(QObject):
    """`retry_clicked`: the reader wants the last message answered again; `go_on_clicked`: a reply shall go on.
    `live_reply(message)` gives the view of a reply that is being written now, None for any other. Every piece that
    stands for a message has its id as the property MESSAGE.
    """

    retry_clicked = Signal()
    go_on_clicked = Signal(str)
    edit_clicked = Signal(str)
    again_clicked = Signal(str)
    version_chosen = Signal(str)
    edited = Signal(str, str)  # a message and what shall stand in its place
    edit_cancelled = Signal(str)

    def __init__(self, live_reply: Callable[[Message], ReplyView | None], editing: Editing, parent: QObject) -> None:
        super().__init__(parent)
        self._live_reply, self.editing = live_reply, editing

    def makers(
        self,
        messages: Sequence[Message],
        versions: Mapping[str, Sequence[str]],
        switches: Sequence[Switch],
        behind: str | None = None,
    ) -> list[ItemMaker]:
        """What makes each piece, in order, from the one behind the message `behind` on. `versions`: all that can stand
        in the place of a message, where there are several.
        """
        start = next((message for message in reversed(messages) if message.starts_context), None)
        makers: list[ItemMaker] = [partial(self.divider, s) for s in switches if s.after_message is None]
        for message in messages:
            if message is start and message is not messages[0]:
                makers.append(self.context_divider)
            if message.role == "user":
                make = partial(self.said, message, versions.get(message.id, ()))
                makers.append(Piece(message.id, message.content, UserBubble, make))
            elif message.role == "assistant":
                last = message is messages[-1]
                build = partial(self.reply, message, versions.get(message.id, ()), last)
                makers.append(Piece(message.id, message.content, ReplyView, build))
            if message.id == behind:
                makers.clear()
            makers += [partial(self.divider, s) for s in switches if s.after_message == message.id]
        if messages and messages[-1].role == "user":
            makers.append(self.missing_reply)
        return makers

    def said(self, message: Message, versions: Sequence[str]) -> QWidget:
        """What the user wrote, or its editor where that is open."""
        if self.editing.is_open(message.id):
            return self.editor(message)
        bubble = UserBubble(message.content)
        bubble.setProperty(MESSAGE, message.id)
        bubble.set_tools(self._tools(message, versions, partial(str, message.content)))
        return bubble

    def reply(self, message: Message, versions: Sequence[str], last: bool) -> ReplyView:
        view = self._live_reply(message) or self.stored_reply(message)
        view.setProperty(MESSAGE, message.id)
        view.go_on_clicked.connect(partial(self.go_on_clicked.emit, message.id))
        tools = self._tools(message, versions, view.answer)
        tools.set_always(last)
        view.set_tools(tools)
        if not last:
            view.drop_retry()
        return view

    def empty_reply(self) -> ReplyView:
        """To be written into."""
        view = ReplyView()
        view.retry_clicked.connect(self.retry_clicked)
        return view

    def stored_reply(self, message: Message) -> ReplyView:
        view = self.empty_reply()
        view.finish(message.content, _figures(message))
        if message.state == "failed":
            view.fail(AppError(message.error or self.tr("This reply failed.")))
        return view

    def missing_reply(self) -> ReplyView:
        view = self.empty_reply()
        view.fail(AppError(self.tr("This message has no reply yet.")))
        return view

    def editor(self, message: Message) -> MessageEditor:
        """What was typed in it before is in it again."""
        editor = MessageEditor(message.id, self.editing.open(message))
        editor.setProperty(MESSAGE, message.id)
        editor.changed.connect(self.editing.on_changed)
        editor.saved.connect(self.edited)
        editor.cancelled.connect(self.edit_cancelled)
        return editor

    def _tools(self, message: Message, versions: Sequence[str], source: Callable[[], str]) -> MessageTools:
        tools = MessageTools(message.id, message.role, versions, source)
        tools.edit_clicked.connect(self.edit_clicked)
        tools.again_clicked.connect(self.again_clicked)
        tools.version_chosen.connect(self.version_chosen)
        return tools

    def divider(self, switch: Switch | ev.SchemeSwitched) -> Divider:
        ways = {
            "encoded": (self.tr("in {0}"), self.tr("Compressed from what the cache still held uncompressed.")),
            "requantised": (
                self.tr("compressed further in {0}"),
                self.tr("Made from data that was compressed before: a little less exact than a rebuild."),
            ),
            "rebuilt": (self.tr("rebuilt in {0}"), self.tr("The model has read the transcript again.")),
        }
        how, tip = ways.get(switch.method, (self.tr("in {0}"), ""))  # a row of the library may say anything
        sizes = f"{formats.data_size(switch.bytes_before)} → {formats.data_size(switch.bytes_after)}"
        time = how.format(formats.seconds(switch.seconds))
        return Divider([f"{switch.from_scheme} → {switch.to_scheme}", sizes, time], tip)

    def context_divider(self) -> Divider:
        tip = self.tr("Older turns were left out to make room; they stay here.")
        return Divider([self.tr("The model reads from here on")], tip)


def marker(switch: Switch | ev.SchemeSwitched) -> Marker:
    s = switch
    return Marker(s.tokens, s.from_scheme, s.to_scheme, s.bytes_before, s.bytes_after, s.method)


def _figures(m: Message) -> ReplyFigures:
    return ReplyFigures(m.scheme, m.generated_tokens, m.tokens_per_s, m.prompt_tokens, m.reused_tokens, m.state)
