"""Loading a model and letting it go: progress, stop, memory given back, a guard, and what a crash leaves."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import mlx.core as mx
import psutil
import pytest
from huggingface_hub import constants

from app import words
from app.engine import fit
from app.engine.engine import Engine
from app.engine.marker import Unfinished, WorkMarker
from app.events import (
    FitJudged,
    Generate,
    JudgeFit,
    LoadModel,
    ModelFailed,
    ModelLoaded,
    ModelLoading,
    ModelLoadProgress,
    ModelUnloaded,
    OpenConversation,
    PrefillStarted,
    SchemeSwitched,
    SnapshotLoaded,
    SnapshotSaved,
    SwitchScheme,
    TokenBatch,
    TurnFailed,
    TurnFinished,
    UnloadModel,
)
from tests.engine_kit import GREEDY, ask, drive, make_model, of, one, ready_engine, transcript

QUESTION = transcript("In the beginning God created the heaven and the earth. " * 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_model(tmp_path / "tiny")


# ---------------------------------------------------------------- progress and stop


def test_progress_rises_to_all_of_the_weights(folder: Path, tmp_path: Path) -> None:
    events = drive(Engine(tmp_path), LoadModel(str(folder)))
    steps = of(ModelLoadProgress, events)
    done = [step.done_bytes for step in steps]
    assert len(done) >= 5
    assert done == sorted(set(done))
    assert {step.total_bytes for step in steps} == {one(ModelLoaded, events).model.weights_bytes}
    assert steps[-1].done_bytes <= steps[-1].total_bytes


def test_a_stop_in_the_middle_gives_the_memory_back(folder: Path, tmp_path: Path) -> None:
    engine, before = Engine(tmp_path), mx.get_active_memory()
    stop = threading.Event()
    events = drive(engine, LoadModel(str(folder)), stop, lambda event: isinstance(event, ModelLoadProgress))
    failed = one(ModelFailed, events)  # kept, as the window may
    assert failed.error.message == "Stopped."
    assert len(of(ModelLoadProgress, events)) == 1
    assert mx.get_active_memory() - before < 1000
    assert not (tmp_path / "working.json").exists()
    one(ModelLoaded, drive(engine, LoadModel(str(folder))))


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_load_can_be_stopped_at_any_moment(folder: Path, tmp_path: Path, step: int) -> None:
    engine, before = Engine(tmp_path), mx.get_active_memory()
    for moment in range(1, 100, step):
        stop, left = threading.Event(), iter(range(moment - 1, -1, -1))
        events = drive(engine, LoadModel(str(folder)), stop, lambda event, left=left: next(left, 0) == 0)
        if of(ModelLoaded, events):
            break
        assert one(ModelFailed, events).error.message == "Stopped."
        assert mx.get_active_memory() - before < 1000
        assert not (tmp_path / "working.json").exists()
    assert moment > 5


def test_a_load_taken_back_before_it_began_leaves_the_model_at_hand(folder: Path, tmp_path: Path) -> None:
    engine, stop = ready_engine(folder, tmp_path), threading.Event()
    first = ask(engine, QUESTION)
    stop.set()
    other = make_model(tmp_path / "other", seed=8)
    assert one(ModelFailed, drive(engine, LoadModel(str(other)), stop)).error.message == "Stopped."
    assert ask(engine, transcript(QUESTION[0].content, first.text, "And then?")).reused_tokens > 50


@pytest.mark.parametrize("gone", ["cut", "deleted"])
def test_files_that_go_while_they_are_read(folder: Path, tmp_path: Path, gone: str) -> None:
    """As a disk that is pulled, or a model that is deleted by another program."""
    engine, before = Engine(tmp_path), mx.get_active_memory()

    def harm(event: object) -> bool:
        if isinstance(event, ModelLoadProgress) and folder.exists():
            os.truncate(folder / "model.safetensors", 10_000)
            if gone == "deleted":
                shutil.rmtree(folder)
        return False

    failed = one(ModelFailed, drive(engine, LoadModel(str(folder)), stop_when=harm))
    assert "The model tiny couldn't be loaded" in failed.error.message
    assert "download it again" in failed.error.hint
    assert mx.get_active_memory() - before < 1000
    one(ModelLoaded, drive(engine, LoadModel(str(make_model(tmp_path / "other")))))


def test_a_tokenizer_that_panics_is_a_load_that_failed(folder: Path, tmp_path: Path) -> None:
    """A panic in Rust is no Exception: it would end the engine's thread, and nothing would be answered any more."""
    tokenizer = json.loads((folder / "tokenizer.json").read_bytes())
    tokenizer["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAAA"}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    failed = one(ModelFailed, drive(Engine(tmp_path), LoadModel(str(folder))))
    assert "couldn't be loaded: Precompiled" in failed.error.message
    assert not (tmp_path / "working.json").exists()


