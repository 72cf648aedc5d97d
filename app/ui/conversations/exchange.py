"""Conversations out of the window and into it: the dialogs, the work beside them, and what is said of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app import events as ev
from app import paths
from app.errors import AppError
from app.library import exchange
from app.library.archive import ENDING, CachePart
from app.library.conversations import Library
from app.library.exchange import JSON, MARKDOWN, Imported
from app.library.snapshots import SnapshotStore
from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.conversations.storage import Storage
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.actions import Actions
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.turn import EngineLink
from app.work.tasks import Tasks

FOLDER = "exchange_folder"  # setting: where the last file was
SAID_S = 8.0
END_S = 1.0
_NAME_LETTERS = 60

T = TypeVar("T")


@dataclass
class _Job:
    """One export or import in a thread of its own."""

    words: str = ""  # of the notice that stands meanwhile
    cancel: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def do(self, work: Callable[[Callable[[], bool]], T]) -> T:
        try:
            return work(self.cancel.is_set)
        finally:
            self.ended.set()


class Exchange(QObject):
    """`opened`: an imported conversation comes on screen."""

    opened = Signal()

    def __init__(self, library: Library, engine: EngineLink, chat: Chat, models: ModelLink, storage: Storage,
                 settings: Settings, actions: Actions, notices: NoticeBar, window: QWidget) -> None:  # fmt: skip
        super().__init__(window)
        self._library, self._engine, self._chat, self._models = library, engine, chat, models
        self._storage, self._settings, self._notices, self._window = storage, settings, notices, window
        self._tasks = Tasks(self)
        self._jobs: list[_Job] = []
        self._waiting: dict[str, Path] = {}  # conversation whose cache is being packed → where it goes
        self._adopting: dict[str, str] = {}  # conversation → title
        actions.export_markdown.triggered.connect(self.on_markdown)
        actions.export_json.triggered.connect(self.on_json)
        actions.export_chat.triggered.connect(self.on_chat)
        actions.import_.triggered.connect(self.on_import)
        engine.event_emitted.connect(self.on_engine_event)

    def fill(self, menu: QMenu, conversation_id: str) -> None:
        """What can be done with a conversation of the list."""
        part = QMenu(self.tr("Export"), menu)  # a parent of its own: else it ends with this call
        menu.addMenu(part)
        part.addAction(self.tr("As Markdown…"), partial(self.ask, conversation_id, MARKDOWN))
        part.addAction(self.tr("As JSON…"), partial(self.ask, conversation_id, JSON))
        part.addAction(self.tr("With its cache…"), partial(self.ask, conversation_id, ENDING))

    # ------------------------------------------------------------ out

    def on_markdown(self) -> None:
        self.ask(self._chat.current, MARKDOWN)

    def on_json(self) -> None:
        self.ask(self._chat.current, JSON)

    def on_chat(self) -> None:
        self.ask(self._chat.current, ENDING)

    def ask(self, conversation_id: str, ending: str) -> None:
        """Where to, then export it there."""
        if not conversation_id:
            return
        if ending == ENDING and self._chat.answering.conversation == conversation_id:
            self._notices.show_notice(
                self.tr(
                    "A reply is being written in this conversation. Its cache can be exported when that has ended; the "
                    "text, as far as it is, goes out as Markdown or JSON at any time."
                ),
                timeout_s=SAID_S,
            )
            return
        title = self._library.conversation(conversation_id).title
        kind = {
            MARKDOWN: self.tr("Markdown (*.md)"),
            JSON: self.tr("JSON (*.json)"),
            ENDING: self.tr("Conversation with its cache (*.turbochat)"),
        }[ending]
        proposed = str(self._folder() / (file_name(title) + ending))
        chosen, _ = QFileDialog.getSaveFileName(self._window, self.tr("Export the conversation"), proposed, kind)
        if chosen:
            target = Path(chosen)
            self.export(conversation_id, target if target.suffix == ending else target.with_name(target.name + ending))

    def export(self, conversation_id: str, target: Path) -> None:
        """The target's ending says how."""
        self._settings.set(FOLDER, str(target.parent))
        if target.suffix == ENDING:
            self._storage.discarding.carry_out()  # what was discarded doesn't go out
            self._waiting[conversation_id] = target
            if self._chat.answering.conversation:
                words = self.tr("The export is written when the reply has ended that is being made.")
                self._notices.show_notice(words, timeout_s=SAID_S)
            self._engine.submit(ev.PackCache(conversation_id))
        else:
            self._write(conversation_id, target, ())

    def _cache_packed(self, event: ev.CachePacked) -> None:
        target = self._waiting.pop(event.conversation_id, None)
        if target is not None:
            shown = {message.id for message in self._library.messages(event.conversation_id)}
            serving = [file for file in event.files if file.tip in shown or not file.tip]
            caches = tuple(
                CachePart(Path(file.path), file.tip, file.fingerprint, file.scheme, file.tokens) for file in serving[:1]
            )
            self._write(event.conversation_id, target, caches)

    def _write(self, conversation_id: str, target: Path, caches: tuple[CachePart, ...]) -> None:
        job = self._begin(self.tr("Exporting to {0}…").format(target.name) if caches else "")
        work = partial(_exported, self._library.path, conversation_id, target, caches)
        self._tasks.run(partial(job.do, work), self.on_exported, self.on_failed)

    def on_exported(self, done: tuple[Path, int, bool]) -> None:
        target, size, cached = done
        self._end()
        words = self.tr("Exported: {0}, {1}").format(paths.shown(target), formats.data_size(size))
        if target.suffix == ENDING and not cached:
            words += ". " + self.tr("It holds the text only: no cache of this conversation is saved.")
        show = partial(self._show_folder, target.parent)
        self._notices.show_notice(words, self.tr("Show the folder"), show, timeout_s=SAID_S)

    def _show_folder(self, folder: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    # ------------------------------------------------------------ in

    def on_import(self) -> None:
        kinds = self.tr("Conversations (*.turbochat *.json)")
        chosen, _ = QFileDialog.getOpenFileNames(
            self._window, self.tr("Import conversations"), str(self._folder()), kinds
        )
        self.import_files(Path(file) for file in chosen)

    def import_files(self, files: Iterable[Path]) -> None:
        """Each becomes a new conversation; the last one that is read comes on screen."""
        model = self._models.model
        fingerprint = model.fingerprint if model and not self._models.loading else ""
        store = SnapshotStore(paths.snapshots_dir())
        for file in files:
            self._settings.set(FOLDER, str(file.parent))
            job = self._begin(self.tr("Importing {0}…").format(file.name))
            work = partial(_imported, self._library.path, file, store, fingerprint, self._storage.quota_bytes)
            self._tasks.run(partial(job.do, work), self.on_imported, self.on_failed)

    def on_imported(self, done: Imported) -> None:
        self._end()
        title = formats.short(done.title or self.tr("New conversation"))
        words = self.tr("“{0}” was imported.").format(title)
        if done.left_out:
            words += " " + self._left_out(done.left_out)
        self._notices.show_notice(words, timeout_s=SAID_S)
        for cache in done.caches:
            self._adopting[done.conversation] = title
            self._engine.submit(ev.AdoptCache(done.conversation, cache.message, str(cache.path)))
        self._chat.open(done.conversation)
        self.opened.emit()

    def _left_out(self, reason: str) -> str:
        words = self.tr("Its cache was left out: {0}. The next reply reads the text again.")
        return words.format(reason.rstrip("."))

    def _cache_adopted(self, event: ev.CacheAdopted) -> None:
        title = self._adopting.pop(event.conversation_id, "")
        if event.reason:
            self._notices.show_notice(f"“{title}”: {self._left_out(event.reason)}", trouble=True)

    # ------------------------------------------------------------ what runs

    def _begin(self, words: str) -> _Job:
        job = _Job(words)
        self._jobs.append(job)
        if words:
            self._notices.show_notice(words, self.tr("Cancel"), partial(self._cancel, job))
        return job

    def _cancel(self, job: _Job) -> None:
        job.cancel.set()

    def _end(self) -> None:
        for job in [job for job in self._jobs if job.ended.is_set()]:
            self._jobs.remove(job)
            self._notices.dismiss(job.words)

    def on_failed(self, error: AppError) -> None:
        self._end()
        self._notices.show_notice(str(error), trouble=True)

    def shutdown(self) -> None:
        """Give up what runs: it leaves nothing half."""
        for job in self._jobs:
            job.cancel.set()
        for job in self._jobs:
            job.ended.wait(END_S)

    def _folder(self) -> Path:
        folder = Path(self._settings.get(FOLDER, ""))
        return folder if folder.is_absolute() and folder.is_dir() else Path.home()

    def on_engine_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.CachePacked):
            self._cache_packed(event)
        elif isinstance(event, ev.CacheAdopted):
            self._cache_adopted(event)


def file_name(title: str) -> str:
    """A title as every system takes it for a name."""
    plain = re.sub(r'[\x00-\x1f<>:"/\\|?*]+', " ", title)
    return " ".join(plain.split())[:_NAME_LETTERS].strip(" .") or "conversation"


def _exported(
    library: Path, conversation_id: str, target: Path, caches: tuple[CachePart, ...], cancelled: Callable[[], bool]
) -> tuple[Path, int, bool]:
    return target, exchange.export(library, conversation_id, target, caches, cancelled), bool(caches)


def _imported(
    library: Path, source: Path, store: SnapshotStore, fingerprint: str, quota: int, cancelled: Callable[[], bool]
) -> Imported:
    """A cache of another model than the one at hand is left out; where that isn't known yet, the engine looks at it."""

    def wanted(made_by: str) -> bool:
        return not fingerprint or made_by == fingerprint

    return exchange.bring_in(library, source, store.incoming, wanted, quota, cancelled)
