"""Saved caches in the window: what they take and spare, the room for them, and discarding them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QPushButton

from app import events as ev
from app.ui.conversations.storage import UNSAVED
from app.ui.conversations.storage_page import StoragePage
from app.ui.memory.memory_chart import MemoryChart
from app.ui.shared import formats, theme
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FINGERPRINT, PREFILL_RATE, FakeEngine


def saved(bench: Bench, *texts: str) -> list[str]:
    """A conversation for each text, its cache saved."""
    ids = []
    for text in texts:
        bench.window.browsing.on_new()
        bench.say(text)
        ids.append(bench.chat.current)
    bench.chat.on_idle()
    bench.rest()
    return ids


def page(bench: Bench) -> StoragePage:
    configuring = bench.window.configuring
    configuring.show("storage")
    assert configuring.window is not None
    (found,) = configuring.window.findChildren(StoragePage)
    return found


def rows(bench: Bench) -> list[list[str]]:
    shown = page(bench).list
    return [[shown.topLevelItem(row).text(column) for column in range(6)] for row in range(shown.topLevelItemCount())]


def test_the_panel_says_what_a_saved_cache_takes_and_spares(bench: Bench) -> None:
    assert bench.panel.discard.isHidden()
    saved(bench, "word " * 500)
    assert bench.panel.value("snapshot").endswith("· saved in 0.02 s")
    tokens = bench.engine.snapshots[bench.chat.current][1]
    assert bench.panel.value("again") == f"about {formats.spell(tokens / PREFILL_RATE)}"
    assert not bench.panel.discard.isHidden()


def discards(bench: Bench) -> list[str]:
    return [c.conversation_id for c in bench.engine.received if isinstance(c, ev.DiscardCache)]


def test_discarding_keeps_the_text_and_is_carried_out_when_the_notice_goes(bench: Bench) -> None:
    (one,) = saved(bench, "hello")
    bench.panel.discard.click()
    bench.rest()
    assert bench.panel.value("snapshot") == "–"
    assert bench.panel.value("again").startswith("about"), "that is what it costs now"
    assert bench.panel.discard.isHidden()
    assert bench.library.conversation(one).cached_tokens == 0
    assert bench.said() == ["hello"]
    assert discards(bench) == []
    bench.window.notices.dismiss(bench.window.notices.texts()[-1])
    bench.rest()
    assert discards(bench) == [one]
    assert bench.library.conversation(one).snapshot_bytes == bench.library.conversation(one).cached_tokens == 0
    bench.window.storage.discarding.undo()
    bench.rest()
    assert bench.library.conversation(one).cached_tokens == 0, "too late"


def test_how_fast_a_model_reads_outlives_its_caches(bench: Bench) -> None:
    one, two = saved(bench, "one " * 9, "two " * 99)
    bench.library.caches.forget([file.file for file in bench.library.caches.of(two)])
    first = bench.library.caches.of(one)[0]
    bench.library._db.execute("UPDATE caches SET prefill_tokens_per_s = 0")  # saved before it was known
    assert bench.library.caches.of(one)[0].prefill_s == first.prefill_s == first.tokens / PREFILL_RATE
    bench.library.caches.forget([first.file])
    assert bench.library.caches.rate(FINGERPRINT) == PREFILL_RATE


def dotted(chart: MemoryChart) -> bool:
    """Whether the curve's end is marked as what is there now."""
    last = chart.history.points[-1]
    place = chart._scale().at(last.tokens, last.used_bytes) + QPointF(0, 2)  # no line runs there
    return chart.grab().toImage().pixelColor(place.toPoint()) == QColor(theme.colors().accent)


def test_the_panel_and_the_composer_say_the_same_of_a_discarded_cache(bench: Bench) -> None:
    bench.say("word " * 500)
    panel, tokens = bench.panel, bench.panel.chart.history.last_tokens()
    assert dotted(panel.chart), "the dot of now"
    bench.chat.discard_cache(bench.chat.current)
    bench.rest()
    assert panel.uncompressed.text() == "not cached now"
    assert panel.engagement.detail.text() == "The next reply reads the text again."
    assert not dotted(panel.chart)
    assert panel.chart.history.points, "the curve stays"
    assert panel.value("context") == f"{tokens:,} of 8,192"
    assert bench.composer.note == f"Context {tokens:,} of 8,192"
    bench.say("and?")
    assert dotted(panel.chart)


