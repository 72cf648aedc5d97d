"""Full-text search: what is found, and an index that can't be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.events import TurnFinished
from app.library import search
from app.library.conversations import Library
from app.library.search import MARK, UNMARK


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    with Library(path) as opened:
        yield opened


def say(library: Library, *texts: str) -> str:
    conversation = library.create("turbo4").id
    for text in texts:
        library.add_user_message(conversation, text)
    return conversation


def found(library: Library, text: str) -> list[str]:
    while library.follow():
        pass
    return [hit.snippet.replace(MARK, "[").replace(UNMARK, "]") for hit in library.search(text)]


def test_every_word_must_be_there_and_is_marked(library: Library) -> None:
    say(library, "The quick brown fox", "A slow brown bear", "Über die Füchse")
    assert found(library, "brown") == ["A slow [brown] bear", "The quick [brown] fox"]
    assert found(library, "QUICK brown") == ["The [quick] [brown] fox"]
    assert found(library, "quick bear") == []
    assert found(library, "uber fuch") == ["[Über] die [Füchse]"]  # the last word may be a beginning
    assert found(library, "quic brown") == []


@pytest.mark.parametrize(
    "text", ["", "   ", '"', "*", "a AND", "NEAR(", "(brown", "brown)", "-brown", "content:brown", "'; --"]
)
def test_nothing_typed_is_a_syntax_error(library: Library, text: str) -> None:
    say(library, "The quick brown fox")
    found(library, text)


@pytest.mark.parametrize(
    ("text", "wanted", "hit"),
    [
        ("今天天气很好，我们去公园玩。", "公园", "今天天气很好，我们去[公园]玩。"),
        ("日本語の文章を検索する", "検索", "日本語の文章を[検索]する"),
        ("日本語の文章を検索する", "文検", None),
        ("สวัสดีชาวโลก", "ชาว", "สวัสดี[ชาว]โลก"),
        ("हिन्दी में", "हिन्दी", "[हिन्दी] में"),
        ("한국어 검색", "검색", "한국어 [검색]"),
        ("Done🎉 at 20°C", "🎉", "Done[🎉] at 20°C"),
        ("Done🎉 at 20°C", "done", "[Done]🎉 at 20°C"),
        ("Done🎉 at 20°C", "c", "Done🎉 at 20°[C]"),
        ("©Apple x² a+b `code`", "apple x² b code", "©[Apple] [x²] a+[b] `[code]`"),
        ("©Apple x² a+b `code`", "→", None),
    ],
)
def test_words_of_every_script_are_found(library: Library, text: str, wanted: str, hit: str | None) -> None:
    say(library, text)
    assert found(library, wanted) == ([hit] if hit else [])


def test_deleted_conversations_and_removed_messages_are_not_found(library: Library) -> None:
    gone = say(library, "a lost word")
    kept = say(library, "a kept word")
    removed = library.add_user_message(kept, "a removed word")
    assert len(found(library, "word")) == 3
    library.delete(gone)
    library.remove_message(removed.id)
    assert found(library, "word") == ["a kept [word]"]
    library.restore(gone)
    assert len(found(library, "word")) == 2


def test_a_reply_is_found_once_it_is_finished(library: Library) -> None:
    conversation = say(library, "Who?")
    reply = library.begin_reply(conversation, "turbo4")
    library.update_partial(reply.id, "an owl")
    assert found(library, "owl") == []
    library.finish_reply(TurnFinished(conversation, reply.id, "stop", "turbo4", "an owlet", 1, 0, 2, 1.0, 1.0))
    assert found(library, "owl") == ["an [owlet]"]
    assert found(library, "owl") == ["an [owlet]"]


def test_a_reply_that_a_crash_cut_off_is_found_at_the_next_start(library: Library, path: Path) -> None:
    conversation = say(library, "Who?")
    library.update_partial(library.begin_reply(conversation, "turbo4").id, "an owl")
    assert found(library, "owl") == []
    library.close()
    with Library(path) as again:
        assert found(again, "owl") == ["an [owl]"]


@pytest.mark.parametrize("content", [b"nonsense " * 1000, b"", b"SQLite format 3\0" + b"\xff" * 5000])
def test_an_index_that_cannot_be_used_is_made_anew(library: Library, path: Path, content: bytes) -> None:
    say(library, "The quick brown fox")
    assert found(library, "fox")
    library.close()
    path.with_name("search.db").write_bytes(content)
    with Library(path) as again:
        assert found(again, "fox") == ["The quick brown [fox]"]
        assert again.notice == ""


def test_damage_within_the_index_costs_at_most_one_search(library: Library, path: Path) -> None:
    say(library, *(f"fox number {i} " + "word " * 50 for i in range(200)))
    assert len(found(library, "fox")) == 200
    library.close()
    index = path.with_name("search.db")
    sound = index.read_bytes()
    for page in range(1, len(sound) // 4096):
        index.write_bytes(sound[: 4096 * page] + b"\x55" * 4096 + sound[4096 * (page + 1) :])
        with Library(path) as again:
            found(again, "fox")
            say(again, "one more")
            again.follow()
            assert [m.content for m in again.messages(again.conversations()[0].id)] == ["one more"]


def test_a_full_disk_costs_nothing_that_is_in_the_index(library: Library) -> None:
    say(library, "an old word")
    assert found(library, "old")
    index = library._index._opened()
    pages = index.execute("PRAGMA page_count").fetchone()[0]
    index.execute(f"PRAGMA max_page_count = {pages}")
    say(library, " ".join(f"new{number}" for number in range(3000)))
    assert not library.follow()
    assert library.search("old")
    assert not library.search("new7")
    index.execute("PRAGMA max_page_count = 100000")
    assert found(library, "new7")


@pytest.mark.parametrize("count", [1, 5, 9])
def test_an_index_of_another_library_is_made_anew(library: Library, path: Path, count: int) -> None:
    say(library, *("old word" for _ in range(5)))
    assert len(found(library, "old")) == 5
    library.close()
    path.unlink()
    with Library(path) as fresh:
        say(fresh, *("new word" for _ in range(count)))
        assert found(fresh, "word") == ["new [word]"] * count


def test_many_messages_are_taken_in_bit_by_bit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 3)
    say(library, *(f"word {i}" for i in range(7)))
    assert [library.follow() for _ in range(3)] == [True, True, False]
    assert len(library.search("word")) == 7
    assert len(library.search("word", limit=2)) == 2


def test_the_index_keeps_nothing_of_what_is_gone_and_isnt_made_anew_for_it(
    library: Library, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = say(library, "a kept word")
    gone = say(library, "a lost word", "another lost word")
    removed = library.add_user_message(kept, "a removed word")
    assert len(found(library, "word")) == 4
    monkeypatch.setattr(search.SearchIndex, "forget", lambda index: pytest.fail("made anew"))
    library.remove_message(removed.id)
    assert library._index._opened().execute("SELECT count(*) FROM found").fetchone() == (3,)
    library.add_user_message(kept, "a new word")  # in the row that is free again
    assert len(found(library, "word")) == 4
    library.delete(gone)
    library.close()
    with Library(path) as again:
        assert found(again, "word") == ["a new [word]", "a kept [word]"]
        assert again._index._opened().execute("SELECT count(*) FROM found").fetchone() == (2,)


@pytest.mark.parametrize("value", ["x'ff00'", "5", "'odd'"])
@pytest.mark.parametrize("column", ["content", "created"])
def test_a_damaged_field_hides_no_other_message(path: Path, column: str, value: str) -> None:
    with Library(path) as library:
        say(library, "the first", "the second")
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE messages SET {column} = {value} WHERE content = 'the first'")
    db.close()
    with Library(path) as library:
        assert found(library, "second") == ["the [second]"]
