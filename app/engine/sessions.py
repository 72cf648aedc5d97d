"""The conversations' caches: a few in memory, the others on disk, and which of them serves a command best."""

from __future__ import annotations

import copy
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import mlx.core as mx
from mlx_lm.generate import generation_stream

from app.engine.finding import Offer, Wanted, useful
from app.engine.loader import LoadedModel
from app.engine.marker import Unfinished, WorkMarker
from app.engine.session import MIN_KEPT_TOKENS, Session
from app.engine.shelf import Shelf, Stored, key
from app.errors import AppError
from app.events import (
    AdoptCache,
    CacheAdopted,
    CachePacked,
    Event,
    Generate,
    OpenConversation,
    PackedFile,
    SnapshotLoaded,
    SnapshotNotSaved,
    SnapshotRejected,
    SnapshotSaved,
    SnapshotsRemoved,
    SwitchScheme,
    TurnFinished,
)
from app.library.snapshots import DEFAULT_QUOTA_BYTES, FOREIGN, SnapshotStore
from app.words import say, size, why
from turboquant import make_cache, plan, report, schemes
from turboquant.errors import SaveCancelled, SnapshotDamaged, SnapshotError

log = logging.getLogger(__name__)

# A rate is measured over at least this much.
_RATE_TOKENS, _RATE_BYTES = 64, 1 << 20


