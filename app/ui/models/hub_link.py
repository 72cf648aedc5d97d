"""The hub as the window knows it: its events as signals, and what was heard last of downloads and account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from app import hub_events as hv


class HubLink(Protocol):
    """What the window asks of the hub's service; the tests' scripted one has the same."""

    event_emitted: Any

    @property
    def downloads(self) -> tuple[hv.DownloadStatus, ...]: ...

    def submit(self, command: hv.HubCommand) -> None: ...

    def shutdown(self, timeout_s: float = 2.0) -> None: ...


class Hub(QObject):
    """`ask(command)`; each event comes back as one of the signals, named after it.

    `downloads` holds what is known of each, in queue order; `account` is None until it was asked for.
    """

    models_found = Signal(object)
    search_failed = Signal(object)
    curated = Signal(object)
    described = Signal(object)
    describe_failed = Signal(object)
    download_changed = Signal(object)  # DownloadStatus
    download_ended = Signal(object)  # DownloadStatus, done or failed, of one that was under way
    download_removed = Signal(str)
    account_changed = Signal(object)

    def __init__(self, link: HubLink, parent: QObject) -> None:
        super().__init__(parent)
        self._link = link
        self.downloads: dict[str, hv.DownloadStatus] = {status.repo_id: status for status in link.downloads}
        self.account: hv.AccountStatus | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            hv.ModelsFound: self.models_found.emit,
            hv.SearchFailed: self.search_failed.emit,
            hv.CuratedModels: self.curated.emit,
            hv.ModelDescribed: self.described.emit,
            hv.DescribeFailed: self.describe_failed.emit,
            hv.DownloadStatus: self._download_status,
            hv.DownloadRemoved: self._download_removed,
            hv.AccountStatus: self._account_status,
        }
        link.event_emitted.connect(self.on_event)

    def ask(self, command: hv.HubCommand) -> None:
        self._link.submit(command)

    def shutdown(self) -> None:
        """Downloads stop where they are; the next start goes on with them."""
        self._link.shutdown()

    def on_event(self, event: hv.HubEvent) -> None:
        self._handlers[type(event)](event)

    def _download_status(self, status: hv.DownloadStatus) -> None:
        before = self.downloads.get(status.repo_id)
        self.downloads[status.repo_id] = status
        self.download_changed.emit(status)
        if before is not None and before.active and status.state in ("done", "failed"):
            self.download_ended.emit(status)

    def _download_removed(self, event: hv.DownloadRemoved) -> None:
        self.downloads.pop(event.repo_id, None)
        self.download_removed.emit(event.repo_id)

    def _account_status(self, status: hv.AccountStatus) -> None:
        self.account = status
        self.account_changed.emit(status)