def test_what_an_imported_conversation_takes_of_the_context_is_known_from_its_replies(bench: Bench) -> None:
    bench.say("word " * 500)
    tokens = bench.panel.chart.history.last_tokens()
    bench.library._db.execute("DELETE FROM samples")
    one = bench.chat.current
    bench.chat.discard_cache(one)
    bench.chat.new()
    assert bench.panel.value("context") == "0 of 8,192"
    bench.chat.open(one)
    bench.rest()
    assert bench.panel.value("context") == f"{tokens:,} of 8,192"
    assert bench.composer.note == f"Context {tokens:,} of 8,192"


def test_discarding_can_be_undone(bench: Bench) -> None:
    (one,) = saved(bench, "hello")
    before, said = bench.library.conversation(one), bench.panel.value("snapshot")
    bench.panel.discard.click()
    bench.chat.restore_cache()  # what is measured meanwhile brings nothing back
    bench.rest()
    assert bench.library.conversation(one).cached_tokens == 0
    (undo,) = [b for b in bench.window.notices.findChildren(QPushButton) if b.text() == "Undo"]
    undo.click()
    bench.rest()
    assert bench.library.conversation(one) == before
    assert bench.panel.value("snapshot") == said
    assert not bench.panel.discard.isHidden()
    assert bench.window.notices.texts() == []
    assert discards(bench) == []


def test_the_page_undoes_it_too(bench: Bench) -> None:
    saved(bench, "one " * 9, "two " * 99, "three " * 999)
    shown, before = page(bench), rows(bench)
    assert shown.undo.isHidden()
    for row in (0, 1):
        shown.list.topLevelItem(row).setSelected(True)
    shown.discard.click()
    bench.rest()
    assert [row[0][:3] for row in rows(bench)] == ["one"]
    assert "2" in shown.discarded.text()
    shown.undo.click()
    bench.rest()
    assert rows(bench) == before
    assert shown.undo.isHidden()
    assert discards(bench) == []


def test_the_next_reply_reads_what_was_discarded(bench: Bench) -> None:
    (one,) = saved(bench, "hello")
    bench.panel.discard.click()
    bench.say("and?")
    names = [type(c).__name__ for c in bench.engine.received if getattr(c, "conversation_id", "") == one]
    assert names[-2:] == ["DiscardCache", "Generate"]
    assert bench.library.conversation(one).cached_tokens > 0
    assert bench.window.notices.texts() == []


def test_a_conversation_that_is_deleted_meanwhile_comes_back_with_its_cache(bench: Bench) -> None:
    (one,) = saved(bench, "hello")
    before = bench.library.conversation(one)
    bench.panel.discard.click()
    bench.chat.delete(one)
    assert page(bench).undo.isVisible()
    page(bench).undo.click()
    bench.chat.deleting.undo()
    bench.rest()
    assert bench.library.conversation(one) == before
    bench.panel.discard.click()
    bench.chat.delete(one)
    bench.window.storage.discarding.carry_out()
    bench.chat.deleting.undo()
    bench.rest()
    assert bench.library.conversation(one).cached_tokens == 0
    assert discards(bench) == [one]


def test_what_is_discarded_goes_into_no_export(bench: Bench, tmp_path: Path) -> None:
    (one,) = saved(bench, "hello")
    bench.panel.discard.click()
    bench.window.exchange.export(one, tmp_path / "out.turbochat")
    assert bench.engine.received[-2:] == [ev.DiscardCache(one), ev.PackCache(one)]
    bench.rest()


def test_a_program_that_ends_meanwhile_leaves_it_to_the_next_start(start: Callable[..., Bench]) -> None:
    bench = start()
    one, two = saved(bench, "hello", "more")
    bench.panel.discard.click()
    bench.window.storage.discard([one])  # the first is carried out
    bench.close()
    assert discards(bench) == [two]
    again = start(FakeEngine(), load=False)
    assert discards(again) == [one]
    again.close()
    assert discards(start(FakeEngine(), load=False)) == []


