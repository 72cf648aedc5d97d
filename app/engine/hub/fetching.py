"""One file from the hub: begun where it was left, tried again with patience, verified before it counts.

huggingface_hub's own download starts anew after every interruption, can't be stopped while a server hangs, and checks
sizes only. So its client, addresses, headers and errors are used here, and the transfer is our own: a task that can be
cancelled at any moment, a partial file that the next attempt appends to by range, and the checksum that the hub states.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from huggingface_hub.utils import hf_raise_for_status

from app.engine.hub.errors import explain, transient, wait_s
from app.errors import HubError
from app.hub_events import HubFile
from app.words import number, say

T = TypeVar("T")

_HASHED_AT_ONCE = 16 << 20
_ENOUGH_BYTES = 1 << 20  # an attempt that brought this much wasn't in vain


@dataclass(frozen=True)
class Patience:
    """How long to wait for a hub that stalls, and how often to try again. Times are seconds."""

    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    asked_wait_s: float = 400.0  # the longest the hub may ask for; its windows are of 300 s
    connect_s: float = 10.0
    stall_s: float = 20.0


@dataclass
class Progress:
    """What a file's transfer tells: how much of it there is, and why it waits."""

    received: Callable[[int], None]
    """The bytes that are there now."""
    waiting: Callable[[str], None]
    """A sentence; empty when it goes on."""
    verifying: Callable[[], None]


class Retries:
    """Counts attempts and waits between them. `waiting` hears why; an empty text when it goes on."""

    def __init__(self, patience: Patience, waiting: Callable[[str], None]) -> None:
        self._patience, self._waiting = patience, waiting
        self._failed = 0

    async def after(self, error: Exception, *, in_vain: bool = True) -> None:
        """Wait before the next attempt, or raise `error`: it won't get better, or it was one too many."""
        self._failed = self._failed + 1 if in_vain else 1
        asked = wait_s(error)
        if not transient(error) or self._failed >= self._patience.attempts or asked > self._patience.asked_wait_s:
            raise error
        wait = self._patience.first_wait_s * 2.0 ** (self._failed - 1)
        wait = max(asked, min(self._patience.longest_wait_s, wait))
        self._waiting(say("Trying again in {0} s: {1}", number(wait), explain(error).message))
        await asyncio.sleep(wait)
        self._waiting("")


class Unexpected(Exception):
    """What the server sends isn't the file that the hub listed."""


@dataclass(frozen=True)
class Fetcher:
    """`headers` are those of huggingface_hub's build_hf_headers: they hold the token."""

    client: httpx2.AsyncClient
    headers: dict[str, str]
    patience: Patience

    async def fetch(self, url: str, file: HubFile, partial: Path, progress: Progress) -> None:
        """Complete and verify `partial`. Raises HubError, what the client raises, or OSError where it can't be written.

        What has come stays when this is cancelled or fails; what is damaged is deleted, and asked for once more.
        """
        for last in (False, True):
            try:
                await self._complete(url, file, partial, progress)
                progress.verifying()
                if await verified(partial, file):
                    return
                reason = say("its checksum is another one")
            except Unexpected as error:
                reason = str(error)
            partial.unlink(missing_ok=True)
            progress.received(0)
            if last:
                raise HubError(
                    say("{0} came damaged twice ({1}). It was deleted; the other files are kept.", file.name, reason),
                    say("Try again later; if it stays so, the model's files on the hub are broken."),
                    kind="damaged",
                )

    async def _complete(self, url: str, file: HubFile, partial: Path, progress: Progress) -> None:
        retries = Retries(self.patience, progress.waiting)
        while (begun := size_of(partial)) != file.size_bytes or not partial.exists():
            if begun > file.size_bytes:
                raise Unexpected(say("more came than the hub has listed"))
            try:
                await self._transfer(url, file, partial, progress)
            except Exception as error:
                await retries.after(error, in_vain=size_of(partial) - begun < _ENOUGH_BYTES)

    async def _transfer(self, url: str, file: HubFile, partial: Path, progress: Progress) -> None:
        """One request, from where the file ends to where the connection does."""
        begun = size_of(partial)
        asked = {**self.headers, "Accept-Encoding": "identity"}  # else the length isn't the file's
        if begun:
            asked["Range"] = f"bytes={begun}-"
        timeout = httpx2.Timeout(self.patience.stall_s, connect=self.patience.connect_s)
        async with self.client.stream("GET", url, headers=asked, timeout=timeout) as response:
            if begun and response.status_code == 416:
                raise Unexpected(say("the server's file is shorter"))
            hf_raise_for_status(response)
            start, total = _extent(response)
            if start not in (0, begun) or total not in (None, file.size_bytes):
                raise Unexpected(say("the server's file has {0} bytes instead of {1}", total, file.size_bytes))
            with partial.open("r+b" if partial.exists() else "wb", buffering=0) as out:
                out.truncate(start)
                out.seek(start)
                progress.received(start)
                async for chunk in response.aiter_bytes():  # as they come: a size would hold bytes back
                    if start + len(chunk) > file.size_bytes:
                        raise Unexpected(say("more came than the hub has listed"))
                    _write(out, chunk)
                    start += len(chunk)
                    progress.received(start)
        if start < file.size_bytes:
            raise httpx2.RemoteProtocolError(say("the connection ended early"))


def _write(out: FileIO, chunk: bytes) -> None:
    """All of it: an unbuffered file may take a part. What it took is on the disk, and counted by size_of."""
    view = memoryview(chunk)
    while view:
        view = view[out.write(view) :]


def _extent(response: httpx2.Response) -> tuple[int, int | None]:
    """Where the answer's bytes begin, and the whole file's length; None where the server doesn't say it."""
    if response.status_code == 206:
        stated = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if stated is None:
            raise Unexpected(say("the server's Content-Range makes no sense"))
        return int(stated[1]), None if stated[2] == "*" else int(stated[2])
    length = response.headers.get("Content-Length", "")
    plain = response.headers.get("Content-Encoding", "identity") == "identity"
    return 0, int(length) if plain and length.isdigit() else None


async def verified(path: Path, file: HubFile) -> bool:
    """Whether these are the bytes that the hub lists: SHA-256 of a large file, git's blob id of a small one."""
    if size_of(path) != file.size_bytes:
        return False
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(b"blob %d\0" % file.size_bytes)
    with path.open("rb") as stream:

        def some() -> bool:
            part = stream.read(_HASHED_AT_ONCE)
            digest.update(part)
            return bool(part)

        while await in_thread(some):
            pass
    return digest.hexdigest() == (file.sha256 or file.git_id)


def size_of(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


async def in_thread(work: Callable[[], T]) -> T:
    """`work()` in a daemon thread: unlike asyncio's own threads, one that hangs doesn't keep the program alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has ended; nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="hub-work", daemon=True).start()
    return await future


class HubLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, whose look-up of a name doesn't keep the program alive while a name server is silent."""

    async def getaddrinfo(self, *arguments: Any, **options: Any) -> Any:
        return await in_thread(partial(socket.getaddrinfo, *arguments, **options))
