"""Frozen values that cross between the window and the engine thread: numbers, strings, tuples; never an array.

The window sends commands, the engine thread answers with events. Sizes are bytes, times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from app.cache_events import AdoptCache as AdoptCache
from app.cache_events import CacheAdopted as CacheAdopted
from app.cache_events import CachePacked as CachePacked
from app.cache_events import DiscardAllCaches as DiscardAllCaches
from app.cache_events import DiscardCache as DiscardCache
from app.cache_events import LimitSnapshots as LimitSnapshots
from app.cache_events import PackCache as PackCache
from app.cache_events import PackedFile as PackedFile
from app.cache_events import SaveSnapshots as SaveSnapshots
from app.cache_events import SnapshotLoaded as SnapshotLoaded
from app.cache_events import SnapshotNotSaved as SnapshotNotSaved
from app.cache_events import SnapshotRejected as SnapshotRejected
from app.cache_events import SnapshotSaved as SnapshotSaved
from app.cache_events import SnapshotsRemoved as SnapshotsRemoved
from app.errors import AppError
from app.generation import GenerationParams as GenerationParams
from app.generation import Value
from app.model_events import FitJudged as FitJudged
from app.model_events import JudgeFit as JudgeFit
from app.model_events import LoadModel as LoadModel
from app.model_events import ModelFit as ModelFit
from app.model_events import ModelLoadProgress as ModelLoadProgress
from app.model_events import ModelUnloaded as ModelUnloaded
from app.model_events import SchemeFit as SchemeFit
from app.model_events import UnloadModel as UnloadModel

# ---------------------------------------------------------------- shared values


@dataclass(frozen=True)
class ChatMessage:
    """One message of a transcript. `message_id` is the library's row; role is system, user or assistant."""

    message_id: str
    role: str
    content: str


@dataclass(frozen=True)
class ModelInfo:
    """A loaded model. `context_tokens` is the longest sequence it was trained for.

    `generation`: what its generation_config.json asks for (field of GenerationParams, value). `thinking`: whether it
    thinks unless told otherwise, None where that can't be switched. `format_notice`: why it isn't spoken to through a
    chat template of its own, else empty.
    """

    name: str
    path: str
    fingerprint: str
    backend: str
    weights_bytes: int
    context_tokens: int
    layers: int
    kv_heads: int
    head_dim: int
    generation: tuple[tuple[str, Value], ...] = ()
    thinking: bool | None = None
    format_notice: str = ""


@dataclass(frozen=True)
class LayerVerdict:
    """What one layer's cache does: the scheme it is compressed with, or the reason why it isn't.

    `note`: what isn't as usual in how it is compressed.
    """

    index: int
    kind: str
    scheme: str | None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class SchemeFidelity:
    """How close a scheme stays to the uncompressed cache, measured before, on `model` and not on the one at hand.

    `kld`: nats a token. `top1`: share of the same likeliest next token. `better`: a closer scheme that is no larger.
    """

    kld: float
    top1: float
    tokens: int
    texts: int
    model: str
    version: str
    better: str


@dataclass(frozen=True)
class SchemeOption:
    """One entry of the scheme dropdown. `ratio` is fp16 bytes over this scheme's, predicted from its widths.

    `fidelity` is None where it wasn't measured.
    """

    name: str
    key_bits: int
    value_bits: int
    ratio: float
    fidelity: SchemeFidelity | None = None


# ---------------------------------------------------------------- commands: window → engine thread


@dataclass(frozen=True)
class OpenConversation:
    """Bring this conversation's cache into memory if a snapshot serves it, and measure it."""

    conversation_id: str
    messages: tuple[ChatMessage, ...]
    scheme: str
    params: GenerationParams = field(default_factory=GenerationParams)


@dataclass(frozen=True)
class Generate:
    """Answer `messages` (the last is the user's); the text belongs to the assistant message `reply_id`. Where that is
    the last of them it has begun already, and goes on from its end.
    """

    conversation_id: str
    reply_id: str
    messages: tuple[ChatMessage, ...]
    scheme: str
    params: GenerationParams = field(default_factory=GenerationParams)

    @property
    def begun(self) -> str:
        """What the reply says already; empty for a new one."""
        last = self.messages[-1] if self.messages else None
        return last.content if last is not None and last.message_id == self.reply_id else ""


@dataclass(frozen=True)
class SwitchScheme:
    """Change a conversation's scheme. Queued behind a running turn; `messages` serve a rebuild."""

    conversation_id: str
    scheme: str
    messages: tuple[ChatMessage, ...]
    params: GenerationParams = field(default_factory=GenerationParams)


@dataclass(frozen=True)
class CountTokens:
    """Answered by TokensCounted, also while a reply is running. `request` is handed back."""

    request: int
    text: str


Command = (
    LoadModel | UnloadModel | JudgeFit | OpenConversation | Generate | SwitchScheme
    | DiscardCache | DiscardAllCaches | SaveSnapshots | LimitSnapshots | PackCache | AdoptCache
    | CountTokens
)  # fmt: skip

