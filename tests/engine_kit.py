"""For tests of the engine: a tiny model folder with a real tokenizer, and short ways to drive an Engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from app.engine import loader
from app.engine.engine import Engine
from app.engine.loader import LoadedModel
from app.events import ChatMessage, Command, Event, Generate, GenerationParams, LoadModel, ModelLoaded, TurnFinished
from app.library.snapshots import SnapshotStore

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WRITTEN_TOKENS = 256 + 8  # bytes and merges
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
GREEDY = GenerationParams(temperature=0.0, max_tokens=24)

E = TypeVar("E")


def make_tokenizer(folder: Path, chat_template: str | None = CHATML) -> None:
    """Byte-level BPE: 256 bytes, a few merges, three special tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    vocab = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = [("h", "e"), ("he", "l"), ("l", "o"), ("hel", "lo"), ("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n")]
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "clean_up_tokenization_spaces": False,
    }
    if chat_template is not None:
        settings["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def add_special_tokens(folder: Path, *texts: str) -> None:
    """To a tokenizer of `make_tokenizer`, as tokens that are never split."""
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in texts])
    tokenizer.save(str(folder / "tokenizer.json"))


def load_tokenizer(folder: Path) -> Any:
    """As the loader does it."""
    return loader.load_tokenizer(folder)


def make_model(folder: Path, *, context: int = 4096, seed: int = 7, chat_template: str | None = CHATML) -> Path:
    """A random-weight llama on disk, ready for LoadModel: 2 layers, 4 query heads over 2 kv heads, head_dim 64."""
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_lm.models import llama

    config: dict[str, Any] = {
        "model_type": "llama",
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "intermediate_size": 192,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "rms_norm_eps": 1e-5,
        "vocab_size": 272,
        "max_position_embeddings": context,
        "tie_word_embeddings": True,
    }
    folder.mkdir(parents=True, exist_ok=True)
    mx.random.seed(seed)
    model = llama.Model(llama.ModelArgs.from_dict(config))
    # Larger than llama's own start values: a greedy reply then wanders instead of repeating one token.
    weights = {name: 4 * array if "norm" not in name else array for name, array in tree_flatten(model.parameters())}
    # Special tokens and unused ids get no logit: a random model would write them anywhere.
    embedding = weights["model.embed_tokens.weight"]
    weights["model.embed_tokens.weight"] = mx.where(mx.arange(272)[:, None] < WRITTEN_TOKENS, embedding, 0)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config))
    make_tokenizer(folder, chat_template)
    return folder


def load(folder: Path, stop: threading.Event | None = None) -> LoadedModel:
    """The loaded model, whatever progress was told."""
    loading = loader.load(folder, stop or threading.Event())
    while True:
        try:
            next(loading)
        except StopIteration as end:
            return end.value


def drive(
    engine: Engine,
    command: Command,
    stop: threading.Event | None = None,
    stop_when: Callable[[Event], bool] = lambda event: False,
) -> list[Event]:
    """Every event of the command; `stop` is set as soon as `stop_when` says so of one."""
    stop = stop or threading.Event()
    events = []
    for event in engine.run(command, stop):
        events.append(event)
        if stop_when(event):
            stop.set()
    return events


def of(kind: type[E], events: Sequence[object]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E], events: Sequence[object]) -> E:
    found = of(kind, events)
    assert len(found) == 1, f"{len(found)} × {kind.__name__} in {[type(e).__name__ for e in events]}: {events[-1]}"
    return found[0]


def ready_engine(model: Path, snapshots: Path, **limits: int) -> Engine:
    """An engine with the model loaded."""
    snapshots.mkdir(parents=True, exist_ok=True)
    engine = Engine(snapshots, **limits)
    one(ModelLoaded, drive(engine, LoadModel(str(model))))
    return engine


def transcript(*contents: str) -> tuple[ChatMessage, ...]:
    """Messages whose roles alternate, the user's first."""
    return tuple(ChatMessage(f"m{i}", "assistant" if i % 2 else "user", text) for i, text in enumerate(contents))


def ask(
    engine: Engine,
    messages: tuple[ChatMessage, ...],
    scheme: str = "turbo4",
    params: GenerationParams = GREEDY,
    conversation: str = "c",
) -> TurnFinished:
    """One turn, which must finish."""
    return one(TurnFinished, drive(engine, Generate(conversation, "reply", messages, scheme, params)))


def saved_files(folder: Path, conversation: str = "c") -> list[Path]:
    """The cache files of a conversation, the one used last first."""
    return [file.path for file in SnapshotStore(folder).files(conversation)]


def loaded_of(engine: Engine) -> LoadedModel:
    assert engine._loaded is not None
    return engine._loaded


def held_tokens(engine: Engine, conversation: str = "c") -> list[int]:
    """The tokens that a conversation's cache holds, after checking that the caches agree."""
    session = engine.sessions.held[conversation]
    assert {cache.offset for cache in session.caches} == {len(session.tokens)}
    return list(session.tokens)
