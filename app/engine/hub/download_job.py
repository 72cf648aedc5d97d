"""One model's download, from its listing to the moment it counts as installed."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from huggingface_hub import constants, get_async_session, hf_hub_url
from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils import build_hf_headers

from app.engine import model_folder, support
from app.engine.hub.cache import CachedModel
from app.engine.hub.catalogue import Hub
from app.engine.hub.fetching import Fetcher, Patience, Progress, Retries, in_thread, size_of, verified
from app.errors import AppError, HubError
from app.hub_events import DownloadState, DownloadStatus, FileProgress, HubFile
from app.paths import shown
from app.words import say, size

_FILES_AT_ONCE = 3
_SPEED_WINDOW_S = 3.0
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class Tools:
    """What every job uses. `cache` is the hub cache (None: HF_HUB_CACHE); `margin_bytes` of its disk stay free."""

    hub: Hub
    token: Callable[[], str | None]
    cache: Path | None = None
    patience: Patience = field(default_factory=Patience)
    margin_bytes: int = 1 << 30


class DownloadJob:
    """Lives in the downloads' thread. `run` may be cancelled at any moment and begun again."""

    def __init__(self, repo_id: str, tools: Tools, commit: str = "", files: Iterable[HubFile] = ()) -> None:
        self.repo_id = repo_id
        self.state: DownloadState = "queued"
        self.error: AppError | None = None
        self.with_token = False
        self.commit, self.files = commit, tuple(files)
        self._tools = tools
        self._model = CachedModel(repo_id, tools.cache)
        self._have = {file.name: self._on_disk(file) for file in self.files}
        self._verified: set[str] = set()
        self._verifying: set[str] = set()
        self._fetching: dict[str, str] = {}  # name → why it waits
        self._note = ""
        self._path = ""
        self._speed = _Speed()

    # ------------------------------------------------------------ what it tells

    def status(self) -> DownloadStatus:
        running = self.state == "running"
        speed = self._speed.bytes_per_s() if running else 0.0
        done = sum(self._have.values())
        total = sum(file.size_bytes for file in self.files) if self.files else None
        state = "verifying" if running and self._verifying and not self._fetching else self.state
        note = self._note or next((reason for reason in self._fetching.values() if reason), "")
        return DownloadStatus(
            self.repo_id,
            state,
            done_bytes=done,
            total_bytes=total,
            files=tuple(
                FileProgress(file.name, self._have.get(file.name, 0), file.size_bytes, file.name in self._verified)
                for file in self.files
            ),
            speed_bytes_per_s=speed,
            eta_s=(total - done) / speed if total is not None and speed else None,
            note=note if running else "",
            error=self.error,
            path=self._path if self.state == "done" else "",
        )

    def sample(self) -> None:
        """Called a few times a second: the speed is what came in between."""
        self._speed.sample()

    # ------------------------------------------------------------ what it does

    @property
    def missing_bytes(self) -> int:
        return sum(file.size_bytes - self._have.get(file.name, 0) for file in self.files)

    async def run(self, on_planned: Callable[[], None], promised_bytes: Callable[[], int]) -> None:
        """Fetch, verify and publish; `on_planned()` when commit and files are known, and so worth keeping.

        `promised_bytes()` is what others will still take of the disk.
        Raises HubError, AppError, OSError or what huggingface_hub and its client raise; what has come is kept.
        """
        self._verified.clear()
        self._speed = _Speed()
        try:
            planned = bool(self.files)
            if not planned:
                await self._plan(on_planned)
            try:
                await self._fetch_model(promised_bytes())
            except (RevisionNotFoundError, EntryNotFoundError):
                if not planned:  # an old plan may be of a version that is gone; files that stayed are found again
                    raise
                await self._plan(on_planned)
                await self._fetch_model(promised_bytes())
        finally:
            self._note = ""
            self._fetching.clear()
            self._verifying.clear()

    def withdraw(self) -> None:
        """Delete what came of it, except what an installed model uses."""
        self._model.withdraw(self.files)
        self._have = {}

    async def _plan(self, on_planned: Callable[[], None]) -> None:
        self._note = say("Asking the hub…")
        retries = Retries(self._tools.patience, self._set_note)
        while True:
            try:
                self.commit, self.files = await in_thread(lambda: self._tools.hub.plan(self.repo_id))
                break
            except HubError as error:
                await retries.after(error)
        self._note = ""
        self._have = {file.name: self._on_disk(file) for file in self.files}
        on_planned()

    async def _fetch_model(self, promised_bytes: int) -> None:
        self._model.prepare()
        self._have = {file.name: self._on_disk(file) for file in self.files}
        self._check_room(promised_bytes)
        token = await in_thread(self._tools.token)
        self.with_token = bool(token)
        weights = [file for file in self.files if file.name.endswith(".safetensors")]
        async with get_async_session() as client:
            fetcher = Fetcher(client, build_hf_headers(token=token or False), self._tools.patience)
            # What tells whether the model can run at all comes before what is large.
            await self._fetch_all(fetcher, [file for file in self.files if file not in weights])
            self._judge()
            await self._fetch_all(fetcher, weights)
        # Not in a thread: one that outlived a cancel would make a model of files that are being deleted.
        folder = self._model.publish(self.commit, self.files)
        model_folder.require(folder)
        self._path = str(folder)

    async def _fetch_all(self, fetcher: Fetcher, files: Iterable[HubFile]) -> None:
        free = asyncio.Semaphore(_FILES_AT_ONCE)
        alike: dict[Path, list[HubFile]] = {}  # of the same bytes, which are fetched once
        for file in files:
            alike.setdefault(self._model.blob(file), []).append(file)

        async def one(twins: list[HubFile]) -> None:
            async with free:
                await self._fetch_one(fetcher, twins[0])
                for file in twins:
                    self._on_verified(file)

        try:
            async with asyncio.TaskGroup() as group:  # a failure ends the others too
                for twins in alike.values():
                    group.create_task(one(twins))
        except* Exception as failures:
            raise _first(failures) from None

    async def _fetch_one(self, fetcher: Fetcher, file: HubFile) -> None:
        progress = Progress(
            received=partial(self._on_received, file.name),
            waiting=partial(self._fetching.__setitem__, file.name),
            verifying=partial(self._on_verifying, file.name),
        )
        blob = self._model.blob(file)
        if blob.is_file():  # ours, or another program's, or damaged since
            progress.verifying()
            if await verified(blob, file):
                return
            blob.unlink()
        self._fetching[file.name] = ""
        url = hf_hub_url(self.repo_id, file.name, revision=self.commit, endpoint=constants.ENDPOINT)
        await fetcher.fetch(url, file, self._model.partial(file), progress)
        await in_thread(partial(self._model.flush, file))
        self._model.accept(file)

    def _judge(self) -> None:
        """Raises HubError for a model that couldn't run, before its weights are fetched."""
        blobs = {file.name: self._model.blob(file) for file in self.files}
        if "config.json" not in blobs:
            raise _unusable(self.repo_id, say("It has no config.json."))
        try:
            config = json.loads(blobs["config.json"].read_bytes())
            index = json.loads(blobs[_INDEX].read_bytes())["weight_map"] if _INDEX in blobs else {}
            shards = set(index.values())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _unusable(self.repo_id, say("Its config.json or its list of weights can't be read.")) from None
        if not isinstance(config, dict):
            raise _unusable(self.repo_id, say("Its config.json isn't an object."))
        if reason := support.unsupported(config, blobs.keys()):
            raise _unusable(self.repo_id, reason)
        if missing := shards - blobs.keys():
            raise _unusable(
                self.repo_id, say("{0} of its {1} weight files aren't on the hub.", len(missing), len(shards))
            )

    def _check_room(self, promised_bytes: int) -> None:
        needed, kept_free = self.missing_bytes, self._tools.margin_bytes
        free = shutil.disk_usage(self._model.folder).free - promised_bytes
        if needed and needed + kept_free > free:
            figures = self.repo_id, size(needed), size(max(0, free)), size(kept_free)
            raise HubError(
                say(
                    "There isn't room for {0}: {1} are still to come, and when other downloads are complete, the disk "
                    "has {2} left, of which {3} stay free. What has come is kept.",
                    *figures,
                )
                if promised_bytes
                else say(
                    "There isn't room for {0}: {1} are still to come, and the disk has {2} left, of which {3} stay "
                    "free. What has come is kept.",
                    *figures,
                ),
                say(
                    "Make room on the disk of {0}, then go on; or set HF_HUB_CACHE to another disk.",
                    shown(self._model.cache),
                ),
                kind="disk",
            )

    def _on_disk(self, file: HubFile) -> int:
        whole = size_of(self._model.blob(file))
        return min(whole or size_of(self._model.partial(file)), file.size_bytes)

    # ------------------------------------------------------------ a file's progress

    def _on_received(self, name: str, there: int) -> None:
        self._speed.came += max(0, there - self._have[name])
        self._have[name] = there
        self._verifying.discard(name)
        self._fetching.setdefault(name, "")

    def _on_verifying(self, name: str) -> None:
        self._fetching.pop(name, None)
        self._verifying.add(name)

    def _on_verified(self, file: HubFile) -> None:
        self._verifying.discard(file.name)
        self._verified.add(file.name)
        self._have[file.name] = file.size_bytes

    def _set_note(self, note: str) -> None:
        self._note = note


class _Speed:
    """Bytes a second over the last few seconds; it falls to 0 when nothing comes."""

    def __init__(self) -> None:
        self.came = 0
        self._samples: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    def sample(self) -> None:
        now = time.monotonic()
        self._samples.append((now, self.came))
        while len(self._samples) > 2 and now - self._samples[1][0] > _SPEED_WINDOW_S:
            self._samples.popleft()

    def bytes_per_s(self) -> float:
        (begun, before), (now, came) = self._samples[0], self._samples[-1]
        return (came - before) / (now - begun) if now > begun else 0.0


def _unusable(repo_id: str, reason: str) -> HubError:
    return HubError(
        say("{0} can't run here. {1} Its weights weren't downloaded.", repo_id, reason),
        say("Choose another model."),
        kind="unsupported",
    )


def _first(failures: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
