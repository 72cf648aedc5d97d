"""The reply that is being made: from the engine's first word of it to its end on disk. One at a time.

A reply that streams is written down every second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app import events as ev
from app.library.conversations import Library
from app.library.records import Message
from app.ui.chat.cache_view import CacheView
from app.ui.memory.memory_panel import MemoryPanel
from app.ui.shared import formats
from app.ui.shared.turn import Turn
from app.ui.shared.writing import Writing
from app.ui.transcript.reply_view import ReplyFigures, ReplyView

log = logging.getLogger(__name__)

SAVE_INTERVAL_MS = 1000
FIRST_TOKEN_MS = 2000


class Answering(QObject):
    """`ended(conversation)` when a turn is over, in whatever way, and shown; before it `overfull(event, view, message)`
    where the prompt didn't fit and the reply to `message`, which is no more, is on screen; `no_room(reply)` where one
    on screen can't go on, and is as it was.
    """

    ended = Signal(str)
    overfull = Signal(object, object, str)
    no_room = Signal(object)

    def __init__(
        self, library: Library, writing: Writing, cache: CacheView, panel: MemoryPanel, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._library, self._writing, self._cache, self._panel = library, writing, cache, panel
        self._turn: Turn | None = None
        self.at_end = False  # the program ends: what breaks off now wasn't stopped by the user
        self._view: ReplyView | None = None  # where the turn's conversation is on screen
        self.handlers: dict[type, Callable[[Any], None]] = {
            ev.PrefillStarted: self._prefill_started,
            ev.PrefillProgress: self._prefill_progress,
            ev.TokenBatch: self._token_batch,
            ev.TurnFinished: self._turn_finished,
            ev.TurnFailed: self._turn_failed,
            ev.ContextFull: self._context_full,
        }
        self._save_timer = QTimer(self, interval=SAVE_INTERVAL_MS)
        self._save_timer.timeout.connect(self.on_save)
        self._first_token_timer = QTimer(self, singleShot=True, interval=FIRST_TOKEN_MS)
        self._first_token_timer.timeout.connect(self.on_first_token_late)

    @property
    def conversation(self) -> str:
        """The conversation in which a reply is being made; empty while there is none."""
        return self._turn.conversation_id if self._turn else ""

    @property
    def reply(self) -> str | None:
        """The message that is being written."""
        return self._turn.reply.id if self._turn else None

    def begin(self, reply: Message, status: str, before: Message | None = None) -> None:
        """The engine is asked for this one next; `status` says what it waits for. `before`: as it was, where it goes
        on. See `show`.
        """
        self._turn, self._view = Turn(reply.conversation, reply, before, status=status), None
        self._save_timer.start()

    def hide(self) -> None:
        """Its view goes away: another conversation comes on screen, or the same one anew."""
        self._view = None

    def show(self, message: Message, make: Callable[[], ReplyView]) -> ReplyView | None:
        """A view of the reply that is being made, as far as it is; None when `message` isn't that reply."""
        if self._turn is None or self._turn.reply.id != message.id:
            return None
        self._view = view = make()
        if self._turn.text:
            view.add_text(self._turn.text)
        if self._turn.waits:
            view.show_progress(self._turn.status, self._turn.done, self._turn.total)
        return view

    def resume(self, view: ReplyView) -> None:
        """The reply goes on in the view in which it was cut."""
        if self._turn:
            self._view = view
            view.resume(self._turn.text)
            view.show_progress(self._turn.status)

    def show_rebuild(self, event: ev.SwitchProgress) -> None:
        """A reply brings its scheme along: what that costs is said in the reply's place."""
        if self.conversation == event.conversation_id:
            words = self.tr("Rebuilding the cache: {0} of {1} tokens")
            done, total = formats.count(event.done_tokens), formats.count(event.total_tokens)
            self._show_status(words.format(done, total), event.done_tokens, event.total_tokens)

    def on_first_token_late(self) -> None:
        """The first reply under a scheme compiles its kernels, which can take a while."""
        self._show_status(self.tr("Preparing the first token…"), 0, 0)

    def on_save(self) -> None:
        """Write down what is new of the reply. What is measured meanwhile waits for its end: it costs pages."""
        if self._turn and self._turn.text != self._turn.saved_text:
            reply_id, text = self._turn.reply.id, self._turn.text
            self._turn.saved_text = text
            self._writing.put(reply_id, partial(self._library.update_partial, reply_id, text))

    # ------------------------------------------------------------ the engine's events

    def _prefill_started(self, event: ev.PrefillStarted) -> None:
        self._cache.reading(event.conversation_id)
        if self._turn:
            self._turn.prompt_tokens, self._turn.reused_tokens = event.prompt_tokens, event.reused_tokens
            self._show_prefill(0, event.prompt_tokens - event.reused_tokens)

    def _prefill_progress(self, event: ev.PrefillProgress) -> None:
        self._show_prefill(event.done_tokens, event.total_tokens)
        if event.done_tokens >= event.total_tokens - 1:  # the last token is computed with the first of the reply
            self._first_token_timer.start()

    def _show_prefill(self, done: int, total: int) -> None:
        words = self.tr("Reading the prompt: {0} of {1} tokens")
        self._show_status(words.format(formats.count(done), formats.count(total)), done, total)

    def _show_status(self, text: str, done: int, total: int) -> None:
        if self._turn is None or not self._turn.waits:
            return
        self._turn.status, self._turn.done, self._turn.total = text, done, total
        if self._view:
            self._view.show_progress(text, done, total)

    def _token_batch(self, event: ev.TokenBatch) -> None:
        if self._turn is None or self._turn.reply.id != event.reply_id:
            return
        self._turn.text += event.text
        rate = self._turn.rate(event.generated_tokens)
        if self._view:
            self._view.add_text(event.text)
            if rate:
                self._panel.show_speed(rate)

    def _turn_finished(self, event: ev.TurnFinished) -> None:
        view = self._end(event, partial(self._library.finish_reply, event, self.at_end))
        if view:
            state = {"interrupted": "interrupted", "length": "length", "stop": "complete"}[event.reason]
            figures = ReplyFigures(event.scheme, event.generated_tokens, event.tokens_per_s, event.prompt_tokens,
                                   event.reused_tokens, state)  # fmt: skip
            view.finish(event.text, figures)
            self._panel.show_speed(event.tokens_per_s)
        self.ended.emit(event.conversation_id)

    def _turn_failed(self, event: ev.TurnFailed) -> None:
        text = self._turn.text if self._turn and self._turn.reply.id == event.reply_id else ""
        log.warning("a reply failed: %s", event.error.detail or event.error.message)
        view = self._end(event, partial(self._library.fail_reply, event.reply_id, text, str(event.error)))
        if view:
            view.fail(event.error)
        self.ended.emit(event.conversation_id)

    def _context_full(self, event: ev.ContextFull) -> None:
        answered, before = (self._turn.reply.parent, self._turn.before) if self._turn else (None, None)
        if before is not None:
            if self._end(event, partial(self._library.leave_reply, before)):
                self.no_room.emit(before)
        elif view := self._end(event, partial(self._library.remove_message, event.reply_id)):
            self.overfull.emit(event, view, answered)
        self.ended.emit(event.conversation_id)

    def _end(
        self, event: ev.TurnFinished | ev.TurnFailed | ev.ContextFull, write: Callable[[], object]
    ) -> ReplyView | None:
        """The turn is over, whether or not its end can be written now. Returns the reply's view where it is shown; tell
        of the end (`ended`) when that says so too: what waits for it may take the view away.
        """
        view, self._turn, self._view = self._view, None, None
        self._save_timer.stop()
        self._first_token_timer.stop()
        self._cache.reading("")
        self._writing.put(event.reply_id, write)
        self._cache.save()
        return view
