"""The models on this machine: those made here, those in the hub's cache, folders and GGUF files that the user added.

Reads files only: no MLX, no network, nothing that came with a model is run. Not for the window's own thread.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from app.engine import parts
from app.engine.gguf import importing
from app.engine.gguf.container import GgufDamaged, GgufError
from app.engine.model_folder import ModelFolder as ModelFolder
from app.engine.model_folder import State
from app.engine.model_folder import display_name as display_name
from app.engine.model_folder import end_tokens as end_tokens
from app.engine.model_folder import judge as judge
from app.engine.model_folder import read_config as read_config
from app.engine.model_folder import require as require
from app.errors import AppError
from app.paths import bundled_models_dir
from app.words import say, why

_REPOSITORY = "models--"


@dataclass(frozen=True)
class InstalledModel:
    """`path`: what LoadModel takes; a GGUF file is to be imported first. `repo_id`: of the hub, else empty.

    `reason`: what is wrong with it; `repair`: what to do about that, as a sentence and as an action (download: fetch
    what is missing of `repo_id`; import: the GGUF file; remove: take it off the list). `note`: what else to know.
    `deletable`: the program may delete its files; a folder of the user's own it only takes off the list.
    """

    path: Path
    name: str
    repo_id: str
    kind: Literal["folder", "hub", "gguf"]
    state: State
    reason: str = ""
    repair: str = ""
    repair_action: Literal["", "download", "import", "remove"] = ""
    weights_bytes: int = 0
    disk_bytes: int = 0
    context_tokens: int = 0
    chat_template: bool = False
    note: str = ""
    deletable: bool = False


def _no_template() -> str:
    return say(
        "It is a base model, which continues a text and doesn't answer. For a conversation look for its "
        "instruction-tuned version, often named “Instruct” or “it”."
    )


def installed(models_dir: Path, hub_cache: Path | None = None, added: Iterable[Path] = ()) -> list[InstalledModel]:
    """Every model found, by name; broken ones are listed as such.

    `models_dir`: the program's own; what imports that were killed left there is removed. `hub_cache`: the hub's (its
    usual place). `added`: folders and GGUF files of the user's; a folder of model folders, two levels deep, stands for
    these.
    """
    from huggingface_hub import constants

    cache = hub_cache or Path(constants.HF_HUB_CACHE)
    for folder in (models_dir, cache):
        parts.remove_stale(folder)
    listed = [
        *_each(added, _added),
        *_each(sorted(cache.glob("models--*")), _in_hub_cache),
        *_each([bundled_models_dir()], partial(_found, depth=1)),
        *_each(_visible(models_dir) if models_dir.is_dir() else (), _own),
    ]
    found = {os.path.realpath(model.path): model for model in listed}  # whatever links lead to it, it is one model
    return sorted(found.values(), key=lambda model: (model.name.casefold(), model.path))


def delete(model: InstalledModel) -> None:
    """Delete its files; of a link, the link. Raises AppError."""
    if not model.deletable:
        raise AppError(
            say("{0} is a folder of your own.", model.path), say("Take it off the list, or delete it yourself.")
        )
    root = _root(model)
    try:
        if root.is_symlink():
            root.unlink()
        else:
            parts.discard(root)
    except FileNotFoundError:
        return
    except OSError as error:
        if root.exists():
            message = say("{0} couldn't be deleted: {1}. All of it is still there.", model.name, why(error))
        else:
            message = say("{0} is deleted, but for files that stayed in {1}: {2}.", model.name, root.parent, why(error))
        raise AppError(message, say("Make the folder writable for you and close what uses it."), repr(error)) from error


def verify(model: InstalledModel, progress: Callable[[float], None] = lambda done: None) -> InstalledModel:
    """The same model after a look at every byte that a checksum is known for: those of the hub's cache are named by it.

    `progress` gets 0 to 1; what it raises cancels. Other models are as they were judged.
    """
    blobs = {
        file: file.stat().st_size
        for file in (_root(model) / "blobs").glob("*")
        if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", file.name) and file.is_file()
    }
    total, done = sum(blobs.values()) or 1, 0
    for file, size in blobs.items():
        unreadable: OSError | None = None
        digest = hashlib.sha256()
        if len(file.name) == 40:  # a small file, by its git id
            digest = hashlib.sha1(b"blob %d\0" % size)
        try:
            with file.open("rb") as stream:
                while chunk := stream.read(1 << 22):
                    digest.update(chunk)
                    done += len(chunk)
                    progress(min(done / total, 1.0))
        except OSError as error:  # a disk that fails
            unreadable = error
        if digest.hexdigest() != file.name:
            names = [link.name for link in model.path.iterdir() if os.path.realpath(link) == os.path.realpath(file)]
            named = ", ".join(names) or file.name
            reason = (
                say("{0} can't be read: {1}.", named, why(unreadable))
                if unreadable
                else say("{0} isn't as the hub has it.", named)
            )
            return _to_download(replace(model, state="damaged", reason=reason))
    return model


def _root(model: InstalledModel) -> Path:
    """All that belongs to it: in the hub's cache blobs and snapshots."""
    if model.kind != "hub":
        return model.path
    return next(folder for folder in (model.path, *model.path.parents) if folder.name.startswith(_REPOSITORY))


