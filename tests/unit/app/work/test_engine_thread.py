"""The engine in its thread, driven through its signal like the window does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, Slot
from pytestqt.qtbot import QtBot

from app.events import (
    CountTokens,
    Event,
    FitJudged,
    Generate,
    JudgeFit,
    LoadModel,
    ModelFailed,
    ModelLoaded,
    ModelLoading,
    ModelUnloaded,
    PrefillProgress,
    PrefillStarted,
    SaveSnapshots,
    SchemeSwitched,
    SnapshotLoaded,
    SnapshotSaved,
    SwitchFailed,
    SwitchScheme,
    TokenBatch,
    TokensCounted,
    TurnFailed,
    TurnFinished,
    UnloadModel,
)
from app.work.engine_thread import EngineThread
from tests.engine_kit import GREEDY, make_model, of, one, transcript

LONG = "And the Spirit of God moved upon the face of the waters. " * 10


class Listener(QObject):
    def __init__(self, engine: EngineThread) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.threads: set[int] = set()
        self.react: Callable[[Event], None] = lambda event: None
        engine.event_emitted.connect(self.on_event)

    @Slot(object)
    def on_event(self, event: Event) -> None:
        self.events.append(event)
        self.threads.add(threading.get_ident())
        self.react(event)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def engine(qtbot: QtBot, tmp_path: Path) -> Iterator[EngineThread]:
    engine = EngineThread(tmp_path)
    yield engine
    assert engine.shutdown()


@pytest.fixture
def listener(engine: EngineThread) -> Listener:
    return Listener(engine)


def idle(qtbot: QtBot, engine: EngineThread, listener: Listener, kind: type, count: int = 1) -> None:
    qtbot.waitUntil(lambda: len(of(kind, listener.events)) >= count and not engine.busy, timeout=120_000)


def test_commands_run_in_order_and_events_arrive_in_the_windows_thread(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    engine.submit(LoadModel(str(model)))  # before the start: it waits
    engine.start()
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", GREEDY))
    engine.submit(SwitchScheme("a", "turbo2", transcript(LONG)))
    engine.submit(SaveSnapshots())
    idle(qtbot, engine, listener, SnapshotSaved)
    kinds = [type(e) for e in listener.events]
    order = [kinds.index(kind) for kind in (ModelLoaded, TurnFinished, SchemeSwitched, SnapshotSaved)]
    assert order == sorted(order)
    assert listener.threads == {threading.get_ident()}


def test_stop_ends_the_reply_and_what_waits_goes_on(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    def react(event: Event) -> None:
        if isinstance(event, TokenBatch) and len(of(TokenBatch, listener.events)) == 1:
            engine.stop("a")

    listener.react = react
    engine.start()
    engine.submit(LoadModel(str(model)))
    engine.submit(Generate("a", "r", transcript(LONG), "turbo2", replace(GREEDY, max_tokens=3000)))
    engine.submit(Generate("b", "s", transcript(LONG), "turbo2", GREEDY))
    engine.submit(SwitchScheme("b", "turbo4", transcript(LONG)))
    idle(qtbot, engine, listener, SchemeSwitched)
    stopped, finished = of(TurnFinished, listener.events)
    assert (stopped.conversation_id, stopped.reason) == ("a", "interrupted")
    assert finished.reason != "interrupted"
    assert one(SchemeSwitched, listener.events).method == "rebuilt"


def test_stop_reaches_one_conversations_work_only_also_where_it_waits(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    told: list[Event] = []

    def react(event: Event) -> None:
        told.append(event)
        if isinstance(event, TokenBatch) and len(of(TokenBatch, told)) == 1:
            engine.stop("b")
            engine.stop(None)  # a load: there is none

    # in the engine's thread, so that the first reply can't end before
    engine.event_emitted.connect(react, Qt.ConnectionType.DirectConnection)
    engine.start()
    engine.submit(LoadModel(str(model)))
    idle(qtbot, engine, listener, ModelLoaded)
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", GREEDY))
    engine.submit(SwitchScheme("b", "turbo2", transcript(LONG)))
    engine.submit(Generate("b", "s", transcript(LONG), "none", GREEDY))
    engine.submit(SwitchScheme("a", "turbo2", transcript(LONG)))
    idle(qtbot, engine, listener, SchemeSwitched)
    finished, stopped = of(TurnFinished, listener.events)
    assert finished.reason != "interrupted"
    assert stopped.reason == "interrupted"
    failed = one(SwitchFailed, listener.events)
    assert (failed.conversation_id, failed.error) == ("b", None)
    assert one(SchemeSwitched, listener.events).conversation_id == "a"


def test_stop_before_the_reply_began_isnt_lost(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    engine.start()
    engine.submit(LoadModel(str(model)))
    idle(qtbot, engine, listener, ModelLoaded)
    engine.submit(SaveSnapshots())
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", replace(GREEDY, max_tokens=3000)))
    engine.stop("a")
    idle(qtbot, engine, listener, TurnFinished)
    assert one(TurnFinished, listener.events).reason == "interrupted"
    engine.stop("a")  # nothing runs: the next turn isn't harmed
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", GREEDY))
    idle(qtbot, engine, listener, TurnFinished, count=2)
    assert listener.events[-1].reason in ("length", "stop")  # type: ignore[union-attr]


@pytest.mark.parametrize("moment", [PrefillProgress, TokenBatch])
def test_closing_during_a_turn_saves_and_tells(qtbot: QtBot, tmp_path: Path, model: Path, moment: type) -> None:
    engine = EngineThread(tmp_path)
    listener = Listener(engine)
    engine.start()
    engine.submit(LoadModel(str(model)))
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", replace(GREEDY, max_tokens=3000)))
    qtbot.waitUntil(lambda: bool(of(moment, listener.events)), timeout=120_000)
    assert engine.shutdown()
    assert one(TurnFinished, listener.events).reason == "interrupted"
    saved = one(SnapshotSaved, listener.events)
    assert engine.shutdown()  # a second time does nothing

    again = EngineThread(tmp_path)
    heard = Listener(again)
    again.start()
    again.submit(LoadModel(str(model)))
    again.submit(Generate("a", "r", transcript(LONG), "turbo4", GREEDY))
    idle(qtbot, again, heard, TurnFinished)
    assert one(SnapshotLoaded, heard.events).tokens == saved.tokens
    assert again.shutdown()


def test_closing_during_the_load_of_a_real_model(qtbot: QtBot, tmp_path: Path, starter_model_path: Path) -> None:
    engine = EngineThread(tmp_path)
    listener = Listener(engine)
    engine.start()
    engine.submit(LoadModel(str(starter_model_path)))
    qtbot.waitUntil(lambda: bool(listener.events), timeout=120_000)
    assert engine.shutdown()


def test_closing_what_never_started(qtbot: QtBot, tmp_path: Path) -> None:
    engine = EngineThread(tmp_path)
    engine.submit(SaveSnapshots())
    assert engine.shutdown()


def test_an_installation_without_mlx_is_explained(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "app.engine.engine", None)  # as if its import failed
    engine.start()
    engine.submit(LoadModel(str(model)))
    idle(qtbot, engine, listener, ModelFailed)
    failed = one(ModelFailed, listener.events)
    assert failed.path == str(model)
    assert "can't be loaded" in failed.error.message


def test_an_idle_model_is_unloaded_and_wakes_for_the_next_reply(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    engine.start()
    engine.submit(LoadModel(str(model)))
    engine.submit(Generate("a", "r", transcript("Hello"), "turbo4", GREEDY))
    idle(qtbot, engine, listener, TurnFinished)
    assert not of(ModelUnloaded, listener.events)
    engine.idle_unload_s = 0.05  # by now over
    engine.submit(SaveSnapshots())  # no use of the model
    idle(qtbot, engine, listener, ModelUnloaded)
    assert one(ModelUnloaded, listener.events).idle
    engine.submit(Generate("a", "r2", transcript("Hello", "", "Again"), "turbo4", GREEDY))
    idle(qtbot, engine, listener, ModelUnloaded, count=2)
    kinds = [type(event) for event in listener.events]
    assert kinds.count(ModelLoaded) == kinds.count(TurnFinished) == 2


def test_unloading_waits_for_the_reply_and_never_costs_one(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    """Also while idleness unloads as fast as it can: each message that comes then is answered."""

    def unload(event: Event) -> None:
        if isinstance(event, PrefillStarted):
            engine.submit(UnloadModel())

    listener.react = unload
    engine.start()
    engine.idle_unload_s = 1e-6
    engine.submit(LoadModel(str(model)))
    for number in range(3):
        engine.submit(Generate("a", f"r{number}", transcript("Hello"), "turbo4", GREEDY))
        idle(qtbot, engine, listener, TurnFinished, count=number + 1)
    turns = of(TurnFinished, listener.events)
    assert len(turns) == 3
    assert all(turn.generated_tokens for turn in turns)
    assert not of(TurnFailed, listener.events)


def test_a_stop_takes_back_every_load(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path, tmp_path: Path
) -> None:
    """One is read, others wait. The next one loads."""
    others = [make_model(tmp_path / name, seed=8) for name in ("b", "c")]

    def stop(event: Event) -> None:
        if isinstance(event, ModelLoading) and not of(ModelFailed, listener.events):
            engine.stop(None)

    listener.react = stop
    for folder in (model, *others):
        engine.submit(LoadModel(str(folder)))
    engine.start()
    idle(qtbot, engine, listener, ModelFailed, count=3)
    assert {event.error.message for event in of(ModelFailed, listener.events)} == {"Stopped."}
    engine.submit(LoadModel(str(others[0])))
    idle(qtbot, engine, listener, ModelLoaded)
    assert one(ModelLoaded, listener.events).model.name == "b"


def test_a_fit_is_answered_while_a_reply_is_written(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    config = (model / "config.json").read_text()

    def ask(event: Event) -> None:
        if isinstance(event, PrefillStarted):
            engine.submit(JudgeFit("some/model", config))
        if isinstance(event, FitJudged):
            engine.stop("a")

    listener.react = ask
    engine.start()
    engine.submit(LoadModel(str(model)))
    endless = replace(GREEDY, max_tokens=3000)
    engine.submit(Generate("a", "r", transcript(LONG), "turbo4", endless))
    idle(qtbot, engine, listener, TurnFinished)
    kinds = [type(event) for event in listener.events]
    assert kinds.index(FitJudged) < kinds.index(TurnFinished)
    assert one(TurnFinished, listener.events).reason == "interrupted"


def test_a_load_that_a_reply_waits_for_can_be_cancelled(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    def cancel(event: Event) -> None:
        if isinstance(event, ModelUnloaded):
            engine.submit(Generate("a", "r", transcript("Hello"), "turbo4", GREEDY))
        if isinstance(event, ModelLoading) and of(ModelUnloaded, listener.events):
            engine.stop(None)

    listener.react = cancel
    engine.submit(LoadModel(str(model)))
    engine.submit(UnloadModel())
    engine.start()
    idle(qtbot, engine, listener, TurnFailed)
    assert one(ModelFailed, listener.events).error.message == "Stopped."


def test_tokens_are_counted_in_the_midst_of_a_reply(
    qtbot: QtBot, engine: EngineThread, listener: Listener, model: Path
) -> None:
    """While the prompt is read and while it is answered; the reply is what it would have been."""
    engine.start()
    engine.submit(LoadModel(str(model)))
    seeded = replace(GREEDY, temperature=0.8, seed=3, max_tokens=60)
    engine.submit(Generate("alone", "r", transcript(LONG), "turbo4", seeded))
    idle(qtbot, engine, listener, TurnFinished)
    expected = one(TurnFinished, listener.events).text

    def ask(event: Event) -> None:
        if isinstance(event, PrefillStarted | TokenBatch) and len(of(TokensCounted, listener.events)) < 3:
            engine.submit(CountTokens(len(listener.events), LONG))

    listener.events.clear()
    listener.react = ask
    engine.submit(Generate("c", "r", transcript(LONG), "turbo4", seeded))
    idle(qtbot, engine, listener, TurnFinished)
    kinds = [type(event) for event in listener.events]
    assert kinds.index(TokensCounted) < kinds.index(TurnFinished)
    assert len({event.tokens for event in of(TokensCounted, listener.events)}) == 1
    assert one(TurnFinished, listener.events).text == expected


def test_without_a_model_no_tokens_are_counted(qtbot: QtBot, engine: EngineThread, listener: Listener) -> None:
    engine.start()
    engine.submit(CountTokens(5, "hello"))
    idle(qtbot, engine, listener, TokensCounted)
    assert one(TokensCounted, listener.events).tokens is None
