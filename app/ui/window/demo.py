"""`python -m app --demo DIR`: a scripted chat through the real window, engine and starter model.

Types into the composer, picks in the dropdown, quits, starts again in a new process, goes on. Writes screenshots and
report.json; everything in it was measured by the engine. The user's own conversations aren't touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, QEventLoop, QObject, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from app import events as ev
from app import log, paths
from app.errors import AppError
from app.library.snapshots import SnapshotStore
from app.ui.shared import formats, theme
from app.ui.shared.faults import Faults
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import finish, make_application, open_window

HOME = "demo-home"
MARK = "made-by-the-demo"  # a file in HOME: what carries it may be removed
REPORT = "report.json"
LONGEST_WAIT_S = 900
SIZE = (1280, 800)
FIRST_MESSAGE = paths.RESOURCES / "demo" / "first_message.txt"
REOPEN_MESSAGE = "Name two birds that live by the sea."
TURNS = (
    ("turbo0v4", ""),
    ("turbo2", "What is a barometer? Answer in two sentences."),
    ("turbo4", "List three things to take along to a small island."),
)
# The starter's first reply would go on and on; here a sentence ends, and the other replies end earlier by themselves.
CHOSEN = {"temperature": 0.0, "max_tokens": 77, "seed": 0}

E = TypeVar("E")


class DemoError(Exception):
    """The script can't go on; the message says at which step and why."""


@dataclass
class Report:
    turns: list[dict[str, Any]] = field(default_factory=list)
    switches: list[dict[str, Any]] = field(default_factory=list)
    reopen: dict[str, Any] = field(default_factory=dict)
    screenshots: list[str] = field(default_factory=list)


def main(folder: Path, part: str = "play") -> int:
    """Play the script into `folder`; `part` is "reopen" in the second process."""
    folder = folder.expanduser().absolute()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if part == "reopen":
            _reopened(folder)
        else:
            _play(folder)
    except (AppError, DemoError, OSError, subprocess.SubprocessError) as error:
        print(f"The demo stopped: {error}", file=sys.stderr)
        return 1
    return 0


# ---------------------------------------------------------------- the two processes


def _play(folder: Path) -> None:
    from app.engine import starter

    home = make_room(folder)
    model = starter.installed() or starter.install(lambda step, done: print(f"{step}: {done:.0%}"))
    os.environ["TURBOQUANT_HOME"] = str(home)
    script = Script(folder, str(model))
    script.load()
    for scheme, text in TURNS:
        script.pick(scheme)
        script.turn(text or FIRST_MESSAGE.read_text(encoding="utf-8").strip(), paste=not text)
    script.read_chart()
    print("Quitting, and starting again in a new process …", flush=True)
    reference = script.reply_without_reload(REOPEN_MESSAGE)
    script.quit()
    (home / REPORT).write_text(json.dumps(script.report.__dict__), encoding="utf-8")
    again = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "app"]
    subprocess.run([*again, "--demo", str(folder), "--demo-part", "reopen"], check=True)
    report = json.loads((home / REPORT).read_text(encoding="utf-8"))
    report["reopen"]["same_reply_as_without_reload"] = report["turns"][-1]["text"] == reference
    report = {"model": script.model_name, "backend": script.backend, **report}
    paths.write_atomic(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False).encode())
    _summarise(report, folder)


def make_room(folder: Path) -> Path:
    """Remove what an earlier demo left in `folder`, and nothing else. Returns a fresh home.

    Raises DemoError, with all untouched, where a file that isn't the demo's stands in the way.
    """
    home, report = folder / HOME, folder / REPORT
    pictures: object = []
    if report.exists():
        try:
            pictures = json.loads(report.read_bytes())["screenshots"]
        except (ValueError, KeyError, TypeError, RecursionError):
            pictures = None
    if not isinstance(pictures, list):
        raise DemoError(f"{report} isn't a demo's report. Choose another folder, or move that file away.")
    if home.exists() and not (home / MARK).is_file():
        raise DemoError(f"{home} wasn't made by this demo. Choose another folder, or move that one away.")
    if home.exists():
        shutil.rmtree(home)
    for name in pictures:
        if isinstance(name, str) and re.fullmatch(r"[\w-]+\.png", name):
            (folder / name).unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    home.mkdir()
    (home / MARK).touch()
    return home


def _reopened(folder: Path) -> None:
    home = folder / HOME
    os.environ["TURBOQUANT_HOME"] = str(home)
    script = Script(folder, "")
    script.report = Report(**json.loads((home / REPORT).read_text(encoding="utf-8")))
    script.load()
    loaded = script.wait_for(ev.SnapshotLoaded, "the saved cache")
    script.shoot("5-reopened")
    finished = script.turn(REOPEN_MESSAGE)
    script.report.reopen = {
        "snapshot_bytes": loaded.snapshot_bytes,
        "load_s": loaded.seconds,
        "reused_tokens": finished.reused_tokens,
        "prefilled_tokens": finished.prompt_tokens - finished.reused_tokens,
    }
    script.quit()
    (home / REPORT).write_text(json.dumps(script.report.__dict__), encoding="utf-8")