def test_a_load_that_fails_gives_the_memory_back(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    before = mx.get_active_memory()
    failed = one(ModelFailed, drive(Engine(tmp_path), LoadModel(str(folder))))
    assert "couldn't be loaded" in failed.error.message
    assert mx.get_active_memory() - before < 1000


def test_three_swaps_end_at_one_models_memory(tmp_path: Path) -> None:
    first, second = make_model(tmp_path / "a"), make_model(tmp_path / "b", seed=8)
    engine, before, held = Engine(tmp_path), mx.get_active_memory(), []
    for model in (first, second, first):
        loaded = one(ModelLoaded, drive(engine, LoadModel(str(model))))
        held.append(mx.get_active_memory() - before)
        assert mx.get_cache_memory() < loaded.model.weights_bytes / 2
        ask(engine, QUESTION, "none")
    assert max(held) - min(held) < 5000
    assert held[0] == pytest.approx(loaded.model.weights_bytes, rel=0.05)


def test_loading_asks_nobody(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the hub may be asked for other things."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("a name was looked up"))
    one(ModelLoaded, drive(Engine(tmp_path), LoadModel(str(folder))))
    assert not constants.is_offline_mode()


# ---------------------------------------------------------------- unloading


def test_an_unloaded_model_gives_its_memory_back_and_wakes_for_a_reply(folder: Path, tmp_path: Path) -> None:
    before = mx.get_active_memory()
    engine = ready_engine(folder, tmp_path)
    first = ask(engine, QUESTION)
    events = drive(engine, UnloadModel(idle=True))
    assert one(ModelUnloaded, events) == ModelUnloaded(str(folder), "tiny", idle=True)
    one(SnapshotSaved, events)
    assert mx.get_active_memory() - before < 1000
    assert drive(engine, OpenConversation("c", (), "turbo4")) == []  # looking wakes nobody
    assert drive(engine, UnloadModel()) == []
    more = transcript(QUESTION[0].content, first.text, "And then?")
    events = drive(engine, Generate("c", "r", more, "turbo4", GREEDY))
    kinds = [type(event) for event in events]
    assert (
        kinds.index(ModelLoading) < kinds.index(ModelLoaded) < kinds.index(SnapshotLoaded) < kinds.index(TurnFinished)
    )
    assert one(TurnFinished, events).reused_tokens > 50


def test_a_switch_wakes_it_too(folder: Path, tmp_path: Path) -> None:
    engine = ready_engine(folder, tmp_path)
    ask(engine, QUESTION)
    drive(engine, UnloadModel())
    events = drive(engine, SwitchScheme("c", "turbo2", QUESTION))
    one(ModelLoaded, events)
    assert one(SchemeSwitched, events).to_scheme == "turbo2"


def test_a_model_that_cannot_be_woken_is_asked_again(folder: Path, tmp_path: Path) -> None:
    engine = ready_engine(folder, tmp_path)
    drive(engine, UnloadModel())
    folder.rename(tmp_path / "away")
    events = drive(engine, Generate("c", "r", QUESTION, "turbo4", GREEDY))
    assert one(ModelFailed, events).error.message == one(TurnFailed, events).error.message
    (tmp_path / "away").rename(folder)
    assert ask(engine, QUESTION).generated_tokens > 0


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is told otherwise elsewhere")
def test_the_system_gets_a_real_models_memory_back(starter_model_path: Path, tmp_path: Path) -> None:
    process = psutil.Process()
    engine = ready_engine(starter_model_path, tmp_path)
    ask(engine, transcript("Hello"))
    loaded = process.memory_info().rss
    drive(engine, UnloadModel())
    assert loaded - process.memory_info().rss > 450_000_000


# ---------------------------------------------------------------- the guard


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> fit.Machine:
    """A machine with memory for the tiny model and a conversation of about 3,000 raw tokens."""
    whole = fit.Forecast(CONFIG, cpu=True)
    free = whole.needed_bytes("none", 3000)
    machine = fit.Machine(4 * free, 2 * free, free)
    monkeypatch.setattr(fit.Machine, "now", lambda: machine)
    return machine


CONFIG = {
    "model_type": "llama",
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "intermediate_size": 192,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "vocab_size": 272,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}


def test_a_load_that_would_not_fit_says_so_and_offers_what_would(
    folder: Path, tmp_path: Path, small: fit.Machine
) -> None:
    engine = Engine(tmp_path)
    failed = one(ModelFailed, drive(engine, LoadModel(str(folder))))
    assert "tiny wasn't loaded: with 4,096 uncompressed tokens" in failed.error.message
    assert f"{words.size(small.free_bytes)} of memory are free" in failed.error.message
    assert "Choose the scheme turbo8" in failed.error.hint
    assert failed.fit is not None
    shorter = failed.fit.schemes[0].longest_tokens
    assert 2800 < shorter < 3200
    assert f"limit conversations to {shorter:,} tokens" in failed.error.hint
    # Each offer holds.
    one(ModelLoaded, drive(engine, LoadModel(str(folder), scheme="turbo8")))
    loaded = one(ModelLoaded, drive(engine, LoadModel(str(folder), context_tokens=shorter)))
    assert loaded.model.context_tokens == shorter
    one(ModelLoaded, drive(engine, LoadModel(str(folder), anyway=True)))
    # What is at hand stays when the next one would not fit.
    one(ModelFailed, drive(engine, LoadModel(str(make_model(tmp_path / "b")))))
    ask(engine, QUESTION)


def test_where_nothing_fits_it_says_what_could_be_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for machine, told in ((fit.Machine(10**9, 10**9, 1), "Close other programs"), (fit.Machine(2, 1, 1), "smaller")):
        monkeypatch.setattr(fit.Machine, "now", lambda machine=machine: machine)
        failed = one(ModelFailed, drive(Engine(tmp_path), LoadModel(str(folder))))
        assert told in failed.error.hint


def test_what_is_loaded_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's figure stands still here: others on the machine take and give memory all the time."""
    memory = psutil.virtual_memory()
    memory = memory._replace(available=memory.total // 4)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    mx.clear_cache()
    without = fit.Machine.now().free_bytes
    ballast = mx.zeros((1 << 28,), mx.uint8)
    mx.eval(ballast)
    assert 0 <= fit.Machine.now().free_bytes - without - ballast.nbytes < 4096  # beside it a scalar of its own


def test_dequantised_weights_are_what_counts_on_a_cpu(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored in a quarter, they take as much as float32 once loaded."""
    monkeypatch.setattr(fit.Machine, "now", lambda: fit.Machine(2, 1, 1))
    config = CONFIG | {"quantization": {"group_size": 32, "bits": 8}}
    (folder / "config.json").write_text(json.dumps(config))
    failed = one(ModelFailed, drive(Engine(tmp_path), LoadModel(str(folder))))
    assert failed.fit is not None
    assert failed.fit.weights_bytes == fit.Forecast(CONFIG, cpu=True).weights_bytes


# ---------------------------------------------------------------- a crash


CRASH = """
import os, sys, threading
from pathlib import Path
import turboquant
from app.engine.engine import Engine
from app.events import LoadModel, ModelLoadProgress
for event in Engine(Path(sys.argv[2])).run(LoadModel(sys.argv[1]), threading.Event()):
    if isinstance(event, ModelLoadProgress):
        os.kill(os.getpid(), 9)
"""


def test_a_load_that_ended_the_program_leaves_its_mark(folder: Path, tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", CRASH, str(folder), str(tmp_path)], cwd=Path(__file__).parents[4])
    assert child.returncode == -9
    marker = WorkMarker(tmp_path)
    assert marker.read() == Unfinished("load", str(folder))
    engine = Engine(tmp_path)
    assert marker.read() is not None  # an engine alone doesn't clear it
    one(ModelLoaded, drive(engine, LoadModel(str(folder))))
    assert marker.read() is None


def test_a_turn_marks_what_it_is_at(folder: Path, tmp_path: Path) -> None:
    engine, marker = ready_engine(folder, tmp_path), WorkMarker(tmp_path)
    seen = {}
    for event in engine.run(Generate("c", "r", transcript("hello"), "turbo4", GREEDY), threading.Event()):
        seen[type(event)] = marker.read()
    assert seen[PrefillStarted] == Unfinished("prefill", str(folder), "c")
    assert seen[TokenBatch] == Unfinished("generate", str(folder), "c")
    assert marker.read() is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"doing": "dance", "folder": "", "conversation": "", "file": ""}',
     b'{"doing": "load", "folder": 7, "conversation": "", "file": ""}'],
)  # fmt: skip
def test_a_damaged_mark_says_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "working.json").write_bytes(content)
    assert WorkMarker(tmp_path).read() is None


def test_a_folder_that_cannot_be_written_hinders_nothing(folder: Path, tmp_path: Path) -> None:
    one(ModelLoaded, drive(Engine(tmp_path / "no such folder"), LoadModel(str(folder))))


# ---------------------------------------------------------------- fit, asked of the engine


def test_fit_is_asked_and_answered(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    told = one(FitJudged, drive(engine, JudgeFit("some/model", json.dumps(CONFIG))))
    assert (told.model, told.reason) == ("some/model", "")
    assert told.fit is not None
    assert told.fit.verdict == "fits"
    told = one(FitJudged, drive(engine, JudgeFit("other", "{")))
    assert (told.fit, told.reason) == (None, "Its config.json can't be read.")
