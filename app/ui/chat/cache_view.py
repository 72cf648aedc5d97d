"""What is known of each conversation's cache: measured, drawn in the panel, and kept in the library."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import events as ev
from app.library.conversations import Library
from app.library.records import Switch
from app.ui.chat.chat_items import marker
from app.ui.memory.chart_data import History, Point
from app.ui.memory.memory_panel import MemoryPanel
from app.ui.models.model_link import ModelLink
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.writing import Writing


class CacheView(QObject):
    """Shows one conversation at a time (`show`), and follows the others unseen. `sizes_changed`: the list says another
    size than it did.
    """

    sizes_changed = Signal()

    def __init__(
        self,
        library: Library,
        writing: Writing,
        models: ModelLink,
        panel: MemoryPanel,
        notices: NoticeBar,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._library, self._writing, self._models = library, writing, models
        self._panel, self._notices = panel, notices
        self._current = ""
        self._reading = ""  # the conversation whose prompt is read: the peak is of that
        self._first_token = False
        self._histories: dict[str, History] = {}
        self._plans: dict[str, tuple[ev.LayerVerdict, ...]] = {}  # the last of each conversation
        self._loaded: set[str] = set()  # conversations whose saved cache this run has read
        self._unsaved: list[tuple[ev.MemorySample, str | None]] = []
        self._held: dict[str, ev.MemorySample] = {}  # the last of each conversation, where that isn't written down
        self._told_not_saved: set[str] = set()  # reasons
        self._hidden: dict[str, tuple[int, int]] = {}  # tokens and bytes of those that are as good as discarded

    def show(self, conversation_id: str, scheme: str) -> None:
        """Bring this conversation's history into the panel; an empty id is a conversation without one."""
        self._current = conversation_id
        self._panel.clear(scheme)
        self._panel.picker.set_current(scheme)
        self._panel.engagement.set_layers(self._plans.get(conversation_id, ()))
        history = self.history(conversation_id)
        held = bool(history.points and self._library.conversation(conversation_id).cached_tokens)
        if held:
            self._panel.show_last(history.points[-1].used_bytes)
        elif conversation_id and self.tokens(conversation_id):
            self._panel.show_gone()
        self._panel.chart.show_history(history, scheme, held)
        self._show_saved(conversation_id)

    def tokens(self, conversation_id: str) -> int:
        """What the model has read of this conversation, and reads again where that isn't cached; 0 where none of its
        turns says.
        """
        history = self.history(conversation_id)
        if history.points or not conversation_id:
            return history.last_tokens()
        replies = (m for m in reversed(self._library.messages(conversation_id)) if m.role == "assistant")
        return next((m.prompt_tokens + m.generated_tokens for m in replies if m.prompt_tokens), 0)

    def history(self, conversation_id: str) -> History:
        if not conversation_id:
            return History()
        if conversation_id not in self._histories:
            history, shown = History(), self._shown(conversation_id)
            for p in self._library.history.samples(conversation_id):
                if p.message in shown:
                    history.add(Point(p.tokens, p.used_bytes, p.scheme))
            history.add_stored(marker(s) for s in self.switches(conversation_id))
            self._histories[conversation_id] = history
        return self._histories[conversation_id]

    def switches(self, conversation_id: str) -> list[Switch]:
        """The stored switches in the branch shown that changed a cache; earlier versions recorded others too."""
        shown = self._shown(conversation_id)
        return [
            s
            for s in self._library.history.switches(conversation_id)
            if s.method not in ev.NOTHING_SWITCHED and s.after_message in shown
        ]

    def _shown(self, conversation_id: str) -> set[str | None]:
        """The messages in the branch shown; None is the one that earlier versions didn't note."""
        return {None, *(message.id for message in self._library.messages(conversation_id))}

    def branched(self, conversation_id: str) -> None:
        """Another branch is shown: its curve is another one."""
        self.save()
        self._histories.pop(conversation_id, None)

    def forget(self, conversation_id: str) -> None:
        self._histories.pop(conversation_id, None)
        self._plans.pop(conversation_id, None)
        self._loaded.discard(conversation_id)
        self._hidden.pop(conversation_id, None)

    def hide(self, conversation_id: str) -> None:
        """The user wants it gone; what was drawn of it stays."""
        if conversation_id not in self._hidden:
            self.save()
            with suppress(KeyError):  # a deleted one
                conversation = self._library.conversation(conversation_id)
                self._hidden[conversation_id] = conversation.cached_tokens, conversation.cached_bytes
        self._write_held(conversation_id, 0, 0)

    def bring_back(self, conversation_id: str) -> None:
        if conversation_id in self._hidden:
            self._write_held(conversation_id, *self._hidden.pop(conversation_id))

    def _write_held(self, conversation_id: str, tokens: int, size_bytes: int) -> None:
        write = partial(self._library.caches.held, conversation_id, tokens, size_bytes)
        self._writing.put(("held", conversation_id), write)

    def save(self) -> None:
        """Write down what was measured since the last time."""
        self._writing.put("samples", self._write_samples)

    def _write_samples(self) -> None:
        changed = [self._library.caches.held(name, s.tokens, s.used_bytes) for name, s in self._held.items()]
        self._library.history.record_samples(self._unsaved)
        self._unsaved.clear()
        self._held.clear()
        if any(changed):
            self.sizes_changed.emit()

    # ------------------------------------------------------------ the engine's events

    def reading(self, conversation_id: str) -> None:
        """A prompt of this conversation is read, up to and with the reply's first token; empty: no more."""
        self._reading, self._first_token = conversation_id, False

    def planned(self, event: ev.CachePlanned) -> None:
        self._first_token = event.conversation_id == self._reading
        self._plans[event.conversation_id] = event.layers
        if event.conversation_id == self._current:
            self._panel.engagement.set_layers(event.layers)

    def measured(self, event: ev.MemorySample, message: str | None) -> None:
        """`message` is the last of the branch whose cache that is."""
        read_anew = event.conversation_id == self._reading
        if event.conversation_id in self._hidden or (not event.tokens and not read_anew):
            return  # what was drawn of a discarded cache stays until it is read again
        history = self.history(event.conversation_id)
        history.curves = dict(event.curves)
        self._held[event.conversation_id] = event  # also where the curve has that point: another branch was shown
        if history.add(Point.of(event)):
            self._unsaved.append((event, message))
        if event.conversation_id == self._current:
            self._panel.show_sample(event)
            if read_anew:
                self._panel.show_peak(event)
            self._panel.chart.refresh()
        if self._first_token:
            self.reading("")

    def switched(self, event: ev.SchemeSwitched) -> None:
        if event.method in ev.NOTHING_SWITCHED:
            self._writing.put(event, partial(self._library.set_scheme, event.conversation_id, event.to_scheme))
        else:
            history = self.history(event.conversation_id)  # read before the row is there, else it would come twice
            history.markers.append(marker(event))
            leaf = self._library.leaf(event.conversation_id)
            self._writing.put(event, partial(self._library.history.record_switch, event, leaf))
        if event.conversation_id == self._current:
            self._panel.picker.set_current(event.to_scheme)
            self._panel.chart.set_scheme(event.to_scheme)

    # ------------------------------------------------------------ cache files

    def snapshot_saved(self, event: ev.SnapshotSaved) -> None:
        self._told_not_saved.clear()
        self._writing.put(event, partial(self._library.caches.saved, event))
        self._show_saved(event.conversation_id)

    def snapshot_loaded(self, event: ev.SnapshotLoaded) -> None:
        self._writing.put(event, partial(self._library.caches.loaded, event))
        self._loaded.add(event.conversation_id)
        self._show_saved(event.conversation_id)

    def snapshots_removed(self, event: ev.SnapshotsRemoved) -> None:
        self._writing.put(event, partial(self._library.caches.forget, event.files))
        self._show_saved(self._current)

    def _show_saved(self, conversation_id: str) -> None:
        if conversation_id == self._current:
            known = conversation_id and conversation_id not in self._hidden
            files = self._library.caches.of(conversation_id) if known else []
            again_s = files[0].prefill_s if files else self._again_s(conversation_id)
            self._panel.show_saved(files, conversation_id in self._loaded, again_s)

    def _again_s(self, conversation_id: str) -> float:
        """Of a conversation without a saved cache: with the model at hand."""
        model = self._models.model
        rate = self._library.caches.rate(model.fingerprint) if model else 0.0
        return self.tokens(conversation_id) / rate if rate else 0.0

    def snapshot_rejected(self, event: ev.SnapshotRejected) -> None:
        """A sound file of another model or scheme is no news: the next reply says that it reads the conversation."""
        if event.cause == "damaged":
            self._notices.show_notice(
                self.tr(
                    "The saved cache of this conversation was damaged and is removed. The text is complete; the next "
                    "reply reads it again."
                ),
                trouble=True,
            )
        elif event.cause == "failed":
            words = self.tr("The saved cache of this conversation wasn't loaded: {0}")
            self._notices.show_notice(words.format(event.reason), trouble=True)

    def snapshot_not_saved(self, event: ev.SnapshotNotSaved) -> None:
        if event.at_end or event.reason in self._told_not_saved:
            return
        self._told_not_saved.add(event.reason)
        words = self.tr(
            "The cache of a conversation can't be saved: {0}. The text is whole; it is tried again after the next "
            "reply and when the program ends."
        )
        self._notices.show_notice(words.format(event.reason), trouble=True)