def _each(paths: Iterable[Path], look: Callable[[Path], Iterator[InstalledModel]]) -> Iterator[InstalledModel]:
    """What `look` finds at each. One that lets nobody look is told as such, and hides no other."""
    for path in paths:
        try:
            yield from look(path)
        except FileNotFoundError:  # deleted in this moment
            continue
        except OSError as error:
            reason = say("{0} can't be read: {1}.", path, why(error))
            yield InstalledModel(path, path.name, "", "folder", "damaged", reason, say("Make it readable for you."))


# ---------------------------------------------------------------- folders and files


def _own(path: Path) -> Iterator[InstalledModel]:
    if (path / "config.json").is_file():
        yield _folder(path, deletable=True)


def _added(path: Path) -> Iterator[InstalledModel]:
    if path.is_file():
        yield from _gguf(path)
    elif path.is_dir():
        yield from _found(path, depth=2)
    else:
        reason = say("There is nothing at {0} any more.", path)
        yield InstalledModel(
            path, path.stem, "", "folder", "incomplete", reason, say("Take it off the list, or put it back."), "remove"
        )


def _found(path: Path, depth: int) -> Iterator[InstalledModel]:
    """A model folder, a GGUF file, and those in a folder: of folders `depth` levels. A model holds no other folders."""
    if path.is_file():
        if path.suffix.lower() == ".gguf":
            yield from _gguf(path)
    elif depth >= 0 and path.is_dir():
        if (path / "config.json").is_file():
            depth = 0
            yield _folder(path, deletable=False)
        yield from _each(_visible(path), partial(_found, depth=depth - 1))


def _visible(folder: Path) -> list[Path]:
    """What is being written has a hidden name. Raises OSError where nobody may look."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _folder(folder: Path, deletable: bool) -> InstalledModel:
    found = judge(folder)
    broken = found.state in ("incomplete", "damaged")
    return InstalledModel(
        folder,
        found.name,
        "",
        "folder",
        found.state,
        found.reason,
        repair=say("Copy or download it again.") if broken else "",
        weights_bytes=found.weights_bytes,
        disk_bytes=_disk_bytes(folder),
        context_tokens=found.context_tokens,
        chat_template=found.chat_template,
        note=_no_template() if found.state == "complete" and not found.chat_template else "",
        deletable=deletable,
    )


def _gguf(path: Path) -> Iterator[InstalledModel]:
    status = path.stat()
    size = status.st_size
    try:
        contents = _examined(path, size, status.st_mtime_ns)
    except GgufError as error:
        state: State = "damaged" if isinstance(error, GgufDamaged) else "unsupported"
        yield InstalledModel(path, path.stem, "", "gguf", state, error.message, error.hint, disk_bytes=size)
        return
    yield InstalledModel(
        path,
        path.stem,
        "",
        "gguf",
        "complete",
        repair=say("Import it: a copy is made that can be loaded."),
        repair_action="import",
        weights_bytes=size,
        disk_bytes=size,
        context_tokens=contents.context_tokens,
        chat_template=contents.chat_template,
        note="" if contents.chat_template else _no_template(),
    )


@functools.lru_cache(maxsize=256)
def _examined(path: Path, size: int, changed_ns: int) -> importing.Contents:
    """Reading a file's description takes up to a second: once for each state of the file."""
    return importing.examine(path)


# ---------------------------------------------------------------- the hub's cache


def _in_hub_cache(repository: Path) -> Iterator[InstalledModel]:
    """Also what huggingface_hub's own scan leaves out, because a file of it is missing: that is what needs a repair."""
    waiting = any((repository / "blobs").glob("*.incomplete"))
    snapshot = _newest(repository)
    if waiting or (snapshot / "config.json").is_symlink() or (snapshot / "config.json").is_file():
        repo_id = repository.name.removeprefix(_REPOSITORY).replace("--", "/")
        yield _of_hub(snapshot, repo_id, _disk_bytes(repository), waiting)


def _newest(repository: Path) -> Path:
    """The snapshot that is the main branch's, else the latest; the repository itself where there is none."""
    try:
        main = (repository / "refs" / "main").read_text().strip()
    except (OSError, ValueError):
        main = ""
    snapshots = [folder for folder in (repository / "snapshots").glob("*") if folder.is_dir()]
    return max(snapshots, key=lambda folder: (folder.name == main, folder.stat().st_mtime), default=repository)


def _disk_bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a download renames what it has
            total += 0 if file.is_dir() else file.lstat().st_size
    return total


def _of_hub(path: Path, repo_id: str, size: int, waiting: bool) -> InstalledModel:
    model = replace(
        _folder(path, deletable=True), name=repo_id.split("/")[-1], repo_id=repo_id, kind="hub", disk_bytes=size
    )
    if model.state == "incomplete" and waiting:
        model = replace(model, reason=say("Its download isn't finished."))
    return _to_download(model) if model.state in ("incomplete", "damaged") else model


def _to_download(model: InstalledModel) -> InstalledModel:
    return replace(model, repair=say("Download it again: what is whole of it is kept."), repair_action="download")
