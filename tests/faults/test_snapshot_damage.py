"""Damaged cache files: a clear notice, a rebuild, and the conversation goes on with its text whole."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache

from app.engine.engine import Engine
from app.events import Generate, OpenConversation, SnapshotLoaded, SnapshotRejected, TurnFinished
from tests.contract import families
from tests.engine_kit import (
    GREEDY,
    ask,
    drive,
    make_model,
    make_tokenizer,
    of,
    one,
    ready_engine,
    saved_files,
    transcript,
)
from turboquant import snapshot

LONG = "And God said, Let us make man in our image, after our likeness. " * 6
SCHEME = "turbo3"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def stored(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, str]:
    """A sound file, the reply in it, and the next one."""
    folder = tmp_path_factory.mktemp("sound")
    engine = ready_engine(model, folder)
    reply = ask(engine, transcript(LONG), SCHEME).text
    list(engine.close())
    rebuilt = ready_engine(model, folder / "empty")
    return saved_files(folder)[0].read_bytes(), reply, ask(rebuilt, transcript(LONG, reply, "And?"), SCHEME).text


@pytest.fixture(scope="module")
def engine(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return ready_engine(model, tmp_path_factory.mktemp("snapshots"))


def reopened(engine: Engine, content: bytes, reply: str) -> list[object]:
    """The events of opening the conversation with this file, and of the next turn."""
    engine.sessions.held.clear()
    engine.sessions.store.remove(engine.sessions.store.files())
    (engine.sessions.store.folder / "c.tqcache").write_bytes(content)
    messages = transcript(LONG, reply, "And?")
    events: list[object] = [*drive(engine, OpenConversation("c", messages[:2], SCHEME))]
    return [*events, *drive(engine, Generate("c", "r", messages, SCHEME, GREEDY))]


def check_rebuilt(engine: Engine, content: bytes, stored: tuple[bytes, str, str]) -> None:
    events = reopened(engine, content, stored[1])
    assert len(one(SnapshotRejected, events).reason) > 20
    assert not of(SnapshotLoaded, events)
    turn = one(TurnFinished, events)
    assert (turn.text, turn.reused_tokens) == (stored[2], 0)


def test_the_sound_file_is_used(engine: Engine, stored: tuple[bytes, str, str]) -> None:
    events = reopened(engine, stored[0], stored[1])
    assert not of(SnapshotRejected, events)
    assert one(TurnFinished, events).reused_tokens == one(SnapshotLoaded, events).tokens > 300


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_anywhere(engine: Engine, stored: tuple[bytes, str, str], data: st.DataObject) -> None:
    content = bytearray(stored[0])
    header = snapshot._PREFIX.size + int.from_bytes(content[12:16], "little")
    # Half of them in the short part that is read before the checksum could be.
    at = data.draw(st.one_of(st.integers(0, header - 1), st.integers(0, len(content) - 1)))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    check_rebuilt(engine, bytes(content), stored)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_or_lengthened_file(engine: Engine, stored: tuple[bytes, str, str], data: st.DataObject) -> None:
    content = stored[0]
    changed = data.draw(
        st.one_of(
            st.integers(0, len(content) - 1).map(lambda end: content[:end]),
            st.binary(min_size=1, max_size=40).map(lambda tail: content + tail),
            st.just(b""),
            st.binary(max_size=200),
        )
    )
    check_rebuilt(engine, changed, stored)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fingerprint": "0" * 32}, "another model"),
        ({"scheme": "turbo4"}, "turbo4"),
        ({"scheme": "turbo77"}, ""),
        ({"layers": []}, "layers"),
        ({"tokens": "many"}, ""),
        ({"layers": None}, ""),
        ({"version": 99}, "version 99"),
    ],
)
def test_a_sound_checksum_over_a_wrong_content(
    engine: Engine, stored: tuple[bytes, str, str], change: dict[str, object], words: str
) -> None:
    """As another program, or another version of this one, might have written it."""
    check_rebuilt(engine, _rewritten(stored[0], change), stored)
    events = reopened(engine, _rewritten(stored[0], change), stored[1])
    assert words in one(SnapshotRejected, events).reason


@pytest.mark.parametrize("layout", ["as one", "plain parts"])
def test_joined_caches_that_an_earlier_version_kept_raw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """Falcon H1 joins a state with its keys and values: the file is named, and the reply is that of a rebuild."""
    folder = _falcon(tmp_path / "falcon")
    engine = ready_engine(folder, tmp_path / "snapshots")
    with monkeypatch.context() as earlier:
        earlier.setattr("app.engine.session.make_cache", lambda model, scheme: make_prompt_cache(model))
        if layout == "as one":
            earlier.setattr(snapshot, "CacheList", type(None))
        reply = ask(engine, transcript(LONG), "none").text
        list(engine.close())
    (file,) = saved_files(tmp_path / "snapshots")
    messages = transcript(LONG, reply, "And?")
    expected = ask(ready_engine(folder, tmp_path / "empty"), messages, "none").text
    engine = ready_engine(folder, tmp_path / "snapshots")
    events = [*drive(engine, OpenConversation("c", messages[:2], "none"))]
    rejected = one(SnapshotRejected, events)
    assert rejected.cause == "another"
    assert "another version" in rejected.reason or "was stored as KVCache" in rejected.reason
    assert file.exists(), "nothing in it is damaged"
    turn = ask(engine, messages, "none")
    assert (turn.text, turn.reused_tokens) == (expected, 0)
    list(engine.close())
    events = drive(ready_engine(folder, tmp_path / "snapshots"), OpenConversation("c", messages, "none"))
    assert one(SnapshotLoaded, events).tokens > 300, "what this version writes, it reads"


def _falcon(folder: Path) -> Path:
    folder.mkdir()
    weights = dict(tree_flatten(families.tiny("falcon_h1", vocab_size=272).parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(families.config("falcon_h1", vocab_size=272)))
    make_tokenizer(folder)
    return folder


def _rewritten(content: bytes, change: dict[str, object]) -> bytes:
    """The file with other words in its header, and both checksums right."""
    prefix = snapshot._PREFIX
    _, version, length, _ = prefix.unpack(content[: prefix.size])
    start = prefix.size + length
    header = json.loads(content[prefix.size : start])
    version = change.get("version", version)
    header |= {name: value for name, value in change.items() if name != "version"}
    text = json.dumps(header, separators=(",", ":")).encode()
    body = prefix.pack(snapshot.MAGIC, version, len(text), zlib.crc32(text)) + text + content[start:-32]
    return body + hashlib.blake2b(body, digest_size=32).digest()
