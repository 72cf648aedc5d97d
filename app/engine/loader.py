"""Load a model folder into memory, and give the memory back. Runs in the engine thread."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import glob
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turboquant import backends, snapshot  # before MLX: it loads a BLAS that makes prefill several times faster

# isort: split
import mlx.core as mx
from mlx.utils import tree_flatten

from app import generation
from app.engine import model_folder, support
from app.engine.chat_format import ChatFormat
from app.errors import AppError, Interrupted
from app.events import ModelInfo, ModelLoadProgress
from app.words import say

# Evaluated together while weights are read, so that a stop acts within a fraction of a second.
_GROUP_BYTES, _STEPS = 256 << 20, 50


@dataclass(frozen=True)
class LoadedModel:
    """`end_tokens` is the union of what config, generation config, tokenizer and chat template name."""

    model: Any
    tokenizer: Any
    info: ModelInfo
    end_tokens: frozenset[int]
    notice: str
    format: ChatFormat


def load(folder: Path, stop: threading.Event) -> Generator[ModelLoadProgress, None, LoadedModel]:
    """Read the model in `folder`, without the network and without running code of the model's own.

    Where MLX runs on the CPU, weights become float32: its quantised product is 47 times slower there, and its float16
    attention 7 times. Raises AppError, or Interrupted when `stop` is set meanwhile; nothing is then kept in memory.
    """
    model_folder.require(folder)
    config = model_folder.read_config(folder)  # as it stands: mlx-lm lets generation_config.json replace its end tokens
    from mlx_lm.utils import dequantize_model, load_model

    try:
        if stop.is_set():
            raise Interrupted
        with _pattern_free(folder) as place:
            model, _ = load_model(place, lazy=True)
        if mx.default_device() == mx.cpu:
            model = dequantize_model(model)
            model.set_dtype(mx.float32)
        yield from _read(model, folder, stop)
        tokenizer = load_tokenizer(folder)
        chat_format = ChatFormat(tokenizer)
    except (AppError, Interrupted, GeneratorExit):
        raise
    # Other people's code over other people's files: anything may come, a panic in Rust too, which is no Exception.
    except BaseException as error:
        hint = say(
            "Its files may be damaged, or of a kind that mlx-lm doesn't know: download it again or choose another."
        )
        if isinstance(error, MemoryError | RuntimeError):
            hint = say("If memory ran out, close other programs or choose a smaller model. {0}", hint)
        name = model_folder.display_name(folder)
        raise AppError(
            say("The model {0} couldn't be loaded: {1}", name, _first_line(error)), hint, repr(error)
        ) from error
    backend = backends.choose()
    ends = model_folder.end_tokens(folder, config) | set(tokenizer.eos_token_ids) | chat_format.end_tokens
    info = ModelInfo(
        name=model_folder.display_name(folder),
        path=str(folder),
        fingerprint=snapshot.fingerprint(model),
        backend=backend.name,
        weights_bytes=weights_bytes(model),
        context_tokens=support.context_tokens(config) or _tokenizer_limit(tokenizer, folder),
        layers=len(model.layers),
        kv_heads=_argument(model, "num_key_value_heads", "num_attention_heads"),
        head_dim=_argument(model, "head_dim")
        or _argument(model, "hidden_size") // max(1, _argument(model, "num_attention_heads")),
        generation=tuple(generation.of_model(model_folder.generation_config(folder)).items()),
        thinking=chat_format.thinking,
        format_notice=chat_format.notice,
    )
    mx.clear_cache()  # of what dequantising needed
    # Later collections pass over all that is loaded by now: a full one would hold up the window for 150 ms.
    gc.freeze()
    return LoadedModel(model, tokenizer, info, frozenset(ends), backend.notice, chat_format)


def load_tokenizer(folder: Path) -> Any:
    """mlx-lm's wrapper of the tokenizer in `folder`, with its chat template wherever that stands."""
    from mlx_lm import utils

    template = model_folder.legacy_template(folder)
    given = {"chat_template": template} if template else {}
    return utils.load_tokenizer(folder, {"trust_remote_code": False, "local_files_only": True, **given})


@contextlib.contextmanager
def _pattern_free(folder: Path) -> Iterator[Path]:
    """A path that is no pattern: mlx-lm looks for weights by one, and a name like Model[4bit] would find none."""
    if glob.escape(str(folder)) == str(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory() as place:
        link = Path(place) / "model"
        link.symlink_to(folder.absolute(), target_is_directory=True)
        yield link


def weights_bytes(model: Any) -> int:
    return sum(array.nbytes for array in _parameters(model))


def free_memory(collect: Callable[[], object]) -> None:
    """Hand back the memory of a model that was just let go of: cycles by `collect`, then MLX's pool of buffers.

    glibc keeps what is freed to it, which was 820 MB after a model of 1 GB: it is told to give that back.
    """
    gc.unfreeze()
    collect()
    mx.clear_cache()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library, which keeps less
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _read(model: Any, folder: Path, stop: threading.Event) -> Iterator[ModelLoadProgress]:
    arrays, total, done = _parameters(model), weights_bytes(model), 0
    group: list[mx.array] = []
    held = 0
    for array in arrays:
        group.append(array)
        held += array.nbytes
        if held >= min(_GROUP_BYTES, total // _STEPS):
            mx.eval(group)
            done += held
            group, held = [], 0
            yield ModelLoadProgress(str(folder), done, total)
        if stop.is_set():
            raise Interrupted
    mx.eval(group)


def _parameters(model: Any) -> list[mx.array]:
    flat: list[tuple[str, Any]] = tree_flatten(model.parameters())  # type: ignore[assignment]  # a list by default
    return [array for _, array in flat]


def _argument(model: Any, *names: str) -> int:
    """The first of the named model arguments that is set; 0 when none is."""
    arguments = getattr(model, "args", None)
    for holder in (arguments, getattr(arguments, "text_config", None)):
        for name in names:
            value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
            if isinstance(value, int) and value > 0:
                return value
    return 0


def _tokenizer_limit(tokenizer: Any, folder: Path) -> int:
    limit = getattr(tokenizer, "model_max_length", None)
    if isinstance(limit, int) and 0 < limit < 1 << 30:
        return limit
    raise AppError(
        say(
            "Neither config.json nor the tokenizer of {0} says how long a conversation may get.",
            model_folder.display_name(folder),
        ),
        say('Add "max_position_embeddings" to its config.json.'),
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
