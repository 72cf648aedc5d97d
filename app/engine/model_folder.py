"""A model folder: whether it is complete, incomplete, damaged or of a kind that can't run, and what to do about it.

Judged from the files and config.json alone, without MLX and without running anything that came with the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.engine import support
from app.errors import AppError

State = Literal["complete", "incomplete", "damaged", "unsupported"]
_HEADER_LIMIT_BYTES = 100 << 20
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
        config = read_config(folder)
        weights = _checked_weights(folder)
    except AppError as error:
        return ModelFolder(folder, "damaged" if isinstance(error, Damaged) else "incomplete", error.message, 0)
    known = support.context_tokens(config) or 0, has_chat_template(folder)
    if reason := support.unsupported(config):
        return ModelFolder(folder, "unsupported", reason, weights, *known)
    if not any((folder / name).is_file() for name in support.TOKENIZER_FILES):
        return ModelFolder(folder, "incomplete", f"The tokenizer is missing from {folder}.", weights, *known)
    return ModelFolder(folder, "complete", "", weights, *known)


def require(folder: Path) -> ModelFolder:
    """The folder if a model can be loaded from it. Raises AppError with what is wrong and what to do."""
    if not folder.is_dir():
        raise AppError(f"There is no folder {folder}.", "It may have been moved or deleted: choose a model again.")
    found = judge(folder)
    if found.state == "unsupported":
        raise AppError(f"The model {found.name} can't run here. {found.reason}", "Choose another model.")
    if found.state != "complete":
        raise AppError(
            f"The model {found.name} is {found.state}. {found.reason} Your conversations are untouched.",
            "Download or copy it again.",
        )
    return found


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as an object. Raises AppError."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError as error:
        raise AppError(f"config.json is missing from {folder}.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(f"config.json in {folder} can't be read.", detail=repr(error)) from error
    if not isinstance(config, dict):
        raise Damaged(f"config.json in {folder} isn't an object.")
    return config


def has_chat_template(folder: Path) -> bool:
    """Whether the tokenizer comes with a chat template: in a file of its own, or in its configuration."""
    if (folder / "chat_template.jinja").is_file():
        return True
    for name in ("chat_template.json", "tokenizer_config.json"):
        try:
            document = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue  # both are optional; a broken one is told when the tokenizer is loaded
        if isinstance(document, dict) and document.get("chat_template"):
            return True
    return False


def weight_files(folder: Path) -> dict[Path, set[str]]:
    """The files that hold the weights, each with the tensors that the index says are in it (none without an index).

    Raises AppError when one is missing, Damaged for an index that says nothing.
    """
    index = folder / "model.safetensors.index.json"
    files: dict[Path, set[str]] = {}
    if index.is_file():
        try:
            for tensor, name in json.loads(index.read_bytes())["weight_map"].items():
                files.setdefault(folder / name, set()).add(tensor)
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise Damaged(f"{index.name} in {folder} can't be read.", detail=repr(error)) from error
    else:
        files = {file: set() for file in sorted(folder.glob("model*.safetensors"))}
        for file in list(files):
            if match := _NUMBERED.fullmatch(file.name):
                count = int(match[2])
                files |= {folder / f"model-{n:05}-of-{count:05}.safetensors": set() for n in range(1, count + 1)}
    if not files:
        raise AppError(f"There are no weights (model.safetensors) in {folder}.")
    missing = sorted(file for file in files if not file.is_file())
    if missing:
        raise AppError(f"{len(missing)} of {len(files)} weight files are missing, first {missing[0].name}.")
    return files


def end_tokens(folder: Path, config: Mapping[str, Any]) -> set[int]:
    """End-of-sequence ids that config.json and generation_config.json name, each a number or a list."""
    sources: list[Mapping[str, Any]] = list(support.parts(config))
    try:
        generation = json.loads((folder / "generation_config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        generation = None  # optional, and the tokenizer's own ids are added by the loader
    if isinstance(generation, dict):
        sources.append(generation)
    found: set[int] = set()
    for source in sources:
        ids = source.get("eos_token_id")
        found.update(i for i in (ids if isinstance(ids, list) else [ids]) if isinstance(i, int))
    return found


def _checked_weights(folder: Path) -> int:
    """Bytes of all weight files, each with a header that agrees with its length and holds what the index says."""
    total = 0
    for file, wanted in weight_files(folder).items():
        size, tensors = _header(file)
        if absent := wanted - tensors:
            raise Damaged(f"{file.name} lacks tensors that the index says it holds, first {min(absent)}.")
        total += size
    return total


def _header(file: Path) -> tuple[int, set[str]]:
    """Bytes and tensors of a safetensors file. Raises Damaged for a cut or foreign one."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(size - 8, _HEADER_LIMIT_BYTES):
                raise ValueError(f"header of {length} bytes")
            header = json.loads(stream.read(length))
        end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
        whole = size == 8 + length + end
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"{file.name} is damaged.", detail=repr(error)) from error
    if not whole:
        raise Damaged(f"{file.name} is cut short or damaged ({size} bytes).")
    return size, set(header)