# ---------------------------------------------------------------- events: engine thread → window


@dataclass(frozen=True)
class ModelLoading:
    path: str
    name: str


@dataclass(frozen=True)
class ModelLoaded:
    model: ModelInfo
    schemes: tuple[SchemeOption, ...]
    load_s: float
    notice: str = ""  # e.g. why a slower backend runs


@dataclass(frozen=True)
class BackendNotice:
    """Said while the model runs: a kernel was tried for the first time and something slower takes its place."""

    notice: str


@dataclass(frozen=True)
class ModelFailed:
    """With `fit`: the model was not tried because memory is short (LoadModel's `anyway` tries it). What was loaded
    before is still there then.
    """

    path: str
    error: AppError
    fit: ModelFit | None = None


@dataclass(frozen=True)
class PrefillStarted:
    """`reused_tokens` came from the cache; the rest of `prompt_tokens` is computed now."""

    conversation_id: str
    prompt_tokens: int
    reused_tokens: int


@dataclass(frozen=True)
class PrefillProgress:
    conversation_id: str
    done_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class CachePlanned:
    conversation_id: str
    layers: tuple[LayerVerdict, ...]


@dataclass(frozen=True)
class TokenBatch:
    """More text of a reply, at most 30 a second. Pieces joined in order, behind what it had begun with, are all of it.

    `generated_tokens` is the reply's length so far.
    """

    conversation_id: str
    reply_id: str
    text: str
    generated_tokens: int


@dataclass(frozen=True)
class MemorySample:
    """Measured bytes of one conversation's cache at `tokens` cached tokens, at most 4 a second.

    `predicted` is what each scheme would take at the same count (name, bytes). `curves` is the same at counts between
    which it is a straight line (name, ((tokens, bytes), …)), going on as it ends: drawn dashed.
    """

    conversation_id: str
    scheme: str
    tokens: int
    used_bytes: int
    allocated_bytes: int
    fp16_bytes: int
    raw_tokens: int
    layers_compressed: int
    layers_total: int
    active_bytes: int
    peak_bytes: int
    resident_bytes: int
    predicted: tuple[tuple[str, int], ...] = ()
    curves: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()


@dataclass(frozen=True)
class TurnFinished:
    """`reason` is stop (end token), length (max_tokens) or interrupted (the user). `text` and `generated_tokens` are of
    the whole reply, also of one that went on.
    """

    conversation_id: str
    reply_id: str
    reason: Literal["stop", "length", "interrupted"]
    scheme: str
    text: str
    prompt_tokens: int
    reused_tokens: int
    generated_tokens: int
    prefill_tokens_per_s: float
    tokens_per_s: float


@dataclass(frozen=True)
class TurnFailed:
    conversation_id: str
    reply_id: str
    error: AppError


@dataclass(frozen=True)
class ContextFull:
    """The prompt doesn't fit and nothing was generated; the user chooses what to do.

    Dropping the oldest `droppable_turns` user turns (with their replies) makes room; 0 means that nothing does.
    """

    conversation_id: str
    reply_id: str
    prompt_tokens: int
    context_tokens: int
    droppable_turns: int


@dataclass(frozen=True)
class SwitchProgress:
    """A rebuild under way: tokens of the transcript prefilled again."""

    conversation_id: str
    done_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class SchemeSwitched:
    """`method`: encoded (from exact data), requantised (from packed data), rebuilt (prefilled again), empty (nothing
    was cached), unchanged (it was this scheme already). The last two are NOTHING_SWITCHED.
    """

    conversation_id: str
    from_scheme: str
    to_scheme: str
    tokens: int
    bytes_before: int
    bytes_after: int
    method: Literal["encoded", "requantised", "rebuilt", "empty", "unchanged"]
    seconds: float


# Methods that changed nothing cached: such a switch is neither recorded nor drawn.
NOTHING_SWITCHED = ("empty", "unchanged")


@dataclass(frozen=True)
class SwitchFailed:
    """The old cache and scheme are still in place."""

    conversation_id: str
    from_scheme: str
    to_scheme: str
    error: AppError | None  # None: the user cancelled


@dataclass(frozen=True)
class TokensCounted:
    """`tokens` of the loaded model's tokenizer; None: no model is loaded."""

    request: int
    tokens: int | None


Event = (
    ModelLoading | ModelLoadProgress | ModelLoaded | ModelFailed | ModelUnloaded | FitJudged | BackendNotice
    | PrefillStarted | PrefillProgress | CachePlanned | TokenBatch | MemorySample | TurnFinished | TurnFailed
    | ContextFull | SwitchProgress | SchemeSwitched | SwitchFailed | SnapshotSaved | SnapshotLoaded | SnapshotRejected
    | SnapshotNotSaved | SnapshotsRemoved | CachePacked | CacheAdopted | TokensCounted
)  # fmt: skip
