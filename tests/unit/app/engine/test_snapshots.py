"""Which cache serves a prompt: a branch's own, another conversation's beginning; what is written, and what goes."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import threading
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from app.engine.engine import Engine
from app.engine.marker import WorkMarker
from app.events import (
    AdoptCache,
    CacheAdopted,
    CachePacked,
    ChatMessage,
    DiscardAllCaches,
    DiscardCache,
    Event,
    Generate,
    LimitSnapshots,
    MemorySample,
    OpenConversation,
    PackCache,
    SaveSnapshots,
    SnapshotLoaded,
    SnapshotNotSaved,
    SnapshotSaved,
    SnapshotsRemoved,
    TurnFinished,
)
from app.library.snapshots import FOREIGN
from tests.engine_kit import GREEDY, drive, held_tokens, make_model, make_tokenizer, of, one, ready_engine, saved_files
from turboquant import snapshot

LONG = "And God saw every thing that he had made, and, behold, it was very good. " * 5
SCHEME = "turbo4"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    return ready_engine(model, tmp_path)


def said(*messages: tuple[str, str]) -> tuple[ChatMessage, ...]:
    """(id, text), the user first."""
    roles = ("user", "assistant")
    return tuple(ChatMessage(name, roles[place % 2], text) for place, (name, text) in enumerate(messages))


def ask(engine: Engine, messages: tuple[ChatMessage, ...], reply: str, conversation: str = "c") -> TurnFinished:
    return one(TurnFinished, drive(engine, Generate(conversation, reply, messages, SCHEME, GREEDY)))


def tips(folder: Path, conversation: str = "c") -> set[str]:
    return {file.name.split(".")[1] for file in saved_files(folder, conversation)}


def save(engine: Engine) -> list[Event]:
    return drive(engine, SaveSnapshots())


# ---------------------------------------------------------------- branches


def test_a_branch_has_one_file_and_each_branch_its_own(engine: Engine, model: Path, tmp_path: Path) -> None:
    first = ask(engine, said(("u1", LONG)), "a1")
    save(engine)
    one_branch = said(("u1", LONG), ("a1", first.text), ("u2", "What then? " + LONG))
    second = ask(engine, one_branch, "a2")
    save(engine)
    assert tips(tmp_path) == {"a2"}, "the earlier message's file is in the later one's"
    other_branch = said(("u1", LONG), ("a1", first.text), ("u3", "And who was there? " + LONG))
    third = ask(engine, other_branch, "a3")
    assert tips(tmp_path) == {"a2"}
    save(engine)
    assert tips(tmp_path) == {"a2", "a3"}

    back = (*one_branch, ChatMessage("a2", "assistant", second.text))
    events = drive(engine, OpenConversation("c", back, SCHEME, GREEDY))
    loaded = one(SnapshotLoaded, events)
    assert loaded.file.split(".")[1] == "a2"
    assert one(MemorySample, events).tokens == loaded.tokens == second.prompt_tokens + second.generated_tokens
    go_on = ask(engine, (*back, ChatMessage("u4", "user", "Go on.")), "a4")
    assert go_on.reused_tokens == loaded.tokens
    again = ready_engine(model, tmp_path)
    forth = (*other_branch, ChatMessage("a3", "assistant", third.text), ChatMessage("u5", "user", "Go on."))
    assert ask(again, forth, "a5").reused_tokens == third.prompt_tokens + third.generated_tokens


def test_a_branch_that_isnt_saved_yet_is_saved_before_it_is_cut_away(engine: Engine, tmp_path: Path) -> None:
    first = ask(engine, said(("u1", LONG)), "a1")
    events = drive(engine, Generate("c", "b1", said(("u1", LONG)), SCHEME, GREEDY))
    assert one(SnapshotSaved, events).tip == "a1"
    assert one(TurnFinished, events).reused_tokens == first.prompt_tokens - 1
    assert tips(tmp_path) == {"a1"}
    save(engine)
    assert tips(tmp_path) == {"b1"}, "it says the same, so its file holds the other one"


def test_nothing_of_the_other_branch_is_in_the_cache(engine: Engine) -> None:
    first = ask(engine, said(("u1", LONG)), "a1")
    ask(engine, said(("u1", LONG), ("a1", first.text), ("u2", "The secret is heron. " + LONG)), "a2")
    other = said(("u1", LONG), ("a1", first.text), ("u3", "Go on."))
    before = held_tokens(engine)
    sample = one(MemorySample, drive(engine, OpenConversation("c", other, SCHEME, GREEDY)))
    assert sample.tokens == len(held_tokens(engine)) < len(before)
    finished = ask(engine, other, "a3")
    format_ = engine._loaded.format  # type: ignore[union-attr]
    tokenizer = engine._loaded.tokenizer  # type: ignore[union-attr]
    text = tokenizer.decode(held_tokens(engine)[: finished.prompt_tokens], skip_special_tokens=False)
    assert text == format_.render(other, GREEDY).text


def test_the_same_cache_isnt_written_twice(engine: Engine, tmp_path: Path) -> None:
    ask(engine, said(("u1", LONG)), "a1")
    (saved,) = of(SnapshotSaved, save(engine))
    (file,) = saved_files(tmp_path)
    written = file.stat().st_mtime_ns
    engine.sessions.held["c"].dirty = True
    assert save(engine) == []
    assert (saved.file, file.stat().st_mtime_ns) == (file.name, written)


def test_a_file_of_version_1_serves(engine: Engine, model: Path, tmp_path: Path) -> None:
    first = ask(engine, said(("u1", LONG)), "a1")
    save(engine)
    (file,) = saved_files(tmp_path)
    file.rename(tmp_path / "c.tqcache")
    again = ready_engine(model, tmp_path)
    messages = said(("u1", LONG), ("a1", first.text), ("u2", "Go on."))
    assert ask(again, messages, "a2").reused_tokens == first.prompt_tokens + first.generated_tokens
    removed = one(SnapshotsRemoved, save(again))
    assert removed.files == ("c.tqcache",)
    assert tips(tmp_path) == {"a2"}


# ---------------------------------------------------------------- another conversation's beginning


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_new_conversation_begins_on_a_copy(engine: Engine, model: Path, tmp_path: Path, where: str) -> None:
    system = replace(GREEDY, system_prompt="You are a scholar. " + LONG)
    first = one(TurnFinished, drive(engine, Generate("a", "a1", said(("u1", "Who are you?")), SCHEME, system)))
    before = held_tokens(engine, "a")
    if where == "disk":
        save(engine)
        engine = ready_engine(model, tmp_path)
    events = drive(engine, Generate("b", "b1", said(("v1", "What do you know?")), SCHEME, system))
    finished = one(TurnFinished, events)
    assert len(of(SnapshotLoaded, events)) == (where == "disk")
    assert finished.reused_tokens > 350
    tokenizer = engine._loaded.tokenizer  # type: ignore[union-attr]
    assert "Who are you" not in tokenizer.decode(held_tokens(engine, "b"))
    if where == "memory":
        assert held_tokens(engine, "a") == before, "it was copied, not taken"
    go_on = said(("u1", "Who are you?"), ("a1", first.text), ("u2", "Go on."))
    last = one(TurnFinished, drive(engine, Generate("a", "a2", go_on, SCHEME, system)))
    assert last.reused_tokens == len(before)
    save(engine)
    assert tips(tmp_path, "a") == {"a2"}
    assert tips(tmp_path, "b") == {"b1"}


def test_what_is_too_short_or_of_another_scheme_isnt_shared(engine: Engine) -> None:
    ask(engine, said(("u1", "Who are you?")), "a1", "a")
    assert ask(engine, said(("u1", "Who are you?")), "a1", "b").reused_tokens == 0
    ask(engine, said(("u1", LONG)), "a1", "d")
    other = one(TurnFinished, drive(engine, Generate("e", "a1", said(("u1", LONG)), "turbo2", GREEDY)))
    assert other.reused_tokens == 0


def test_looking_at_a_conversation_takes_nothing_of_others(engine: Engine) -> None:
    ask(engine, said(("u1", LONG)), "a1", "a")
    assert one(MemorySample, drive(engine, OpenConversation("b", said(("u1", LONG)), SCHEME, GREEDY))).tokens == 0


# ---------------------------------------------------------------- caches that can't be cut back


def make_windowed(folder: Path) -> Path:
    """A gemma3 with windows of 128 tokens: once they have moved on, its caches can't be cut back."""
    from mlx.utils import tree_flatten
    from mlx_lm.models import gemma3_text

    config: dict[str, Any] = {
        "model_type": "gemma3_text", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 64,
        "num_attention_heads": 2, "head_dim": 64, "num_key_value_heads": 1, "query_pre_attn_scalar": 2048,
        "vocab_size": 272, "sliding_window": 128, "sliding_window_pattern": 2, "max_position_embeddings": 4096,
    }  # fmt: skip
    folder.mkdir(parents=True)
    mx.random.seed(3)
    model = gemma3_text.Model(gemma3_text.ModelArgs.from_dict(config))
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())), {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config))
    make_tokenizer(folder)
    return folder


