"""To drive the real downloads against the loopback hub, and to look at what they left on the disk."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from huggingface_hub import constants

from app.engine import model_folder
from app.engine.hub.catalogue import Hub
from app.engine.hub.download_job import Tools
from app.engine.hub.downloads import Downloads
from app.engine.hub.fetching import Patience
from app.hub_events import DownloadRemoved, DownloadStatus
from tests.faults.hub_repos import Repo

QUICK = Patience(attempts=3, first_wait_s=0.01, longest_wait_s=0.05, asked_wait_s=5.0)
STALLING = replace(QUICK, stall_s=0.4)


class Driver:
    """The queue, everything that it told, and waiting for it: `with Driver(tmp_path) as driver:`."""

    def __init__(self, home: Path, *, token: str | None = None, patience: Patience = QUICK, **queue: Any) -> None:
        self.told: list[DownloadStatus | DownloadRemoved] = []
        self._news = threading.Condition()
        tools = Tools(Hub(lambda: token), lambda: token, patience=patience, margin_bytes=queue.pop("margin_bytes", 0))
        self.queue = Downloads(self._hear, tools, home / "downloads.json", **queue)

    def __enter__(self) -> Driver:
        self.queue.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.shutdown()

    def _hear(self, event: DownloadStatus | DownloadRemoved) -> None:
        with self._news:
            self.told.append(event)
            self._news.notify_all()

    def last(self, repo_id: str) -> DownloadStatus | DownloadRemoved | None:
        return next((event for event in reversed(self.told) if event.repo_id == repo_id), None)

    def wait(self, reached: Callable[[], bool], timeout_s: float = 60.0) -> None:
        with self._news:
            assert self._news.wait_for(reached, timeout_s), self.told[-3:]

    def until(self, repo_id: str, *states: str) -> DownloadStatus:
        """Wait until the download is in one of these states."""

        def there() -> bool:
            last = self.last(repo_id)
            return isinstance(last, DownloadStatus) and last.state in states

        self.wait(there)
        last = self.last(repo_id)
        assert isinstance(last, DownloadStatus)
        return last

    def until_removed(self, repo_id: str) -> None:
        self.wait(lambda: isinstance(self.last(repo_id), DownloadRemoved))

    def download(self, repo_id: str) -> DownloadStatus:
        """Ask for it and wait for its end."""
        begun = len(self.told)
        self.queue.download(repo_id)
        self.wait(lambda: any(getattr(event, "state", "") == "queued" for event in self.told[begun:]))
        return self.until(repo_id, "done", "failed")


def cached(repo_id: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / f"models--{repo_id.replace('/', '--')}"


def check_whole(repo: Repo, path: str) -> None:
    """What is installed is, byte for byte, what the hub has."""
    folder = Path(path)
    assert folder.name == repo.commit
    assert model_folder.require(folder)
    names = {name for name in repo.files if name not in (".gitattributes", "README.md")}
    assert {file.name for file in folder.iterdir()} == names
    for name in names:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == repo.files[name].sha256, name
    assert not list(cached(repo.repo_id).rglob("*.incomplete"))
    assert not list(cached(repo.repo_id).rglob("*.tmp"))


def check_nothing_counts(repo: Repo) -> None:
    """Nothing in the cache looks like a model."""
    assert not list(cached(repo.repo_id).glob("snapshots/*/config.json"))
