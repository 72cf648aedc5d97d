"""A model folder: whether it is complete, incomplete, damaged or of a kind that can't run, and what to do about it.

Judged from the files and config.json alone, without MLX and without running anything that came with the model.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from app.engine import support
from app.errors import AppError
from app.words import say, why

State = Literal["complete", "incomplete", "damaged", "unsupported"]
_DOCUMENT_LIMIT_BYTES = 100 << 20  # the largest, tokenizer_config.json, takes a few million
_NUMBERED = re.compile(r"model-(\d{5})-of-(\d{5})\.safetensors")


@dataclass(frozen=True)
class ModelFolder:
    """`reason` says what is missing or broken, or why the model can't run; empty for a complete one.

    `context_tokens`: the longest sequence that its config states, 0 for none. `chat_template`: it can hold a
    conversation; without one it is a base model, which continues text.
    """

    path: Path
    state: State
    reason: str
    weights_bytes: int
    context_tokens: int = 0
    chat_template: bool = False

    @property
    def name(self) -> str:
        return display_name(self.path)


class Damaged(AppError):
    """A file of a model is there and isn't what it should be."""


def display_name(folder: Path) -> str:
    """What people call the model: a folder of the hub's cache has the name of a commit."""
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.split("--")[-1]
    return folder.name


def judge(folder: Path) -> ModelFolder:
    """Look at a folder's files. Never raises for what it finds in them."""
    try:
        return _judged(folder)
    except AppError as error:
        return ModelFolder(folder, "damaged" if isinstance(error, Damaged) else "incomplete", error.message, 0)
    except OSError as error:  # a folder or a disk that lets nobody look
        return ModelFolder(folder, "damaged", say("{0} can't be read: {1}.", folder, why(error)), 0)


def _judged(folder: Path) -> ModelFolder:
    config = read_config(folder)
    weights = _checked_weights(folder)
    known = support.context_tokens(config) or 0, has_chat_template(folder)
    if reason := support.unsupported(config):
        return ModelFolder(folder, "unsupported", reason, weights, *known)
    if not any((folder / name).is_file() for name in support.TOKENIZER_FILES):
        return ModelFolder(folder, "incomplete", say("The tokenizer is missing from {0}.", folder), weights, *known)
    return ModelFolder(folder, "complete", "", weights, *known)


def require(folder: Path) -> ModelFolder:
    """The folder if a model can be loaded from it. Raises AppError with what is wrong and what to do."""
    if not folder.is_dir():
        raise AppError(
            say("There is no folder {0}.", folder), say("It may have been moved or deleted: choose a model again.")
        )
    found = judge(folder)
    if found.state == "unsupported":
        raise AppError(say("The model {0} can't run here. {1}", found.name, found.reason), say("Choose another model."))
    if found.state != "complete":
        raise AppError(
            say("The model {0} is damaged. {1} Your conversations are untouched.", found.name, found.reason)
            if found.state == "damaged"
            else say("The model {0} is incomplete. {1} Your conversations are untouched.", found.name, found.reason),
            say("Download or copy it again."),
        )
    return found


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as an object. Raises AppError."""
    try:
        config = _document(folder / "config.json")
    except FileNotFoundError as error:
        raise AppError(say("config.json is missing from {0}.", folder)) from error
    except (OSError, ValueError) as error:
        raise Damaged(say("config.json in {0} can't be read.", folder), detail=repr(error)) from error
    if not isinstance(config, dict):
        raise Damaged(say("config.json in {0} isn't an object.", folder))
    return config


def has_chat_template(folder: Path) -> bool:
    """Whether the tokenizer comes with a chat template: in a file of its own, or in its configuration."""
    if (folder / "chat_template.jinja").is_file():
        return True
    # Both are optional; a broken one is told when the tokenizer is loaded.
    documents = (_optional(folder / name) for name in ("chat_template.json", "tokenizer_config.json"))
    return any(document.get("chat_template") for document in documents)


def _document(path: Path) -> Any:
    """What a JSON file holds. Raises OSError, ValueError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _DOCUMENT_LIMIT_BYTES:
        raise ValueError(f"{path.name} is no file of JSON")  # opening a pipe would wait for ever
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(f"{path.name} is nested too deeply") from error


def _optional(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is none."""
    try:
        document = _document(path)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def weight_files(folder: Path) -> dict[Path, set[str]]:
    """The files that hold the weights, each with the tensors that the index says are in it (none without an index).

    mlx-lm reads every model*.safetensors, so each counts, and an index that names others is of no use. Raises AppError
    when one is missing, Damaged for an index that says nothing.
    """
    index = folder / "model.safetensors.index.json"
    files: dict[Path, set[str]] = {file: set() for file in sorted(folder.glob("model*.safetensors"))}
    if index.is_file():
        try:
            for tensor, name in _document(index)["weight_map"].items():
                if Path(name).name != name or not fnmatchcase(name, "model*.safetensors"):
                    raise ValueError(f"it names {name}")
                files.setdefault(folder / name, set()).add(tensor)
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise Damaged(say("{0} in {1} can't be used.", index.name, folder), detail=repr(error)) from error
    else:
        for file in list(files):
            if match := _NUMBERED.fullmatch(file.name):
                count = int(match[2])
                files |= {folder / f"model-{n:05}-of-{count:05}.safetensors": set() for n in range(1, count + 1)}
    if not files:
        raise AppError(say("There are no weights (model.safetensors) in {0}.", folder))
    missing = sorted(file for file in files if not file.is_file())
    if missing:
        raise AppError(
            say("{0} of {1} weight files are missing, first {2}.", len(missing), len(files), missing[0].name)
        )
    return files


def end_tokens(folder: Path, config: Mapping[str, Any]) -> set[int]:
    """End-of-sequence ids that config.json and generation_config.json name, each a number or a list."""
    found: set[int] = set()
    for source in (*support.parts(config), generation_config(folder)):
        ids = source.get("eos_token_id")
        found.update(i for i in (ids if isinstance(ids, list) else [ids]) if type(i) is int and i >= 0)
    return found


def generation_config(folder: Path) -> dict[str, Any]:
    """generation_config.json as an object; empty without a sound one."""
    return _optional(folder / "generation_config.json")


def legacy_template(folder: Path) -> str:
    """The chat template in chat_template.json, where the tokenizer's own loader would find none; else empty."""
    if (folder / "chat_template.jinja").is_file() or _optional(folder / "tokenizer_config.json").get("chat_template"):
        return ""
    template = _optional(folder / "chat_template.json").get("chat_template")
    return template if isinstance(template, str) else ""


def _checked_weights(folder: Path) -> int:
    """Bytes of all weight files, each with a header that agrees with its length and holds what the index says."""
    total, found = 0, 0
    for file, wanted in weight_files(folder).items():
        tensors = _tensors(file)
        if absent := wanted - tensors:
            raise Damaged(say("{0} lacks tensors that the index says it holds, first {1}.", file.name, min(absent)))
        total += file.stat().st_size
        found += len(tensors)
    if not found:
        raise Damaged(say("The weight files in {0} hold no tensors.", folder))
    return total


def _tensors(file: Path) -> set[str]:
    """The tensors that a safetensors file holds, their places checked. Raises Damaged for a cut or foreign one."""
    from safetensors import SafetensorError, safe_open  # not while the window is being opened

    try:
        with safe_open(file, "np") as content:
            return set(content.keys())
    except (OSError, ValueError, SafetensorError) as error:
        raise Damaged(say("{0} is cut short or damaged.", file.name), detail=repr(error)) from error
