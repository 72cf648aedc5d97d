"""The queue of downloads: a few at once, kept on disk, in a thread of its own that any moment can stop.

Its thread runs an asyncio loop; every download is a task in it, so that stopping one never waits for a server. What
has come stays on disk under its checksum, so a download goes on after a pause, a crash or a kill.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from app import paths
from app.engine.hub.download_job import DownloadJob, Tools
from app.engine.hub.errors import explain
from app.engine.hub.fetching import HubLoop
from app.errors import AppError, HubError
from app.hub_events import DownloadRemoved, DownloadStatus, HubFile

log = logging.getLogger(__name__)

_VERSION = 1
_TICK_S = 0.25

Tell = Callable[[DownloadStatus | DownloadRemoved], None]


class Downloads:
    """`tell` hears every change, in the queue's thread. Any thread may call the methods; they return at once."""

    def __init__(self, tell: Tell, tools: Tools, queue_file: Path | None = None, at_once: int = 2) -> None:
        self._tell_out, self._tools, self._at_once = tell, tools, at_once
        self._file = queue_file or paths.data_dir() / "downloads.json"
        self._loop = HubLoop()
        self._thread = threading.Thread(target=self._run, name="downloads", daemon=True)
        # Below: the thread's own.
        self._jobs: dict[str, DownloadJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._statuses: dict[str, DownloadStatus] = {}
        self._ticking = self._closing = False
        self._writable = True

    @property
    def statuses(self) -> tuple[DownloadStatus, ...]:
        """As of the last change, in the queue's order."""
        return tuple(self._statuses.values())

    def start(self) -> None:
        """Begin, with what was left unfinished last time: what ran goes on, what was paused waits."""
        self._thread.start()

    def download(self, repo_id: str) -> None:
        """Queue it; a paused or failed one goes on."""
        self._call(self._download, repo_id)

    def pause(self, repo_id: str) -> None:
        self._call(self._pause, repo_id)

    def cancel(self, repo_id: str) -> None:
        """Stop it and delete what came; a finished one only leaves the list."""
        self._call(self._cancel, repo_id)

    def shutdown(self, timeout_s: float = 2.0) -> None:
        """Stop everything where it is; the next start goes on."""
        self._call(self._close)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _call(self, action: Callable[..., None], *arguments: str) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action, *arguments)

    # ------------------------------------------------------------ in the thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._restore()
        self._loop.run_forever()
        self._loop.run_until_complete(asyncio.gather(*self._tasks.values(), return_exceptions=True))
        self._loop.close()

    def _close(self) -> None:
        self._closing = True
        for task in self._tasks.values():
            task.cancel()
        self._loop.stop()

    def _download(self, repo_id: str) -> None:
        job = self._jobs.get(repo_id)
        if job is None or job.state == "done":  # once more: its newest version
            job = self._jobs[repo_id] = DownloadJob(repo_id, self._tools)
        elif job.state == "running":
            return
        job.state, job.error = "queued", None
        self._changed(job)
        self._begin_next()

    def _pause(self, repo_id: str) -> None:
        job = self._jobs.get(repo_id)
        if job is not None and job.state in ("queued", "running"):
            job.state = "paused"
            self._stop(job)

    def _cancel(self, repo_id: str) -> None:
        job = self._jobs.pop(repo_id, None)
        if job is not None:
            self._stop(job)

    def _stop(self, job: DownloadJob) -> None:
        """End its task, if it has one, and settle what follows; a cancelled task ends within this turn of the loop."""
        if task := self._tasks.get(job.repo_id):
            task.cancel()
        else:
            self._settle(job)

    def _begin_next(self) -> None:
        if self._closing:
            return
        for job in self._jobs.values():
            if job.state == "queued" and len(self._tasks) < self._at_once and job.repo_id not in self._tasks:
                job.state = "running"
                self._tasks[job.repo_id] = task = self._loop.create_task(self._perform(job))
                # Not at the end of _perform: a task that is cancelled before its first step never gets there.
                task.add_done_callback(partial(self._ended, job))
                self._changed(job)
        if self._tasks and not self._ticking:
            self._ticking = True
            self._loop.call_later(_TICK_S, self._tick)

    async def _perform(self, job: DownloadJob) -> None:
        try:
            await job.run(partial(self._changed, job), partial(self._promised_bytes, job))
            job.state = "done"
        except asyncio.CancelledError:
            pass  # whoever cancelled it has said what it is now
        except Exception as error:
            job.state, job.error = "failed", explain(error, job.repo_id, token=job.with_token)
            if not isinstance(error, AppError):
                log.warning("the download of %s failed: %s", job.repo_id, job.error.detail)

    def _promised_bytes(self, job: DownloadJob) -> int:
        """What the other running downloads will still take of the disk."""
        return sum(
            self._jobs[repo_id].missing_bytes for repo_id in self._tasks if self._jobs.get(repo_id, job) is not job
        )

    def _ended(self, job: DownloadJob, _: asyncio.Task[None]) -> None:
        del self._tasks[job.repo_id]
        self._settle(job)

    def _settle(self, job: DownloadJob) -> None:
        """A job has come to rest: tell it, and let the next one begin."""
        if self._jobs.get(job.repo_id) is job:
            self._changed(job)
        else:
            self._remove(job)
        self._begin_next()

    def _remove(self, job: DownloadJob) -> None:
        if job.state != "done":
            try:
                job.withdraw()
            except OSError as error:
                log.warning("something of %s couldn't be deleted: %s", job.repo_id, error)
        if job.repo_id not in self._jobs:  # else it has been asked for again in the meantime
            self._statuses = {name: status for name, status in self._statuses.items() if name != job.repo_id}
            self._save()
            self._tell_out(DownloadRemoved(job.repo_id))

    def _tick(self) -> None:
        for repo_id in self._tasks:
            job = self._jobs.get(repo_id)
            if job is not None:
                job.sample()
                self._tell(job)
        self._ticking = bool(self._tasks)
        if self._ticking:
            self._loop.call_later(_TICK_S, self._tick)

    def _changed(self, job: DownloadJob) -> None:
        self._tell(job)
        self._save()

    def _tell(self, job: DownloadJob) -> None:
        status = job.status()
        self._statuses = {**self._statuses, job.repo_id: status}  # replaced, since other threads read it
        self._tell_out(status)

    # ------------------------------------------------------------ on disk

    def _save(self) -> None:
        """The queue without what is done. One that can't be written costs its order, and no bytes."""
        if not self._writable:
            return
        entries = [_entry(job) for job in self._jobs.values() if job.state != "done"]
        content = json.dumps({"version": _VERSION, "downloads": entries}, indent=1).encode()
        try:
            paths.write_atomic(self._file, content)
        except OSError as error:
            log.warning("the queue of downloads couldn't be written: %s", error)

    def _restore(self) -> None:
        for job in self._read():
            self._jobs[job.repo_id] = job
            self._tell(job)
        self._begin_next()

    def _read(self) -> list[DownloadJob]:
        try:
            document = json.loads(self._file.read_bytes())
            if document["version"] > _VERSION:
                self._writable = False  # a later version's: left as it is
                return []
            return [_job(entry, self._tools) for entry in document["downloads"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            # What has come is found again by its checksum as soon as somebody asks for the model.
            log.warning("the queue of downloads can't be read: %r", error)
            return []


def _entry(job: DownloadJob) -> dict[str, Any]:
    state = job.state if job.state in ("paused", "failed") else "queued"
    return {
        "repo_id": job.repo_id,
        "state": state,
        "commit": job.commit,
        "files": [asdict(file) for file in job.files],
        "error": asdict(job.error) if job.error else None,
    }


def _job(entry: dict[str, Any], tools: Tools) -> DownloadJob:
    job = DownloadJob(entry["repo_id"], tools, entry["commit"], [HubFile(**file) for file in entry["files"]])
    if entry["state"] in ("paused", "failed"):
        job.state = entry["state"]
    if entry["error"]:
        job.error = HubError(**entry["error"])
    return job
