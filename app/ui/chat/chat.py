"""One conversation on screen: the engine's events in, the widgets' calls out, and what must be on disk is on disk.

The user's message is committed before the engine hears of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app import events as ev
from app.library.conversations import Library
from app.library.records import DEFAULT_SCHEME, Message
from app.ui.chat.answering import Answering
from app.ui.chat.cache_view import CacheView
from app.ui.chat.chat_items import ChatItems
from app.ui.chat.choices import Choices
from app.ui.chat.counting import Counting
from app.ui.chat.deleting import Deleting
from app.ui.chat.drafting import Drafting
from app.ui.chat.editing import Editing
from app.ui.chat.generation import Generation
from app.ui.chat.said import Said
from app.ui.chat.shown import Shown
from app.ui.chat.switching import Switching
from app.ui.composer.composer import Composer
from app.ui.memory.memory_panel import MemoryPanel
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.cards import ContextFullCard
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.turn import EngineLink
from app.ui.shared.writing import Writing
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.transcript import Transcript

IDLE_SAVE_MS = 4000
REASON_S = 6.0


class Chat(QObject):
    """Signals: `list_changed` (a title, an order, a size), `turn_changed` (see `generating`), `model_missing` (for what
    the user wants); of a conversation, `discard_wanted` (the user wants its cache gone) and `cache_wanted` (the engine
    is about to use that).
    """

    list_changed = Signal()
    turn_changed = Signal()
    model_missing = Signal()
    discard_wanted = Signal(str)
    cache_wanted = Signal(str)

    def __init__(self, library: Library, engine: EngineLink, models: ModelLink, transcript: Transcript,
                 composer: Composer, panel: MemoryPanel, notices: NoticeBar,
                 parent: QObject | None = None) -> None:  # fmt: skip
        super().__init__(parent)
        self._library, self._engine, self._models = library, engine, models
        self._transcript, self._composer, self._panel, self._notices = transcript, composer, panel, notices
        self.current = ""  # empty: a new conversation that has no row yet
        self.scheme = DEFAULT_SCHEME  # of the conversation on screen
        self.picked = DEFAULT_SCHEME  # what the user chose last, in whichever conversation
        self.usual = ""  # what new conversations have instead, if anything
        self._switching = Switching(panel, self)
        self.said = Said(library)
        self._writing = Writing(library, notices, self)
        self.deleting = Deleting(library, self._writing, notices, self._discard, self)
        self.deleting.restored.connect(self.open)
        self.editing = Editing(library, self._writing, self)
        self._items = ChatItems(self._live_reply, self.editing, self)
        self.generation = Generation(library, self._writing, models, notices, self)
        self.drafting = Drafting(library, self._writing, composer, self)
        self._counting = Counting(composer, engine, models, self.generation, self)
        composer.earlier = self._said_by_user
        self._cache = CacheView(library, self._writing, models, panel, notices, self)
        self._cache.sizes_changed.connect(self.list_changed)
        self._shown = Shown(library, self._cache, self._items, transcript)
        self.answering = Answering(library, self._writing, self._cache, panel, self)
        self.answering.ended.connect(self.on_turn_ended)
        self.choices = Choices(self, self.said, self._writing, self._items, transcript, composer, notices,
                               self)  # fmt: skip
        self.answering.overfull.connect(self.choices.on_overfull)
        self._items.retry_clicked.connect(self.choices.on_retry)
        self._items.go_on_clicked.connect(self.choices.on_go_on)
        self.answering.no_room.connect(self.choices.on_no_room)
        self._items.again_clicked.connect(self.choices.on_again)
        self._items.edit_clicked.connect(self.choices.on_edit)
        self._items.edited.connect(self.choices.on_edited)
        self._items.edit_cancelled.connect(self.choices.on_edit_cancelled)
        self._items.version_chosen.connect(self.choices.on_version)
        self._backend_notice = self._format_notice = ""  # the ones that stand
        self._handlers: dict[type, Callable[[Any], None]] = {
            **self.answering.handlers,
            ev.BackendNotice: self._backend_noticed,
            ev.CachePlanned: self._cache.planned,
            ev.MemorySample: self._memory_sample,
            ev.SwitchProgress: self._switch_progress,
            ev.SchemeSwitched: self._scheme_switched,
            ev.SwitchFailed: self._switch_failed,
            ev.SnapshotSaved: self._cache.snapshot_saved,
            ev.SnapshotsRemoved: self._cache.snapshots_removed,
            ev.SnapshotLoaded: self._cache.snapshot_loaded,
            ev.SnapshotRejected: self._cache.snapshot_rejected,
            ev.SnapshotNotSaved: self._cache.snapshot_not_saved,
        }
        self._idle_timer = QTimer(self, singleShot=True, interval=IDLE_SAVE_MS)
        self._idle_timer.timeout.connect(self.on_idle)
        models.loaded.connect(self.on_model_loaded)
        models.changed.connect(self.on_model_changed)
        engine.event_emitted.connect(self.on_engine_event)
        composer.sent.connect(self.on_sent)
        composer.stop_clicked.connect(self.stop)
        panel.picker.scheme_picked.connect(self.on_scheme_picked)
        panel.cancel_clicked.connect(self.on_cancel_switch)
        panel.discard_clicked.connect(self.on_discard)
        self.new()

    # ------------------------------------------------------------ which conversation

    def new(self) -> None:
        """An empty conversation; it gets a row with its first message."""
        self.current, self.scheme = "", self.usual or self.picked
        self.generation.show("")
        self.drafting.show("")
        self.answering.hide()
        self._shown.clear()
        self._show_state()
        self.list_changed.emit()

    def open(self, conversation_id: str) -> None:
        """Show a conversation and ask the engine to bring its cache back. Raises KeyError."""
        conversation = self._library.conversation(conversation_id)
        self.current, self.scheme = conversation_id, conversation.scheme
        self.generation.show(conversation_id)
        self.drafting.show(conversation_id)
        self.editing.show(conversation_id)
        self.answering.hide()
        self._shown.show(conversation_id)
        self._show_state()
        self.restore_cache()
        self.list_changed.emit()

    def open_at(self, conversation_id: str, message_id: str) -> None:
        """Show this message of a conversation, in whichever branch it is."""
        branch = self._library.messages(conversation_id)
        elsewhere = message_id not in {message.id for message in branch}
        if elsewhere:
            self._writing.now(partial(self.said.show, message_id))
            self._cache.branched(conversation_id)
        if elsewhere or conversation_id != self.current:
            self.open(conversation_id)
        self._transcript.show_message(message_id)

    def show_branch(self) -> None:
        """The conversation on screen goes on, or another of its branches is shown."""
        if self._shown.go_on(self.current):
            self._show_state()

    def newest(self) -> str:
        """The conversation that was used last, pinned or not; empty when there is none."""
        latest = max(self._library.conversations(), key=lambda conversation: conversation.updated, default=None)
        return latest.id if latest is not None else ""

    def restore_cache(self) -> None:
        if self.model and self.current and not self.generating:
            messages, scheme = self.said.to_read(self.current), self.wanted_scheme()
            self._engine.submit(ev.OpenConversation(self.current, messages, scheme, self.generation.params))

    def _live_reply(self, message: Message) -> ReplyView | None:
        return self.answering.show(message, self._items.empty_reply)

    # ------------------------------------------------------------ one turn

    def on_sent(self, text: str) -> None:
        """The composer keeps the text until it is on disk."""
        if not self.free():
            return
        if self.current:
            step = partial(self.said.say, self.current, text, self.wanted_scheme())
        else:
            step = partial(self.said.say_first, text, self.scheme, self.model_name())
        reply = self._writing.now(step)
        if reply is not None:
            self._composer.clear()
            self.drafting.flush()
            self.generate(reply)

    def generate(self, reply: Message, anew: bool = False, before: Message | None = None) -> None:
        """Have the message answered that `reply` stands behind. `anew`: what stands before it looks different too.
        `before`: the reply as it was, where it has begun and goes on.
        """
        if self._switching.take(reply.conversation):
            self._set_scheme(reply.scheme)
            self._show_state()
        self.answering.begin(reply, self._first_status(), before)
        if reply.conversation != self.current:  # it has just been made, and goes on with what was chosen here
            self.generation.adopt(reply.conversation)
        if anew or reply.conversation != self.current:
            self.open(reply.conversation)
        elif before is not None and (view := self.choices.view_of(reply)):
            self.answering.resume(view)
        else:
            self.show_branch()
        self._transcript.follow()
        self.cache_wanted.emit(self.current)
        messages = self.said.to_read(self.current, until=reply.parent if before is None else reply.id)
        self._engine.submit(ev.Generate(self.current, reply.id, messages, reply.scheme, self.generation.params))
        self._idle_timer.stop()
        self.state_changed()
        self.list_changed.emit()

    def _said_by_user(self) -> list[str]:
        """What the composer's ↑ brings back, the latest last."""
        messages = self._library.messages(self.current) if self.current else []
        return [message.content for message in messages if message.role == "user"]

    def _first_status(self) -> str:
        """What a reply waits for before the engine has begun with it."""
        other = self._switching.running()
        if not other:
            return self.tr("Reading the prompt")
        title = formats.short(self._library.conversation(other).title)
        return self.tr("Waiting until the cache of “{0}” is changed").format(title)

    @property
    def model(self) -> ev.ModelInfo | None:
        return self._models.model

    @property
    def generating(self) -> bool:
        """Whether the conversation on screen is being answered."""
        return bool(self.current) and self.answering.conversation == self.current

    def stop(self) -> None:
        """Stop the reply or the rebuild of the conversation on screen."""
        if self.generating or self._switching.runs(self.current):
            self._engine.stop(self.current)

    # ------------------------------------------------------------ the scheme

    def wanted_scheme(self) -> str:
        """Of the conversation on screen: the one that it is changing to, else its own."""
        return self._switching.asked(self.current) or self.scheme

    def set_usual(self, name: str) -> None:
        """New conversations have this scheme, an empty one on screen too; empty: the one that was picked last."""
        self.usual = name
        if not self.current:
            self._set_scheme(name or self.picked)
            self._show_state()

    def on_scheme_picked(self, name: str) -> None:
        self.picked = name
        if name == self.wanted_scheme():
            return
        if self.generating:
            self._switching.take(self.current)
            if name != self.scheme:  # picking the present one takes back the one that waits
                self._switching.wait(self.current, name)
            self._switching.show(self.current)
        elif self.current and self.model:
            if self._switching.runs(self.current):
                self._engine.stop(self.current)  # it gives way to this one
            self._switch(self.current, name)
        else:
            self._set_scheme(name)
            self._show_state()
            self.list_changed.emit()

    def _set_scheme(self, name: str) -> None:
        """The next reply brings it along; the engine has nothing to do before."""
        self.scheme = name
        if self.current:
            self._writing.put(("scheme", self.current), partial(self._library.set_scheme, self.current, name))

    def _switch(self, conversation_id: str, name: str) -> None:
        self.cache_wanted.emit(conversation_id)
        self._switching.begin(conversation_id, name)
        messages = self.said.to_read(conversation_id)
        params = self.generation.params_of(conversation_id)
        self._engine.submit(ev.SwitchScheme(conversation_id, name, messages, params))
        self._switching.show(self.current)
        self.state_changed()

    def on_cancel_switch(self) -> None:
        if not self._switching.take(self.current):
            self._engine.stop(self.current)
        self._switching.show(self.current)

    # ------------------------------------------------------------ titles, deleting

    def rename(self, conversation_id: str, title: str) -> None:
        self._writing.done(partial(self._library.rename, conversation_id, title))
        self.list_changed.emit()

    def pin(self, conversation_id: str, pinned: bool) -> None:
        self._writing.done(partial(self._library.pin, conversation_id, pinned))
        self.list_changed.emit()

    def delete(self, conversation_id: str) -> bool:
        """Take it off the list; `deleting` can bring it back. False: the disk refuses it."""
        if not self.deleting.delete(conversation_id):
            return False
        self._engine.stop(conversation_id)
        self._switching.take(conversation_id)
        if conversation_id == self.current:
            self.new()
        self.list_changed.emit()
        return True

    def hide_cache(self, conversation_id: str) -> None:
        """It is as if it were discarded; `bring_back_cache` or `discard_cache` follows."""
        self._cache.hide(conversation_id)
        self._cache_changed(conversation_id)

    def bring_back_cache(self, conversation_id: str) -> None:
        self._cache.bring_back(conversation_id)
        self._cache_changed(conversation_id)

    def discard_cache(self, conversation_id: str) -> None:
        """Forget it, in memory and on disk; the text stays, and the next reply reads it again."""
        self._cache.hide(conversation_id)
        self._discard(conversation_id)
        self._cache_changed(conversation_id)

    def _cache_changed(self, conversation_id: str) -> None:
        if conversation_id == self.current:
            self._show_state()
        self.list_changed.emit()

    def on_discard(self) -> None:
        if self.current and self.free():
            self.discard_wanted.emit(self.current)

    def title(self, conversation_id: str) -> str:
        return self._library.conversation(conversation_id).title

    def _discard(self, conversation_id: str) -> None:
        self._engine.submit(ev.DiscardCache(conversation_id))
        self._cache.forget(conversation_id)

    # ------------------------------------------------------------ what the widgets show

    def _show_state(self) -> None:
        """Everything beside the transcript, for the conversation and model at hand."""
        self._cache.show(self.current, self.scheme)
        self._transcript.empty.set_scheme(self.scheme)
        self._show_context()
        self._switching.show(self.current)
        self.state_changed()

    def _show_context(self) -> None:
        tokens = self._cache.tokens(self.current)
        self._composer.set_context(tokens, self._context_tokens())
        self._panel.show_context(tokens, self._context_tokens())

    def state_changed(self) -> None:
        """What can be done now has changed."""
        self._composer.set_generating(self.generating)
        self._composer.set_blocked(self._blocked())
        for card in self._cards():
            card.set_blocked(self._hindrance())
        self.turn_changed.emit()

    def _blocked(self) -> str:
        """Why nothing can be sent; empty when something can."""
        if self._cards():
            return self.tr("The context is full: choose above how to go on")
        return self._hindrance()

    def _cards(self) -> list[ContextFullCard]:
        return [item for item in self._transcript.items() if isinstance(item, ContextFullCard)]

    def _hindrance(self) -> str:
        """Why the engine can't answer in the conversation on screen; empty when it can."""
        if self._models.loading:
            return self.tr("Loading {0}…").format(self._models.loading)
        if self.model is None:
            return self.tr("No model is loaded")
        elsewhere = "" if self.generating else self.answering.conversation
        if elsewhere:
            title = formats.short(self._library.conversation(elsewhere).title)
            return self.tr("A reply is being written in “{0}”").format(title)
        return self._switching.reason(self.current)

    def free(self) -> bool:
        """Whether the engine can answer here; says why where it can't."""
        reason = self._hindrance()
        if self.model is None and not self._models.loading:
            self.model_missing.emit()
        else:
            self._notices.show_notice(reason, timeout_s=REASON_S)
        return not reason

    # ------------------------------------------------------------ the engine's events

    def on_engine_event(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:  # else it is about models
            handler(event)

    def on_model_loaded(self, event: ev.ModelLoaded) -> None:
        self._panel.picker.set_options(event.schemes)
        self._tell_of_backend(event.notice)
        self._notices.dismiss(self._format_notice)
        self._format_notice = event.model.format_notice
        self._notices.show_notice(self._format_notice)
        self._show_state()
        self.restore_cache()

    def on_model_changed(self) -> None:
        self.state_changed()

    def _backend_noticed(self, event: ev.BackendNotice) -> None:
        self._tell_of_backend(event.notice)

    def _tell_of_backend(self, notice: str) -> None:
        """One notice at a time: where a kernel doesn't serve, its neighbours often don't either."""
        self._notices.dismiss(self._backend_notice)
        self._backend_notice = notice
        self._notices.show_notice(notice)

    def _memory_sample(self, event: ev.MemorySample) -> None:
        reply = self.answering.reply if self.answering.conversation == event.conversation_id else None
        self._cache.measured(event, reply or self._library.leaf(event.conversation_id))
        if event.conversation_id == self.current:
            self._show_context()
        if not self.answering.conversation:
            self._cache.save()

    def model_name(self) -> str:
        return self.model.name if self.model else ""

    def _context_tokens(self) -> int:
        return self.model.context_tokens if self.model else 0

    def on_turn_ended(self, conversation_id: str) -> None:
        """What waited for it is done: another reply, which takes a scheme that was asked for along, or that alone."""
        self._idle_timer.start()
        self.state_changed()
        self.choices.turn_ended(conversation_id)
        waiting = self._switching.take(conversation_id)
        if waiting and self.model:
            self._switch(conversation_id, waiting)
        self.list_changed.emit()

    # ------------------------------------------------------------ switches and snapshots

    def _switch_progress(self, event: ev.SwitchProgress) -> None:
        self.answering.show_rebuild(event)
        self._switching.progress(event.conversation_id, event.done_tokens, event.total_tokens)
        self._switching.show(self.current)

    def _scheme_switched(self, event: ev.SchemeSwitched) -> None:
        self._cache.switched(event)
        if event.conversation_id == self.current:
            self.scheme = event.to_scheme
            if event.method not in ev.NOTHING_SWITCHED:
                self._transcript.append(self._items.divider(event))
        self._switch_over(event.conversation_id)

    def _switch_failed(self, event: ev.SwitchFailed) -> None:
        if event.error is not None:
            self._notices.show_notice(str(event.error), trouble=True)
        self._switch_over(event.conversation_id)

    def _switch_over(self, conversation_id: str) -> None:
        self._switching.end(conversation_id)
        self._switching.show(self.current)
        self.state_changed()
        self._idle_timer.start()
        self.list_changed.emit()

    # ------------------------------------------------------------ writing down

    def end(self) -> None:
        """The program ends."""
        self.answering.at_end = True
        self.on_save()

    def on_save(self) -> None:
        """Everything that waits."""
        self._cache.save()
        self.drafting.flush()
        self.editing.flush()
        self.answering.on_save()

    def on_idle(self) -> None:
        if not self.answering.conversation:
            self._engine.submit(ev.SaveSnapshots())
