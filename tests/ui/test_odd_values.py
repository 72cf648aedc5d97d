"""A database whose file is sound and whose values are not: every conversation opens, and none hides another."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt

from app.events import LayerVerdict
from app.library import database
from app.ui.memory.memory_panel import Engagement
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

ODD = (9e999, 1e300, -1e12, -5, 9_000_000_000_000_000_000, "x", "", b"\xff\x00", "nope", 0.5)


def columns() -> list[str]:
    with sqlite3.connect(":memory:") as fresh:
        for script in database.MIGRATIONS:
            fresh.executescript(script)
        tables = [name for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = [(table, row[1]) for table in tables for row in fresh.execute(f"PRAGMA table_info({table})")]
    # Links between rows have tests of their own, and `deleted` is a wish that is fulfilled at the start.
    return [f"{table}.{name}" for table, name in found if name not in ("seq", "id", "conversation", "deleted")]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, qapp: object) -> bytes:
    """A database with a few conversations, samples, switches and a cache file each."""
    folder = tmp_path_factory.mktemp("sound")
    bench = Bench(FakeEngine(), folder)
    bench.load()
    for number in range(4):
        bench.chat.new()
        for text, scheme in ((f"number {number}", "turbo2"), ("again", "turbo4")):
            bench.say(text)
            bench.pick(scheme)
    bench.close()
    return (folder / "library.db").read_bytes()


def cases() -> Iterator[Any]:
    """A column of each table at once; each alone is slow, and so is every value in a table of no more than four rows.

    Each row of a table gets another of the values.
    """
    tables = [list(own) for _, own in groupby(columns(), lambda column: column.split(".")[0])]
    for together in zip_longest(*tables):
        yield pytest.param([column for column in together if column], 0)
    for column in columns():
        for shift in (0, 4, 8) if column.startswith("conversations.") else (0,):
            yield pytest.param([column], shift, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("chosen", "shift"), list(cases()), ids=lambda v: "+".join(v) if isinstance(v, list) else str(v)
)
def test_every_conversation_opens(
    start: Callable[..., Bench], tmp_path: Path, sound: bytes, chosen: list[str], shift: int
) -> None:
    (tmp_path / "library.db").write_bytes(sound)
    with sqlite3.connect(tmp_path / "library.db") as raw:
        for table, name in (column.split(".") for column in chosen):
            for (row,) in raw.execute(f"SELECT rowid FROM {table}").fetchall():
                raw.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (ODD[(row + shift) % len(ODD)], row))
    raw.close()
    bench = start()
    listed = bench.library.conversations()
    assert len(listed) == 4
    for conversation in listed:
        bench.chat.open(conversation.id)
        bench.rest()
        bench.panel.chart.grab()
    bench.window.grab()
    bench.say("more")
    assert bench.said()[-1] == "more"
    bench.close()


def test_a_layers_reason_from_a_file_is_shown_as_it_is(start: Callable[..., Bench]) -> None:
    bench = start()
    bench.say("hello")
    words = bench.panel.findChild(Engagement)
    words.set_layers([LayerVerdict(0, "attention", None, '<img src="/x"><b>bold</b>', "")])
    assert words.detail.textFormat() == Qt.TextFormat.PlainText
    assert '<img src="/x"><b>bold</b>' in words.detail.text()
    assert "&lt;b&gt;bold" in words.toolTip()
