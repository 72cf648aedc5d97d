"""`.turbochat`: a zip with a manifest, the conversation as JSON and its compressed caches; docs/exchange.md has it all.

What is read may come from anybody. Nothing is unpacked under a name from the file, nothing is believed before its
length and its checksum are right, and no more is read than the manifest and the limits here allow.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.errors import AppError, Interrupted
from app.library import document as documents
from app.library.document import Document
from app.paths import beside
from app.version import version
from app.words import say

ENDING = ".turbochat"
FORMAT, VERSION = "turbochat", 1
MANIFEST, CONVERSATION = "manifest.json", "conversation.json"
MOST_ENTRIES = 18
MOST_MANIFEST_BYTES = 1 << 20
MOST_TEXT_BYTES = 64 << 20
_CACHE = re.compile(r"caches/[A-Za-z0-9_-]{1,64}\.tqcache")
_CHUNK = 1 << 20
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, ValueError, KeyError,
    IndexError, OverflowError, UnicodeError,
)  # fmt: skip

Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class CachePart:
    """A cache file and the message of the document whose branch it serves (empty: not known)."""

    path: Path
    message: str
    fingerprint: str
    scheme: str
    tokens: int


@dataclass(frozen=True)
class Opened:
    """What was in a file. `caches` lie where the reader was told to put them; `left_out` says why one doesn't."""

    document: Document
    caches: Sequence[CachePart]
    left_out: str = ""


# ---------------------------------------------------------------- writing