class Sessions:
    """`held` are the caches in memory, the current conversation's last. `quota_bytes` is what all files may take."""

    def __init__(self, folder: Path, marker: WorkMarker, kept_sessions: int, kept_bytes: int) -> None:
        self.store = SnapshotStore(folder)
        self.held: OrderedDict[str, Session] = OrderedDict()
        self.quota_bytes = DEFAULT_QUOTA_BYTES
        self._shelf, self._marker = Shelf(self.store), marker
        self._kept_sessions, self._kept_bytes = kept_sessions, kept_bytes
        self._rates: dict[str, float] = {}  # model's fingerprint → tokens a second, of its last long prefill
        self._bytes_per_s = 0.0  # of the last long write

    # ------------------------------------------------------------ the cache for a command

    def take(
        self, loaded: LoadedModel, command: OpenConversation | Generate | SwitchScheme
    ) -> Generator[Event, None, Session]:
        """The session that serves the command best, made current and cut back to what the command's branch shares.

        A switch takes what is in memory as it is. A reply may begin on a copy of another conversation's cache.
        """
        conversation_id = command.conversation_id
        session = self.held.get(conversation_id)
        if session is None or not isinstance(command, SwitchScheme):
            session = yield from self._best(loaded, command, session)
        self.held[conversation_id] = session
        self.held.move_to_end(conversation_id)
        yield from self._make_room()
        return session

    def _best(
        self, loaded: LoadedModel, command: OpenConversation | Generate | SwitchScheme, held: Session | None
    ) -> Generator[Event, None, Session]:
        scheme = None if isinstance(command, SwitchScheme) else schemes.parse(command.scheme).name
        wanted = Wanted(loaded, command)
        reach = wanted.reach(held.tokens) if held else 0
        serves = useful(reach, len(held.tokens), held.can_trim, held.scheme) if held else 0
        session = held
        complete = wanted.ids is None or serves + MIN_KEPT_TOKENS > len(wanted.ids)
        if held is None or not complete:
            found = yield from self._found(loaded, command, wanted, scheme, serves)
            if found is not None:
                if held is not None and held.tip not in _ids(command):
                    yield from self.save(held)  # another branch's
                session, reach = found
        if session is None:
            yield from self._say_why(loaded, command.conversation_id, scheme)
            session = Session(loaded, command.conversation_id, scheme or schemes.NONE.name)
        if wanted.ids is not None and session.tip not in _ids(command) and reach < len(session.tokens):
            yield from self.save(session)
            session.rewind(reach)
            session.tip = command.messages[-1].message_id
        return session

    def _found(
        self, loaded: LoadedModel, command: OpenConversation | Generate | SwitchScheme, wanted: Wanted,
        scheme: str | None, serves: int,
    ) -> Generator[Event, None, tuple[Session, int] | None]:  # fmt: skip
        """A session from elsewhere than this conversation's own in memory, which `serves` so many tokens, and how many
        the found one does; None where nothing is better.
        """
        conversation_id = command.conversation_id
        self._shelf.refresh()
        asked = _scheme_that_counts(loaded, scheme)
        fitting = [entry for entry in self._shelf.stored if not _hindrance(entry, loaded, asked)]
        own = [entry for entry in fitting if entry.file.conversation == conversation_id]
        if wanted.ids is None:
            offers = [Offer(len(entry.tokens), entry) for entry in own]  # the newest
        else:
            anywhere = isinstance(command, Generate)
            sessions = [s for s in self.held.values() if _lends(s.conversation_id, command) and s.scheme == scheme]
            others = [entry for entry in fitting if _lends(entry.file.conversation, command)]
            least = serves + MIN_KEPT_TOKENS if serves else 0
            offers = wanted.offers(sessions if anywhere else (), own, others if anywhere else [], least)
        for offer in offers:
            if isinstance(offer.source, Session):
                return offer.source.copy(conversation_id), offer.reach
            session = yield from self._read(loaded, conversation_id, scheme, offer.source)
            if session is None:
                continue
            if offer.reach < len(session.tokens) and not session.can_trim:
                offer.source.whole = True
                continue
            return session, offer.reach
        return None

    def _read(
        self, loaded: LoadedModel, conversation_id: str, scheme: str | None, entry: Stored
    ) -> Generator[Event, None, Session | None]:
        """None where the file can't be used; one that is damaged is removed."""
        file, started = entry.file, time.perf_counter()
        own = file.conversation == conversation_id
        try:
            with self._marker.over(Unfinished("open", loaded.info.path, conversation_id, file.name)):
                session = Session.read(loaded, conversation_id, scheme, file.path)
        except SnapshotError as error:
            # the text: a kept record mustn't keep the frames, and so a model
            log.warning("%s: %s", file.name, str(error))
            self._shelf.refuse(entry, type(error)(str(error)))
            if isinstance(error, SnapshotDamaged):
                yield SnapshotsRemoved(tuple(self.store.remove([file])))
            if own:
                yield _rejected(conversation_id, error)
            return None
        self._shelf.use(entry)
        session.tip = file.tip if own else ""
        yield SnapshotLoaded(
            file.conversation,
            snapshot_bytes=file.size_bytes,
            seconds=time.perf_counter() - started,
            tokens=len(session.tokens),
            scheme=session.scheme,
            file=file.name,
        )
        return session

    def _say_why(self, loaded: LoadedModel, conversation_id: str, scheme: str | None) -> Iterator[Event]:
        """Why none of a conversation's files serves; nothing where it has none, or its text has changed."""
        for file, error in self._shelf.unreadable:
            if file.conversation == conversation_id:
                if isinstance(error, SnapshotDamaged):
                    yield SnapshotsRemoved(tuple(self.store.remove([file])))
                yield _rejected(conversation_id, error)
                return
        mine = [entry for entry in self._shelf.stored if entry.file.conversation == conversation_id]
        reasons = [_hindrance(entry, loaded, _scheme_that_counts(loaded, scheme)) for entry in mine]
        if reasons and all(reasons):
            yield SnapshotRejected(conversation_id, reasons[0], "another")

    def _make_room(self) -> Iterator[Event]:
        """Save and let go of the caches used longest ago, beyond what may be kept beside the current one."""
        others = list(self.held.items())[:-1]
        held = sum(session.allocated_bytes for _, session in others)
        for left, (conversation_id, session) in zip(range(len(others), 0, -1), others, strict=True):
            if left < self._kept_sessions and held <= self._kept_bytes:
                break
            yield from self.save(session)
            held -= session.allocated_bytes
            del self.held[conversation_id]
            mx.clear_cache()

    def begun(self, session: Session, command: Generate) -> None:
        """A reply is being written into this session."""
        session.tip = command.reply_id
        session.branch = _ids(command) | {command.reply_id}

    def note(self, session: Session, turn: TurnFinished) -> None:
        """Remember how fast the model read."""
        if turn.prompt_tokens - turn.reused_tokens >= _RATE_TOKENS and turn.prefill_tokens_per_s:
            self._rates[session.loaded.info.fingerprint] = turn.prefill_tokens_per_s

    # ------------------------------------------------------------ saving

    def save_all(self, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """On its own: a session that a caller still names keeps its model."""
        for session in list(self.held.values()):
            if cancelled():
                break
            yield from self.save(session, cancelled)

    def save_until(self, deadline: float) -> Iterator[Event]:
        """What changed, the latest first; what there is no time for until `deadline` (monotonic) is said."""
        for session in reversed(self.held.values()):
            left = deadline - time.monotonic()
            needed = _file_bytes(session) / self._bytes_per_s if self._bytes_per_s else 0.0
            if session.dirty and session.tokens and (left <= 0 or needed > left):
                yield SnapshotNotSaved(session.conversation_id, say("there was no time for it"), at_end=True)
            else:
                yield from self.save(session, lambda: time.monotonic() > deadline, at_end=True)

    def save(
        self, session: Session, cancelled: Callable[[], bool] = lambda: False, at_end: bool = False
    ) -> Iterator[Event]:
        """Nothing happens where nothing changed, or this very cache is on disk; cancelled, it stays to be saved."""
        if not (session.dirty and session.tokens):
            session.dirty = False
            return
        conversation_id, fingerprint = session.conversation_id, session.loaded.info.fingerprint
        path = self.store.path(conversation_id, session.tip, key(session.tokens, fingerprint, session.scheme))
        if path.exists():
            session.dirty = False
            return
        if (needed := _file_bytes(session)) > self.quota_bytes:
            yield SnapshotNotSaved(conversation_id, _too_large(needed, self.quota_bytes), at_end)
            return
        started = time.perf_counter()
        try:
            size = session.write(path, cancelled)
        except SaveCancelled:
            if at_end:
                yield SnapshotNotSaved(conversation_id, say("there was no time for it"), at_end)
            return
        except OSError as error:
            log.warning("the cache of %s can't be saved: %s", conversation_id, error)
            yield SnapshotNotSaved(conversation_id, why(error), at_end)
            return
        seconds = time.perf_counter() - started
        if size >= _RATE_BYTES:
            self._bytes_per_s = size / seconds
        yield SnapshotSaved(
            conversation_id,
            size,
            seconds,
            len(session.tokens),
            file=path.name,
            tip=session.tip,
            scheme=session.scheme,
            fingerprint=fingerprint,
            prefill_tokens_per_s=self._rates.get(fingerprint, 0.0),
        )
        gone = [*self._remove_replaced(session, path), *self.store.make_room(self.quota_bytes, keep=path)]
        if gone:
            yield SnapshotsRemoved(tuple(gone))

    def _remove_replaced(self, session: Session, path: Path) -> list[str]:
        """Of this conversation and model: what an earlier message of the branch left, and what the new file holds."""
        self._shelf.refresh()
        tokens, replaced = session.tokens, []
        for entry in self._shelf.stored:
            file, held = entry.file, len(entry.tokens)
            mine = file.conversation == session.conversation_id and file.path != path
            if mine and entry.fingerprint == session.loaded.info.fingerprint:
                earlier = file.tip in session.branch or file.tip in ("", session.tip)
                if earlier or (held <= len(tokens) and entry.tokens.tolist() == tokens[:held]):
                    replaced.append(file)
        return self.store.remove(replaced)

    # ------------------------------------------------------------ what the user does with files

    def limit(self, quota_bytes: int) -> Iterator[Event]:
        self.quota_bytes = quota_bytes
        if gone := self.store.make_room(quota_bytes):
            yield SnapshotsRemoved(tuple(gone))

    def discard(self, conversation_id: str) -> Iterator[Event]:
        self.held.pop(conversation_id, None)
        mx.clear_cache()
        if gone := self.store.remove(self.store.files(conversation_id)):
            yield SnapshotsRemoved(tuple(gone))

    def discard_all(self) -> Iterator[Event]:
        for session in self.held.values():
            session.dirty = False
        yield SnapshotsRemoved(tuple(self.store.remove(self.store.files())))

    def pack(self, conversation_id: str) -> Iterator[Event]:
        if conversation_id in self.held:
            yield from self.save(self.held[conversation_id])
        self._shelf.refresh()
        mine = [entry for entry in self._shelf.stored if entry.file.conversation == conversation_id]
        files = (PackedFile(str(e.file.path), e.file.tip, e.fingerprint, e.scheme, len(e.tokens)) for e in mine)
        yield CachePacked(conversation_id, tuple(files))

    def adopt(self, loaded: LoadedModel | None, command: AdoptCache) -> Iterator[Event]:
        """The file came from elsewhere: nothing in it is believed before the model has taken a step with it."""
        path = Path(command.path)
        try:
            if loaded is None:
                raise AppError(say("no model is loaded that could take it"))
            started = time.perf_counter()
            with self._marker.over(Unfinished("open", loaded.info.path, command.conversation_id, path.name)):
                session = Session.read(loaded, command.conversation_id, None, path)
                _try_out(session)
            if (size := path.stat().st_size) > self.quota_bytes:
                raise AppError(_too_large(size, self.quota_bytes))
            fingerprint = loaded.info.fingerprint
            place = self.store.path(
                command.conversation_id, command.tip, key(session.tokens, fingerprint, session.scheme)
            )
            path.replace(place)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if not isinstance(error, AppError | SnapshotError | OSError):
                raise
            log.warning("an imported cache isn't taken: %s", str(error))
            yield CacheAdopted(command.conversation_id, _why_left_out(error))
            return
        seconds, tokens = time.perf_counter() - started, len(session.tokens)
        rate = self._rates.get(fingerprint, 0.0)
        yield SnapshotSaved(command.conversation_id, size, 0.0, tokens, place.name, command.tip, session.scheme,
                            fingerprint, rate)  # fmt: skip
        yield SnapshotLoaded(command.conversation_id, size, seconds, tokens, session.scheme, place.name)
        if gone := self.store.make_room(self.quota_bytes, keep=place):
            yield SnapshotsRemoved(tuple(gone))
        yield CacheAdopted(command.conversation_id)


def _lends(other: str, command: OpenConversation | Generate | SwitchScheme) -> bool:
    """Whether the caches of this conversation may begin the command's, which is another one."""
    return other != command.conversation_id and not other.startswith(FOREIGN)


def _ids(command: OpenConversation | Generate | SwitchScheme) -> frozenset[str]:
    return frozenset(message.message_id for message in command.messages)


def _scheme_that_counts(loaded: LoadedModel, scheme: str | None) -> str | None:
    """None where any will do: a model without a layer to pack is under any scheme what it is under none."""
    return scheme if scheme and plan.packable(make_cache(loaded.model, scheme)) else None


def _hindrance(entry: Stored, loaded: LoadedModel, scheme: str | None) -> str:
    """Why the file can't serve this model under this scheme (None: any), whatever is in it; else empty."""
    if entry.fingerprint != loaded.info.fingerprint:
        return "The cache file was made by another model."
    return "" if scheme in (None, entry.scheme) else f"The cache file holds {entry.scheme}, not {scheme}."


def _rejected(conversation_id: str, error: SnapshotError) -> SnapshotRejected:
    return SnapshotRejected(conversation_id, str(error), "damaged" if isinstance(error, SnapshotDamaged) else "another")


def _why_left_out(error: AppError | SnapshotError | OSError) -> str:
    """For the user, as a part of a sentence; what turboquant says of a file is for the log."""
    match error:
        case AppError():
            return error.message
        case SnapshotDamaged():
            return say("it is damaged")
        case SnapshotError():
            return say("it was made by another model or another version of this program")
    return why(error)


def _file_bytes(session: Session) -> int:
    """About what its file will take."""
    return report.measure(session.caches).used_bytes + 8 * len(session.tokens)


def _too_large(needed: int, quota: int) -> str:
    return say("it takes {0}, and all saved caches together may take {1}", size(needed), size(quota))


def _try_out(session: Session) -> None:
    """One step over a copy of the caches. Raises SnapshotDamaged where the model can't take it."""
    loaded, tokens = session.loaded, session.tokens
    if not tokens or not all(0 <= token < len(loaded.tokenizer) for token in tokens):
        raise SnapshotDamaged("The cache file holds tokens that this model doesn't know.")
    caches = copy.deepcopy(session.caches)
    try:
        with mx.stream(generation_stream):
            logits = loaded.model(mx.array(tokens[-1:])[None], cache=caches)
            sound = bool(mx.all(mx.isfinite(logits)).item())
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"The model can't read the cache file ({error!r}).") from error
    if not sound:
        raise SnapshotDamaged("The cache file leads the model to no sound answer.")
