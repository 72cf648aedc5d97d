"""The saved caches as a whole: how much room they may take, and what becomes of them when the user says so."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QObject, Signal

from app import events as ev
from app.library.conversations import Library
from app.library.records import StoredCache
from app.library.snapshots import DEFAULT_QUOTA_BYTES
from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.conversations.discarding import Discarding
from app.ui.shared import formats
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.turn import EngineLink

QUOTA, UNSAVED = "saved_caches_bytes", "caches_not_saved"  # settings
LEAST_BYTES = 100_000_000


def quota(settings: Settings) -> int:
    """What all saved caches together may take, in bytes."""
    return settings.get(QUOTA, DEFAULT_QUOTA_BYTES, valid=lambda size: size >= LEAST_BYTES)


class Storage(QObject):
    """`changed`: a file was written, read or removed."""

    changed = Signal()

    def __init__(
        self, library: Library, engine: EngineLink, chat: Chat, settings: Settings, notices: NoticeBar, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._library, self._engine, self._chat = library, engine, chat
        self._settings, self._notices = settings, notices
        self.discarding = Discarding(engine, chat, settings, notices, self)
        self.discarding.changed.connect(self.changed)
        engine.event_emitted.connect(self.on_engine_event)  # after the chat's, which writes down what it hears
        engine.submit(ev.LimitSnapshots(self.quota_bytes))

    @property
    def quota_bytes(self) -> int:
        return quota(self._settings)

    def set_quota(self, size_bytes: int) -> None:
        self._settings.set(QUOTA, size_bytes)
        self._engine.submit(ev.LimitSnapshots(size_bytes))

    def files(self) -> list[StoredCache]:
        """The largest first."""
        return [file for file in self._library.caches.all() if file.conversation not in self.discarding.waiting]

    def title(self, conversation_id: str) -> str:
        try:
            return self._library.conversation(conversation_id).title or self.tr("New conversation")
        except KeyError:
            return self.tr("A deleted conversation")

    def discard(self, conversations: Collection[str]) -> None:
        """The text stays. Can be undone, but where a reply is being written: that ends first."""
        answering = self._chat.answering.conversation
        if answering in conversations:
            self._engine.submit(ev.DiscardCache(answering))
        if titles := {one: self.title(one) for one in conversations if one != answering}:
            self.discarding.discard(titles)

    def discard_all(self) -> None:
        self.discarding.carry_out()
        self._engine.submit(ev.DiscardAllCaches())

    def tell_unsaved(self) -> None:
        """Whose caches there was no time for when the program ended last time."""
        ids = self._unsaved()
        titles = [formats.short(c.title) for c in self._library.conversations() if c.id in ids]
        if titles:
            words = self.tr(
                "When the program ended there was no time to save the cache of “{0}”. The text is whole; the next "
                "reply reads it again."
            )
            self._notices.show_notice(words.format("”, “".join(titles)))
            self._settings.set(UNSAVED, [])

    def _unsaved(self) -> list[str]:
        none: list[str] = []
        return self._settings.get(UNSAVED, none)

    def on_engine_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.SnapshotSaved | ev.SnapshotLoaded | ev.SnapshotsRemoved):
            self.changed.emit()
        elif isinstance(event, ev.SnapshotNotSaved) and event.at_end:
            self._settings.set(UNSAVED, [*self._unsaved(), event.conversation_id])