def test_a_cache_that_cant_be_cut_back_serves_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = make_windowed(tmp_path / "models" / "windowed")
    engine = ready_engine(folder, tmp_path / "s")
    first = ask(engine, said(("u1", LONG * 3)), "a1")
    whole = held_tokens_of(engine)
    save(engine)
    edited = said(("u2", LONG + "Or so. " + LONG))
    assert ask(engine, edited, "a2").reused_tokens == 0
    assert ask(engine, edited, "b1", "other").reused_tokens == 0
    save(engine)
    assert tips(tmp_path / "s") == {"a1", "a2"}
    again = ready_engine(folder, tmp_path / "s")
    go_on = said(("u1", LONG * 3), ("a1", first.text), ("u3", "Go on."))
    assert ask(again, go_on, "a3").reused_tokens == len(whole)


def held_tokens_of(engine: Engine, conversation: str = "c") -> list[int]:
    return list(engine.sessions.held[conversation].tokens)


# ---------------------------------------------------------------- room


def test_over_the_quota_what_was_used_longest_ago_goes(engine: Engine, tmp_path: Path) -> None:
    for name in "ab":
        ask(engine, said(("u1", name * 400)), "a1", name)
    one_file = max(saved.snapshot_bytes for saved in of(SnapshotSaved, save(engine)))
    drive(engine, LimitSnapshots(int(2.5 * one_file)))
    ask(engine, said(("u1", "c" * 400)), "a1", "c")
    removed = one(SnapshotsRemoved, save(engine)).files
    assert [name.split(".")[0] for name in removed] == ["a"]
    assert [len(saved_files(tmp_path, name)) for name in "abc"] == [0, 1, 1]
    lowered = one(SnapshotsRemoved, drive(engine, LimitSnapshots(one_file + 100))).files
    assert [name.split(".")[0] for name in lowered] == ["b"]


