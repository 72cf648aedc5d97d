"""One model in the hub cache: where its files lie, and the moment it counts as installed.

The layout is huggingface_hub's (its guide "Understand caching"), so that every program that uses the hub finds a model
downloaded here. A file lies in `blobs` under its checksum; while it is coming it is called `<checksum>.incomplete`. The
snapshot folder, which is what makes a model, is filled when every file is verified, and gets config.json last: until
then nothing there looks like a model.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from huggingface_hub import constants
from huggingface_hub.file_download import repo_folder_name

from app.hub_events import HubFile
from app.paths import sync_folder, write_atomic

_LAST = "config.json"


class CachedModel:
    """`cache` is the hub cache's folder: HF_HUB_CACHE by default."""

    def __init__(self, repo_id: str, cache: Path | None = None) -> None:
        self.cache = cache or Path(constants.HF_HUB_CACHE)
        self.folder = self.cache / repo_folder_name(repo_id=repo_id, repo_type="model")
        self._blobs, self._snapshots = self.folder / "blobs", self.folder / "snapshots"

    def prepare(self) -> None:
        """Make the folders. Raises OSError."""
        for folder in (self._blobs, self._snapshots):  # a cache without snapshots would be called corrupt
            folder.mkdir(parents=True, exist_ok=True)

    def blob(self, file: HubFile) -> Path:
        return self._blobs / (file.sha256 or file.git_id)

    def partial(self, file: HubFile) -> Path:
        return self._blobs / f"{file.sha256 or file.git_id}.incomplete"

    def flush(self, file: HubFile) -> None:
        """Bring a partial file to the disk itself, which may take seconds. Raises OSError."""
        handle = os.open(self.partial(file), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def accept(self, file: HubFile) -> None:
        """A verified and flushed file gets its name. Raises OSError."""
        os.replace(self.partial(file), self.blob(file))

    def publish(self, commit: str, files: Iterable[HubFile]) -> Path:
        """Make the model of its verified files, in a moment; returns its folder. Raises OSError."""
        sync_folder(self._blobs)
        folder = self._snapshots / commit
        folder.mkdir(parents=True, exist_ok=True)
        placed: dict[Path, Path] = {}
        for file in sorted(files, key=lambda file: file.name == _LAST):
            blob, pointer = self.blob(file), folder / file.name
            self._place(placed.get(blob, blob), pointer)
            if not blob.exists():  # on a disk without links: others of the same bytes are copies
                placed[blob] = pointer
        sync_folder(folder)
        (self.folder / "refs").mkdir(exist_ok=True)
        write_atomic(self.folder / "refs" / "main", commit.encode())
        return folder

    def withdraw(self, files: Iterable[HubFile]) -> None:
        """Take back what a cancelled download brought: partial files, and blobs that no model here uses."""
        used = {os.path.realpath(link) for link in self._snapshots.rglob("*") if link.is_symlink()}
        for file in files:
            self.partial(file).unlink(missing_ok=True)
            if os.path.realpath(self.blob(file)) not in used:
                self.blob(file).unlink(missing_ok=True)
        if not any(path.is_file() or path.is_symlink() for path in self._snapshots.rglob("*")):
            shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _place(blob: Path, pointer: Path) -> None:
        if pointer.is_symlink() or pointer.exists():
            if os.path.realpath(pointer) == os.path.realpath(blob):
                return
            pointer.unlink()
        try:
            pointer.symlink_to(os.path.relpath(blob, pointer.parent))
        except OSError:  # a disk without links (exFAT): the file itself goes there, as huggingface_hub does it
            if blob.parent == pointer.parent:
                shutil.copyfile(blob, pointer)
            else:
                os.replace(blob, pointer)