def test_the_page_lists_the_largest_first(bench: Bench) -> None:
    saved(bench, "short one", "long " * 300)
    shown = rows(bench)
    assert [row[0][:5] for row in shown] == ["long ", "short"]
    assert [row[1] for row in shown] == ["turbo4", "turbo4"]
    assert shown[0][4] == "0.02 s"
    assert shown[0][5].startswith("about ")
    assert page(bench).total.text().startswith("2 saved cache")
    assert page(bench).total.text().endswith("of 4.00 GB")


def test_discarding_one_and_all(bench: Bench) -> None:
    first, second, third = saved(bench, "one " * 9, "two " * 99, "three " * 999)
    shown = page(bench)
    assert not shown.discard.isEnabled()
    shown.list.topLevelItem(1).setSelected(True)
    shown.discard.click()
    bench.rest()
    assert [row[0][:3] for row in rows(bench)] == ["thr", "one"]
    shown.discard_all.click()
    assert shown.box is not None
    assert "text of every conversation is kept" in shown.box.details
    (yes,) = [button for button in shown.box.findChildren(QPushButton) if button.text() == "Discard all"]
    yes.click()
    bench.rest()
    assert rows(bench) == []
    assert not shown.discard_all.isEnabled()
    assert {c.id for c in bench.library.conversations()} == {first, second, third}


def test_the_room_is_a_setting(start: Callable[..., Bench]) -> None:
    bench = start()
    assert ev.LimitSnapshots(4_000_000_000) in bench.engine.received
    shown = page(bench)
    shown.quota.setCurrentIndex(shown.quota.findData(16_000_000_000))
    shown.quota.activated.emit(shown.quota.currentIndex())
    assert bench.engine.received[-1] == ev.LimitSnapshots(16_000_000_000)
    bench.close()
    again = start(FakeEngine())
    assert ev.LimitSnapshots(16_000_000_000) in again.engine.received


def test_what_wasnt_saved_at_the_end_is_told_at_the_next_start(start: Callable[..., Bench]) -> None:
    bench = start()
    bench.say("hello")
    bench.engine.event_emitted.emit(ev.SnapshotNotSaved(bench.chat.current, "there was no time for it", at_end=True))
    assert bench.window.notices.texts() == []
    bench.close()
    again = start(FakeEngine(), load=False)
    again.window.start()
    assert "no time to save the cache of “hello”" in "\n".join(again.window.notices.texts())
    assert again.settings.get(UNSAVED, ["x"]) == []


def test_the_page_is_reached_by_keyboard_and_has_names(bench: Bench) -> None:
    saved(bench, "hello")
    shown = page(bench)
    for widget in (shown.quota, shown.list, shown.discard_all):
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert shown.quota.accessibleName() == "Room for saved caches"
    assert shown.list.accessibleName()


def test_a_conversations_branches_are_one_row_and_go_together(bench: Bench) -> None:
    one, two = saved(bench, "one " * 9, "two " * 99)
    for number in "12":
        name = f"{one}.{number}.{number * 32}.tqcache"
        bench.engine.event_emitted.emit(
            ev.SnapshotSaved(one, 9_000_000, 0.02, 30, name, number, "turbo2", "f" * 16, 100.0)
        )
    shown = rows(bench)
    assert [row[0].split()[0] for row in shown] == ["one", "two"]
    assert sorted(shown[0][1].split(", ")) == ["turbo2", "turbo4"]
    size = formats.data_size(sum(file.size_bytes for file in bench.library.caches.of(one)))
    assert shown[0][3] == f"3 caches, {size}"
    assert shown[1][3] == formats.data_size(bench.library.caches.of(two)[0].size_bytes)
    page(bench).list.topLevelItem(1).setSelected(True)
    page(bench).discard.click()
    bench.window.storage.discarding.carry_out()
    bench.rest()
    assert [row[3][:8] for row in rows(bench)] == ["3 caches"]
    assert [c for c in bench.engine.received if isinstance(c, ev.DiscardCache)] == [ev.DiscardCache(two)]