def test_a_cache_larger_than_the_quota_isnt_written_and_that_is_said(engine: Engine, tmp_path: Path) -> None:
    drive(engine, LimitSnapshots(10_000))
    ask(engine, said(("u1", LONG)), "a1")
    assert "10.0 kB" in one(SnapshotNotSaved, save(engine)).reason
    assert saved_files(tmp_path) == []
    drive(engine, LimitSnapshots(10_000_000))
    one(SnapshotSaved, save(engine))


def test_at_the_end_what_there_is_no_time_for_is_said(engine: Engine, tmp_path: Path) -> None:
    for name in "ab":
        ask(engine, said(("u1", name * 400)), "a1", name)
    told = list(engine.close(seconds=0.0))
    assert [(event.conversation_id, event.at_end) for event in of(SnapshotNotSaved, told)] == [("b", True), ("a", True)]
    assert list(tmp_path.iterdir()) == []


def test_a_save_is_given_up_for_something_to_do(engine: Engine, tmp_path: Path) -> None:
    ask(engine, said(("u1", LONG)), "a1")
    stop = threading.Event()
    stop.set()
    assert drive(engine, SaveSnapshots(), stop) == []
    assert list(tmp_path.iterdir()) == []
    one(SnapshotSaved, save(engine))


def test_discarding(engine: Engine, tmp_path: Path) -> None:
    for name in "ab":
        ask(engine, said(("u1", name * 400)), "a1", name)
    save(engine)
    assert one(SnapshotsRemoved, drive(engine, DiscardCache("a"))).files[0].startswith("a.a1.")
    assert list(engine.sessions.held) == ["b"]
    assert one(SnapshotsRemoved, drive(engine, DiscardAllCaches())).files[0].startswith("b.a1.")
    assert list(engine.close()) == [], "what is in memory isn't written again by itself"
    assert list(tmp_path.iterdir()) == []


def test_a_save_names_what_it_spares(engine: Engine) -> None:
    first = ask(engine, said(("u1", LONG)), "a1")
    (saved,) = of(SnapshotSaved, save(engine))
    assert saved.prefill_tokens_per_s == first.prefill_tokens_per_s > 0
    assert (saved.scheme, saved.tip, saved.conversation_id) == (SCHEME, "a1", "c")
    assert saved.tokens == first.prompt_tokens + first.generated_tokens
    assert saved.fingerprint == engine._loaded.info.fingerprint  # type: ignore[union-attr]


# ---------------------------------------------------------------- from and to other machines


