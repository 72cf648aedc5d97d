"""Model folders: which are installed, and whether one is complete, incomplete or of a kind that can't run.

Judged from the files and config.json alone, without MLX and without running anything that came with the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.engine import support
from app.errors import AppError

_HEADER_LIMIT_BYTES = 100 << 20


@dataclass(frozen=True)
class ModelFolder:
    """`reason` says what is missing, or why the model can't run; empty for a complete one."""

    path: Path
    state: Literal["complete", "incomplete", "unsupported"]
    reason: str
    weights_bytes: int

    @property
    def name(self) -> str:
        return self.path.name


def installed(models: Path) -> list[ModelFolder]:
    """Every folder in `models` that holds a config.json, by name. A broken one is listed as such."""
    if not models.is_dir():
        return []
    return [judge(entry) for entry in sorted(models.iterdir()) if (entry / "config.json").is_file()]


def judge(folder: Path) -> ModelFolder:
    """Look at a folder's files. Never raises for what it finds in them."""
    try:
        config = read_config(folder)
        weights = sum(_checked_size(file) for file in weight_files(folder))
    except AppError as error:
        return ModelFolder(folder, "incomplete", error.message, 0)
    if reason := support.unsupported(config):
        return ModelFolder(folder, "unsupported", reason, weights)
    if not any((folder / name).is_file() for name in support.TOKENIZER_FILES):
        return ModelFolder(folder, "incomplete", f"The tokenizer is missing from {folder}.", weights)
    return ModelFolder(folder, "complete", "", weights)


def require(folder: Path) -> ModelFolder:
    """The folder if a model can be loaded from it. Raises AppError with what is wrong and what to do."""
    if not folder.is_dir():
        raise AppError(f"There is no folder {folder}.", "It may have been moved or deleted: choose a model again.")
    found = judge(folder)
    if found.state == "incomplete":
        raise AppError(
            f"The model {found.name} is incomplete. {found.reason} Your conversations are untouched.",
            "Download or copy it again.",
        )
    if found.state == "unsupported":
        raise AppError(f"The model {found.name} can't run here. {found.reason}", "Choose another model.")
    return found


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as an object. Raises AppError."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError as error:
        raise AppError(f"config.json is missing from {folder}.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise AppError(f"config.json in {folder} can't be read.", detail=repr(error)) from error
    if not isinstance(config, dict):
        raise AppError(f"config.json in {folder} isn't an object.")
    return config


def weight_files(folder: Path) -> list[Path]:
    """The files that hold the weights; with an index, all that it names. Raises AppError when one is missing."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            names = sorted({folder / name for name in json.loads(index.read_bytes())["weight_map"].values()})
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise AppError(f"{index.name} in {folder} can't be read.", detail=repr(error)) from error
        missing = [file for file in names if not file.is_file()]
        if missing:
            raise AppError(f"{len(missing)} of {len(names)} weight files are missing, first {missing[0].name}.")
        return names
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise AppError(f"There are no weights (model.safetensors) in {folder}.")
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


def _checked_size(file: Path) -> int:
    """Bytes of a safetensors file whose header agrees with its length. Raises AppError for a cut or foreign file."""
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
        raise AppError(f"{file.name} is damaged.", detail=repr(error)) from error
    if not whole:
        raise AppError(f"{file.name} is cut short or damaged ({size} bytes).")
    return size
