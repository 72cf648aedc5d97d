"""The hub for the window: commands in, events out through one signal, as with the engine's thread.

One thread takes the commands in order; what asks the network goes on in a thread of its own. None of it touches MLX.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.errors import AppError
from app.hub_events import (
    CancelDownload,
    CheckAccount,
    Curate,
    CuratedModels,
    Describe,
    DescribeFailed,
    Download,
    DownloadStatus,
    HubCommand,
    HubEvent,
    ModelDescribed,
    ModelsFound,
    PauseDownload,
    Search,
    SearchFailed,
    SetToken,
)

if TYPE_CHECKING:
    from app.engine.hub.accounts import Account
    from app.engine.hub.catalogue import Hub
    from app.engine.hub.downloads import Downloads

log = logging.getLogger(__name__)


class HubService(QObject):
    """`event_emitted(object)` carries app.hub_events' events. Connect it to a bound method of the window's thread."""

    event_emitted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands: SimpleQueue[HubCommand | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)
        self._downloads: Downloads | None = None
        self._newest: Search | None = None  # answers to older searches aren't told

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        """Every download as it stands, in the queue's order."""
        return self._downloads.statuses if self._downloads else ()

    def start(self) -> None:
        """Go on with the downloads that were left. Call it when the window is on screen: imports take a while."""
        self._thread.start()

    def submit(self, command: HubCommand) -> None:
        """Returns at once; events follow."""
        if isinstance(command, Search):
            self._newest = command
        self._commands.put(command)

    def shutdown(self, timeout_s: float = 2.0) -> None:
        """Stop the downloads where they are, within about `timeout_s` seconds; the next start goes on."""
        self._commands.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if self._downloads is not None:
            self._downloads.shutdown(timeout_s)

    # ------------------------------------------------------------ in the hub's thread

    def _run(self) -> None:
        # Imported here: the window must be on screen before huggingface_hub is loaded.
        from app.engine.hub.accounts import Account
        from app.engine.hub.catalogue import Hub
        from app.engine.hub.download_job import Tools
        from app.engine.hub.downloads import Downloads

        account = Account()
        hub = Hub(account.token)
        self._downloads = downloads = Downloads(self._emit, Tools(hub, account.token))
        downloads.start()
        while (command := self._commands.get()) is not None:
            match command:
                case Download(repo_id):
                    downloads.download(repo_id)
                case PauseDownload(repo_id):
                    downloads.pause(repo_id)
                case CancelDownload(repo_id):
                    downloads.cancel(repo_id)
                case _:
                    # A daemon: a server that hangs mustn't keep the process alive, nor the next command waiting.
                    threading.Thread(
                        target=self._ask, args=(hub, account, command), name="hub-ask", daemon=True
                    ).start()

    def _emit(self, event: HubEvent) -> None:
        try:
            self.event_emitted.emit(event)
        except RuntimeError:  # the window, and this with it, is gone
            log.info("nobody is left to hear of the hub")

    # ------------------------------------------------------------ in a thread of its own

    def _ask(self, hub: Hub, account: Account, command: HubCommand) -> None:
        from app.engine.hub.errors import explain

        try:
            self._answer(hub, account, command)
        except Exception as error:  # caught here, for whatever it is: somebody waits for an answer
            if not isinstance(error, AppError):
                log.exception("a question to the hub failed")
            self._failed(account, command, explain(error))

    def _answer(self, hub: Hub, account: Account, command: HubCommand) -> None:
        match command:
            case Search():
                self._search(hub, command)
            case Curate():
                self._curate(hub)
            case Describe(repo_id):
                self._emit(ModelDescribed(hub.describe(repo_id)))
            case CheckAccount(ask_hub):
                self._emit(account.status(ask_hub=ask_hub))
            case SetToken(token):
                account.set(token)
                self._emit(account.status(ask_hub=bool(token)))

    def _failed(self, account: Account, command: HubCommand, error: AppError) -> None:
        match command:
            case Search(query):
                if self._newest is command:
                    self._emit(SearchFailed(query, error))
            case Curate():
                log.info("the list of models stays without the hub's facts: %s", error.message)
            case Describe(repo_id):
                self._emit(DescribeFailed(repo_id, error))
            case _:
                self._emit(replace(account.status(), error=error))

    def _search(self, hub: Hub, command: Search) -> None:
        query = command.query
        rows = hub.search(query)
        if self._newest is command:
            self._emit(ModelsFound(query, tuple(rows), complete=False))
            rows = hub.look_closer(rows)
        if query.hide_unsupported:
            rows = [row for row in rows if row.support != "unsupported"]
        if self._newest is command:
            self._emit(ModelsFound(query, tuple(rows), complete=True))

    def _curate(self, hub: Hub) -> None:
        from app.engine.hub import curated

        rows = curated.models()
        self._emit(CuratedModels(tuple(rows), complete=False))
        self._emit(CuratedModels(tuple(hub.look_closer(hub.facts(rows))), complete=True))
