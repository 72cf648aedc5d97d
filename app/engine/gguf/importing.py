"""Importing a GGUF file: one file in, one model folder that mlx-lm loads out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.engine import parts
from app.engine.gguf import architectures
from app.engine.gguf import weights as gguf_weights
from app.engine.gguf.container import GgufError, read
from app.engine.gguf.tokenizer import tokenizer_files
from app.engine.gguf.weights import WeightKind
from app.paths import sync_folder
from app.words import say, size, why


@dataclass(frozen=True)
class Contents:
    """What a GGUF file that can be imported holds."""

    architecture: str
    context_tokens: int
    chat_template: bool


def examine(source: Path) -> Contents:
    """Look at a file without importing it: its description and tensors, not its tokenizer's every token.

    Raises GgufError with the reason why it can't be imported.
    """
    file = read(source)
    architecture = architectures.find(file)
    config = architectures.configuration(file, architecture)
    architectures.check_tensors(file, architecture, config)
    template = "tokenizer.chat_template" in file.metadata
    return Contents(architecture.model_type, config["max_position_embeddings"], template)


def folder_name(source: Path) -> str:
    """What the imported model is called: as the file, but never a hidden name, which no list shows."""
    return source.stem.lstrip(".") or "model"


def import_gguf(
    source: Path, folder: Path, weights: WeightKind = "quantized", progress: Callable[[float], None] = lambda done: None
) -> Path:
    """Write `source` as the model folder `folder` (weights, configuration, tokenizer, chat template); returns it.

    `weights` is the dtype of every tensor, or "quantized": as small as MLX can keep it. Codes that it has a form for
    (4, 5 and 8 bits) stay as they are and the rest becomes float16, or bfloat16 in a file of bfloat16. `progress` gets
    0 to 1; an exception that it raises cancels the import. Raises GgufError when the file can't be imported or not be
    written. `folder` appears whole at the end or not at all. Needs no MLX, so any thread may call it.
    """
    if folder.exists():
        raise GgufError(
            say("{0} exists already and was left as it is.", folder),
            say("Rename the file, or delete that model first."),
        )
    file = read(source)
    architecture = architectures.find(file)
    config = architectures.configuration(file, architecture)
    architectures.check_tensors(file, architecture, config)
    progress(0.0)  # by now, and with the tokenizer, seconds may have passed
    documents = tokenizer_files(file, config)
    try:
        parts.remove_stale(folder.parent)
        with parts.part(folder.parent) as work:
            planned = gguf_weights.plan(file, architecture, config, weights)
            _check_space(work, sum(entry.size for piece in planned for entry in piece.entries))
            made = work / folder.name
            made.mkdir()
            gguf_weights.write(made / "model.safetensors", planned, architecture, config, progress)
            if quantization := gguf_weights.quantization(planned, architecture):
                config["quantization"] = quantization
            documents["config.json"] = json.dumps(config, indent=1)
            for name, text in documents.items():
                _write_synced(made / name, text.encode())
            sync_folder(made)
            made.rename(folder)
            sync_folder(folder.parent)
    except OSError as error:
        raise GgufError(
            say("The model couldn't be written to {0}: {1}. Nothing of it was kept.", folder.parent, why(error)),
            say("Make room or make the folder writable, then try again."),
            repr(error),
        ) from error
    return folder


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise GgufError(
            say("The model takes {0} and the disk has {1} left. Nothing was written.", size(needed), size(free)),
            say("Make room, then try again."),
        )