def _summarise(report: dict[str, Any], folder: Path) -> None:
    print(f"\n{report['model']} on {report['backend']}")
    for turn in report["turns"]:
        print(
            f"  {turn['scheme']:<9} {formats.data_size(turn['kv_used_bytes']):>8} of "
            f"{formats.data_size(turn['kv_fp16_bytes']):>8} uncompressed, {turn['layers_compressed']} of "
            f"{turn['layers_total']} layers, {turn['generated_tokens']} tokens, {formats.rate(turn['tokens_per_s'])}, "
            f"reused {formats.count(turn['reused_tokens'])} of {formats.count(turn['prompt_tokens'])} prompt tokens"
        )
    for switch in report["switches"]:
        print(
            f"  {switch['from']} → {switch['to']}: {formats.data_size(switch['kv_bytes_before'])} → "
            f"{formats.data_size(switch['kv_bytes_after'])}, {switch['method']} in {formats.seconds(switch['seconds'])}"
        )
    reopen = report["reopen"]
    same = "the same reply as" if reopen["same_reply_as_without_reload"] else "ANOTHER reply than"
    print(
        f"  reopened: {formats.data_size(reopen['snapshot_bytes'])} loaded in {formats.seconds(reopen['load_s'])}, "
        f"{reopen['prefilled_tokens']} tokens prefilled, {same} without the reload"
    )
    print(f"  report.json and {len(report['screenshots'])} pictures are in {folder}")


# ---------------------------------------------------------------- driving the window