def write(path: Path, document: Document, caches: Sequence[CachePart], cancelled: Cancelled = lambda: False) -> int:
    """Returns the file's bytes. Raises OSError, or Interrupted once `cancelled` says so; `path` is then as it was."""
    temporary = beside(path)
    try:
        with temporary.open("wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                entries = [_put(archive, CONVERSATION, io.BytesIO(documents.write(document)), True, cancelled)]
                listed = []
                for number, cache in enumerate(caches, 1):
                    name = f"caches/{number}.tqcache"
                    with cache.path.open("rb") as content:
                        entries.append(_put(archive, name, content, False, cancelled))
                    listed.append({"name": name, "message": cache.message, "fingerprint": cache.fingerprint,
                                   "scheme": cache.scheme, "tokens": cache.tokens})  # fmt: skip
                manifest = {"format": FORMAT, "version": VERSION, "program": version(), "entries": entries,
                            "caches": listed}  # fmt: skip
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path.stat().st_size


def _put(
    archive: zipfile.ZipFile, name: str, content: BinaryIO, packed: bool, cancelled: Cancelled
) -> dict[str, object]:
    """A cache is as dense as it gets; the text isn't."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    digest, size = hashlib.sha256(), 0
    with archive.open(entry, "w", force_zip64=not packed) as target:
        for chunk in iter(lambda: content.read(_CHUNK), b""):
            if cancelled():
                raise Interrupted
            digest.update(chunk)
            target.write(chunk)
            size += len(chunk)
    return {"name": name, "bytes": size, "sha256": digest.hexdigest()}


# ---------------------------------------------------------------- reading


def read(
    path: Path,
    place: Callable[[], Path],
    wanted: Callable[[str], bool] = lambda fingerprint: True,
    most_bytes: int = 1 << 40,
    cancelled: Cancelled = lambda: False,
) -> Opened:
    """The conversation, and the caches of the models that are `wanted`, each in a new file that `place` makes.

    Caches of more than `most_bytes` are left out. Raises AppError where anything isn't as it should be, Interrupted
    once `cancelled` says so, and OSError; the files made are then gone.
    """
    made: list[Path] = []
    try:
        with _Careful(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
            return _read(_Entries(archive, cancelled), place, wanted, most_bytes, made)
    except BaseException as error:
        for file_made in made:
            file_made.unlink(missing_ok=True)
        if isinstance(error, _BROKEN) or (isinstance(error, OSError) and error.errno == errno.EINVAL):  # a place < 0
            raise _refusal(say("it is damaged or no {0} file ({1})", ENDING, str(error)[:80])) from error
        raise


def _read(
    entries: _Entries, place: Callable[[], Path], wanted: Callable[[str], bool], most_bytes: int, made: list[Path]
) -> Opened:
    document = documents.read(entries.content(CONVERSATION))
    known = {message.id for message in document.messages}
    caches, left_out = [], ""
    for part in entries.caches:
        if part["message"] not in known | {""}:
            raise _refusal(say("a cache belongs to no message"))
        if not wanted(part["fingerprint"]):
            left_out = left_out or say("it was made by another model than the one that is loaded")
        elif entries.sizes[part["name"]] > most_bytes:
            left_out = left_out or say("it is larger than the room for saved caches")
        else:
            target = place()
            made.append(target)
            with target.open("wb") as file:
                for chunk in entries.chunks(part["name"]):
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            caches.append(CachePart(target, part["message"], part["fingerprint"], part["scheme"], part["tokens"]))
    return Opened(document, caches, "" if caches else left_out)


class _Entries:
    """A zip's entries as its manifest names them. Raises AppError where the two don't agree."""

    def __init__(self, archive: zipfile.ZipFile, cancelled: Cancelled) -> None:
        self._archive, self._cancelled = archive, cancelled
        infos = archive.infolist()
        self._infos = {info.filename: info for info in infos}
        if len(infos) > MOST_ENTRIES or len(self._infos) != len(infos):
            raise _refusal(say("it holds too many parts, or one twice"))
        for info in infos:
            _check(info)
        manifest = self._manifest()
        listed = _objects(manifest, "entries", {"name": str, "bytes": int, "sha256": str})
        self.sizes = {entry["name"]: entry["bytes"] for entry in listed}
        self._digests = {entry["name"]: entry["sha256"] for entry in listed}
        if len(self.sizes) != len(listed) or self._infos.keys() - {MANIFEST} != self.sizes.keys():
            raise _refusal(say("its manifest doesn't name what is in it"))
        if any(info.file_size != self.sizes[name] for name, info in self._infos.items() if name != MANIFEST):
            raise _refusal(say("a part hasn't the size that the manifest says"))
        self.caches = _objects(
            manifest, "caches", {"name": str, "message": str, "fingerprint": str, "scheme": str, "tokens": int}
        )
        if {cache["name"] for cache in self.caches} != self.sizes.keys() - {CONVERSATION}:
            raise _refusal(say("its manifest doesn't say what each cache is"))

    def _manifest(self) -> dict[str, Any]:
        if not {MANIFEST, CONVERSATION} <= self._infos.keys():
            raise _refusal(say("its manifest or its text is missing"))
        text = b"".join(self._bounded(MANIFEST, MOST_MANIFEST_BYTES))
        try:
            manifest = json.loads(text)
        except (ValueError, RecursionError):
            manifest = None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise _refusal(say("it has no manifest that can be read"))
        if manifest.get("version") != VERSION:
            raise AppError(
                say(
                    "The file has format version {0}; this program reads version {1}. Nothing was imported.",
                    f"{manifest.get('version')!r:.20}",
                    VERSION,
                ),
                say("Update the program, and try again."),
            )
        return manifest

    def content(self, name: str) -> bytes:
        if self.sizes[name] > MOST_TEXT_BYTES:
            raise _refusal(say("its text is too long"))
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """Raises AppError behind the last one where the checksum isn't the manifest's."""
        digest = hashlib.sha256()
        for chunk in self._bounded(name, self.sizes[name]):
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != self._digests[name]:
            raise _refusal(say("a part of it has another checksum than the manifest says: it is damaged"))

    def _bounded(self, name: str, most: int) -> Iterator[bytes]:
        """What a zip says of a part's size is believed of no part."""
        size = 0
        with self._archive.open(self._infos[name]) as part:
            while chunk := part.read(_CHUNK):
                if self._cancelled():
                    raise Interrupted
                size += len(chunk)
                if size > most:
                    raise _refusal(say("a part is larger than it may be"))
                yield chunk


class _Careful(io.BufferedReader):
    """Reads no more at once than a sound file makes anyone ask for: its list of parts is short."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size - self.tell()
        if size > 4 * _CHUNK:
            raise _refusal(say("its list of parts is too long"))
        return super().read(size)


def _check(info: zipfile.ZipInfo) -> None:
    """A name that has its place here, a plain file, and no way of packing but the two that are written."""
    if info.filename not in (MANIFEST, CONVERSATION) and not _CACHE.fullmatch(info.filename):
        raise _refusal(say("it holds something that doesn't belong there"))
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.is_dir():
        raise _refusal(say("it holds something that is no file"))
    stored = info.compress_type == zipfile.ZIP_STORED
    if info.flag_bits & 0x1 or not (stored or (info.compress_type == zipfile.ZIP_DEFLATED and _is_text(info))):
        raise _refusal(say("a part of it is packed in a way that isn't known"))


def _is_text(info: zipfile.ZipInfo) -> bool:
    return info.filename in (MANIFEST, CONVERSATION)


def _objects(manifest: dict[str, Any], name: str, kinds: dict[str, type]) -> list[dict[str, Any]]:
    values = manifest.get(name)
    sound = isinstance(values, list) and all(
        isinstance(value, dict) and all(type(value.get(key)) is kind for key, kind in kinds.items()) for value in values
    )
    if not sound:
        raise _refusal(say("its manifest's “{0}” can't be read", name))
    assert isinstance(values, list)
    return values


def _refusal(reason: str) -> AppError:
    return AppError(
        say("The file can't be imported: {0}. Nothing was imported.", reason), say("Ask for the file again.")
    )