def test_packing_saves_first_and_names_the_files(engine: Engine, tmp_path: Path) -> None:
    assert one(CachePacked, drive(engine, PackCache("c"))).files == ()
    first = ask(engine, said(("u1", LONG)), "a1")
    events = drive(engine, PackCache("c"))
    one(SnapshotSaved, events)
    (packed,) = one(CachePacked, events).files
    assert Path(packed.path) == saved_files(tmp_path)[0]
    assert (packed.tip, packed.scheme, packed.tokens) == ("a1", SCHEME, first.prompt_tokens + first.generated_tokens)


@pytest.fixture
def foreign(engine: Engine, tmp_path: Path) -> tuple[Path, TurnFinished]:
    """A cache file and the turn in it."""
    first = ask(engine, said(("u1", LONG)), "a1")
    save(engine)
    file = tmp_path / "foreign"
    shutil.copy(saved_files(tmp_path)[0], file)
    return file, first


def test_an_adopted_cache_serves(model: Path, tmp_path: Path, foreign: tuple[Path, TurnFinished]) -> None:
    file, first = foreign
    other = ready_engine(model, tmp_path / "other")
    events = drive(other, AdoptCache("new", "n1", str(file)))
    assert one(CacheAdopted, events).reason == ""
    saved = one(SnapshotSaved, events)
    assert (saved.conversation_id, saved.tip, saved.tokens) == ("new", "n1", one(SnapshotLoaded, events).tokens)
    assert not file.exists()
    assert tips(tmp_path / "other", "new") == {"n1"}
    messages = said(("n0", LONG), ("n1", first.text), ("n2", "Go on."))
    assert ask(other, messages, "n3", "new").reused_tokens == saved.tokens


def test_an_adopted_cache_serves_no_other_conversation(
    model: Path, tmp_path: Path, foreign: tuple[Path, TurnFinished]
) -> None:
    """Its tokens may be those of anybody's system prompt; what is held for them can't be looked through."""
    file, first = foreign
    other = ready_engine(model, tmp_path / "other")
    mine = FOREIGN + "1"
    assert one(CacheAdopted, drive(other, AdoptCache(mine, "n1", str(file)))).reason == ""
    messages = said(("n0", LONG), ("n1", first.text), ("n2", "Go on."))
    assert ask(other, messages, "x3", "apart").reused_tokens == 0, "from its file"
    assert ask(other, messages, "n3", mine).reused_tokens > 0
    drive(other, DiscardCache("apart"))
    assert ask(other, messages, "y3", "another").reused_tokens == 0, "from memory"


def test_a_cache_of_another_model_or_without_one_isnt_taken(
    model: Path, tmp_path: Path, foreign: tuple[Path, TurnFinished]
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(foreign[0], copy)
    other = ready_engine(make_model(tmp_path / "models" / "other", seed=9), tmp_path / "other")
    assert "another model" in one(CacheAdopted, drive(other, AdoptCache("new", "n1", str(copy)))).reason
    none = Engine(tmp_path / "other")
    assert "no model" in one(CacheAdopted, drive(none, AdoptCache("new", "n1", str(foreign[0])))).reason
    assert not copy.exists()
    assert not foreign[0].exists()
    assert saved_files(tmp_path / "other", "new") == []


def endless(file: Path) -> None:
    """One of its tokens is no number that any type holds; all checksums are right."""
    prefix = struct.Struct("<8sIII")
    content = file.read_bytes()
    magic, version, length, _ = prefix.unpack_from(content)
    header = json.loads(content[prefix.size : prefix.size + length])
    header["tokens"][1] = float("inf")
    text = json.dumps(header).encode()
    content = prefix.pack(magic, version, len(text), zlib.crc32(text)) + text + content[prefix.size + length : -32]
    file.write_bytes(content + hashlib.blake2b(content, digest_size=32).digest())


@pytest.mark.parametrize("damage", ["flipped", "cut", "tokens", "endless", "missing"])
def test_a_cache_that_isnt_sound_isnt_taken(
    engine: Engine, tmp_path: Path, foreign: tuple[Path, TurnFinished], damage: str
) -> None:
    file = foreign[0]
    session = engine.sessions.held["c"]
    fingerprint = session.loaded.info.fingerprint
    match damage:
        case "flipped":
            content = bytearray(file.read_bytes())
            content[-100] ^= 1
            file.write_bytes(content)
        case "cut":
            file.write_bytes(file.read_bytes()[:-1])
        case "tokens":
            snapshot.save(file, session.caches, [999_999, *session.tokens[1:]], fingerprint)
        case "endless":
            endless(file)
        case "missing":
            file.unlink()
    files = set(tmp_path.iterdir()) - {file}
    assert one(CacheAdopted, drive(engine, AdoptCache("new", "n1", str(file)))).reason
    assert set(tmp_path.iterdir()) == files
    assert WorkMarker(tmp_path).read() is None
