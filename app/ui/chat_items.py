"""From what the library stores to the pieces of a transcript."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import events as ev
from app.errors import AppError
from app.library.records import Message, Switch
from app.ui import formats
from app.ui.cards import Divider
from app.ui.chart_data import Marker
from app.ui.messages import ReplyFigures, ReplyView, UserBubble
from app.ui.transcript import ItemMaker


class ChatItems(QObject):
    """`retry_clicked`: the reader wants the last message answered again. `live_reply(message)` gives the view of a
    reply that is being written now, None for any other.
    """

    retry_clicked = Signal()

    def __init__(self, live_reply: Callable[[Message], ReplyView | None], parent: QObject) -> None:
        super().__init__(parent)
        self._live_reply = live_reply

    def makers(self, messages: Sequence[Message], switches: Sequence[Switch]) -> list[ItemMaker]:
        """What makes each piece, in order."""
        start = next((message for message in reversed(messages) if message.starts_context), None)
        makers: list[ItemMaker] = [partial(self.divider, s) for s in switches if s.after_message is None]
        for message in messages:
            if message is start and message is not messages[0]:
                makers.append(self.context_divider)
            if message.role == "user":
                makers.append(partial(UserBubble, message.content))
            elif message.role == "assistant":
                makers.append(partial(self.stored_reply, message, message is messages[-1]))
            makers += [partial(self.divider, s) for s in switches if s.after_message == message.id]
        if messages and messages[-1].role == "user":
            makers.append(self.missing_reply)
        return makers

    def reply(self) -> ReplyView:
        """An empty one, to be written into."""
        view = ReplyView()
        view.retry_clicked.connect(self.retry_clicked)
        return view

    def stored_reply(self, message: Message, last: bool) -> ReplyView:
        live = self._live_reply(message)
        if live is not None:
            return live
        view = self.reply()
        view.finish(message.content, _figures(message))
        if message.state == "failed":
            view.fail(AppError(message.error or self.tr("This reply failed.")))
        if not last:
            view.drop_retry()
        return view

    def missing_reply(self) -> ReplyView:
        view = self.reply()
        view.fail(AppError(self.tr("This message has no reply yet.")))
        return view

    def divider(self, switch: Switch | ev.SchemeSwitched) -> Divider:
        ways = {
            "encoded": (self.tr("in {0}"), self.tr("Encoded from what the cache still held exactly.")),
            "requantised": (
                self.tr("requantised in {0}"),
                self.tr("Made from data that was compressed before: a little less exact than a rebuild."),
            ),
            "rebuilt": (self.tr("rebuilt in {0}"), self.tr("The model has read the transcript again.")),
        }
        how, tip = ways.get(switch.method, (self.tr("in {0}"), ""))  # a row of the library may say anything
        sizes = f"{formats.data_size(switch.bytes_before)} → {formats.data_size(switch.bytes_after)}"
        time = how.format(formats.seconds(switch.seconds))
        return Divider(f"{switch.from_scheme} → {switch.to_scheme}   {sizes}   {time}", tip)

    def context_divider(self) -> Divider:
        return Divider(
            self.tr("The model reads from here on"), self.tr("Older turns were left out to make room; they stay here.")
        )


def marker(switch: Switch | ev.SchemeSwitched) -> Marker:
    s = switch
    return Marker(s.tokens, s.from_scheme, s.to_scheme, s.bytes_before, s.bytes_after, s.method)


def _figures(m: Message) -> ReplyFigures:
    return ReplyFigures(m.scheme, m.generated_tokens, m.tokens_per_s, m.prompt_tokens, m.reused_tokens, m.state)