class Script(QObject):
    """The real window with the real engine, and every event that the engine sent."""

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__()
        self._app = QApplication.instance() or make_application()
        log.start()
        self.folder = folder
        self.report = Report()
        self.model_name = self.backend = ""
        self._events: list[ev.Event] = []
        self._last_sample: ev.MemorySample | None = None
        self.window: MainWindow
        self.window, self.engine = open_window(model)
        self.window.resize(*SIZE)
        self.window.chat.generation.start_with(CHOSEN)
        self.engine.event_emitted.connect(self.on_engine_event)
        self._fault = ""
        watched = self._app.findChild(Faults)
        assert isinstance(watched, Faults)
        watched.reported.connect(self.on_fault)
        theme.theme().force(False)

    def on_fault(self, text: str) -> None:
        self._fault = text

    def on_engine_event(self, event: ev.Event) -> None:
        self._events.append(event)
        if isinstance(event, ev.MemorySample):
            self._last_sample = event

    def wait_for(self, kind: type[E], what: str) -> E:
        """The next event of this kind. Failures end the script."""

        def arrived() -> bool:
            for event in self._events:
                if isinstance(event, ev.TurnFailed | ev.ModelFailed):
                    raise DemoError(f"waiting for {what}: {event.error}")
                if isinstance(event, ev.ContextFull | ev.SwitchFailed | ev.SnapshotRejected | ev.SnapshotNotSaved):
                    raise DemoError(f"waiting for {what}: {event}")
            return any(isinstance(event, kind) for event in self._events)

        self.wait_until(arrived, what)
        found = next(event for event in self._events if isinstance(event, kind))
        del self._events[: self._events.index(found) + 1]
        return found

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LONGEST_WAIT_S
        while not done():
            if self._fault:
                raise DemoError(f"waiting for {what}: {self._fault}")
            if time.monotonic() > deadline:
                raise DemoError(f"{what} did not come within {LONGEST_WAIT_S} s")
            self._app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            time.sleep(0.005)

    def settle(self) -> None:
        """Let layouts and paints come to rest."""
        end = time.monotonic() + 0.15
        self.wait_until(lambda: time.monotonic() > end, "rest")

    # ------------------------------------------------------------ steps

    def load(self) -> None:
        loaded = self.wait_for(ev.ModelLoaded, "the model")
        self.model_name, self.backend = loaded.model.name, loaded.model.backend
        print(f"{self.model_name} loaded in {formats.seconds(loaded.load_s)}", flush=True)

    def pick(self, scheme: str) -> None:
        """Open the dropdown, go to the scheme, press Enter."""
        picker = self.window.panel.picker
        if self.window.chat.scheme == scheme:
            return
        before = self.window.chat.scheme
        started = bool(self.window.chat.current)
        picker.setFocus()
        picker.showPopup()
        picker.view().setCurrentIndex(picker.model().index(picker.findText(scheme), 0))
        self.settle()
        press(picker.view(), Qt.Key.Key_Return)
        if started:
            switched = self.wait_for(ev.SchemeSwitched, f"the change from {before} to {scheme}")
            self.report.switches.append(
                {
                    "from": switched.from_scheme,
                    "to": switched.to_scheme,
                    "kv_bytes_before": switched.bytes_before,
                    "kv_bytes_after": switched.bytes_after,
                    "method": switched.method,
                    "seconds": switched.seconds,
                }
            )
        self.wait_until(lambda: self.window.chat.scheme == scheme, f"{scheme} in the dropdown")

    def turn(self, text: str, paste: bool = False) -> ev.TurnFinished:
        """Type a message, press Enter, wait for the whole reply."""
        edit, number = self.window.composer.edit, len(self.report.turns) + 1
        edit.setFocus()
        if paste:
            edit.insertPlainText(text)
        else:
            for letter in text:
                press(edit, Qt.Key.Key_unknown, letter)
        self._events.clear()
        press(edit, Qt.Key.Key_Return)
        if number == 1:
            self.wait_until(lambda: self._generated() >= 24, "the first words")
            self.shoot("1-streaming")
        finished = self.wait_for(ev.TurnFinished, f"reply {number}")
        self.settle()
        sample = self._last_sample
        if sample is None:
            raise DemoError(f"reply {number} came without a measurement")
        self.report.turns.append(
            {
                "scheme": finished.scheme,
                "prompt_tokens": finished.prompt_tokens,
                "reused_tokens": finished.reused_tokens,
                "generated_tokens": finished.generated_tokens,
                "kv_used_bytes": sample.used_bytes,
                "kv_allocated_bytes": sample.allocated_bytes,
                "kv_fp16_bytes": sample.fp16_bytes,
                "layers_compressed": sample.layers_compressed,
                "layers_total": sample.layers_total,
                "tokens_per_s": finished.tokens_per_s,
                "text": finished.text,
            }
        )
        rate = formats.rate(finished.tokens_per_s)
        print(f"turn {number}, {finished.scheme}: {finished.generated_tokens} tokens at {rate}", flush=True)
        self.shoot(f"{number + 1}-{finished.scheme}" if number <= 3 else "6-after-reopening")
        return finished

    def _generated(self) -> int:
        batches = [event for event in self._events if isinstance(event, ev.TokenBatch)]
        return batches[-1].generated_tokens if batches else 0

    def read_chart(self) -> None:
        chart = self.window.panel.chart
        place = QPointF(chart.width() * 0.4, chart.height() * 0.5)
        button = Qt.MouseButton.NoButton
        moved = QMouseEvent(
            QEvent.Type.MouseMove, place, chart.mapToGlobal(place), button, button, Qt.KeyboardModifier.NoModifier
        )
        QApplication.sendEvent(chart, moved)
        self.shoot("4-reading-the-chart")
        QApplication.sendEvent(chart, QEvent(QEvent.Type.Leave))

    def reply_without_reload(self, text: str) -> str:
        """What the model says next with the cache that is in memory now. The conversation, its text and its saved
        cache are afterwards what they were before.
        """
        chat, engine = self.window.chat, self.engine
        engine.submit(ev.SaveSnapshots())
        self.wait_until(lambda: not engine.busy, "the saved cache")
        self.settle()
        file = SnapshotStore(paths.snapshots_dir()).files(chat.current)[0].path
        kept = file.read_bytes()
        engine.event_emitted.disconnect(chat.on_engine_event)  # the window must not hear of this turn
        self._events.clear()
        messages = (*chat.said.to_read(chat.current), ev.ChatMessage("reference", "user", text))
        engine.submit(ev.Generate(chat.current, "reference-reply", messages, chat.scheme, chat.generation.params))
        finished = self.wait_for(ev.TurnFinished, "the reply without a reload")
        engine.submit(ev.DiscardCache(chat.current))
        self.wait_until(lambda: not engine.busy, "the forgotten cache")
        paths.write_atomic(file, kept)
        return finished.text

    def shoot(self, name: str) -> None:
        """The whole window, light and dark."""
        self.settle()
        for dark in (False, True):
            theme.theme().force(dark)
            self._app.processEvents()
            file = f"{name}-{'dark' if dark else 'light'}.png"
            if not self.window.grab().save(str(self.folder / file)):
                raise DemoError(f"{file} can't be written")
            self.report.screenshots.append(file)
        theme.theme().force(False)

    def quit(self) -> None:
        self.window.close()
        finish(self.window, self.engine, 0)


def press(widget: QWidget, key: Qt.Key, text: str = "") -> None:
    """A key down and up, as the platform would send it."""
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(widget, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, text))
