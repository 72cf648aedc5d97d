"""Export and import: what goes out comes back as a new conversation, and nothing of what is there is touched."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from app.errors import AppError
from app.events import MemorySample, SchemeSwitched, TurnFinished
from app.library import document, exchange
from app.library.archive import CachePart
from app.library.conversations import Library
from app.library.records import Message
from app.paths import beside


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


def answered(library: Library, conversation: str, question: str, text: str) -> Message:
    library.add_user_message(conversation, question)
    return finished(library, library.begin_reply(conversation, "turbo3"), text)


def finished(library: Library, reply: Message, text: str) -> Message:
    turn = TurnFinished(reply.conversation, reply.id, "stop", "turbo3", text, 100, 60, 20, 80.5, 12.25)
    library.finish_reply(turn)
    return reply


def talk(library: Library) -> str:
    """Two questions, the first answered twice, the second edited; settings, a switch and a sample."""
    conversation = library.create("turbo3", "Tiny-1B", "Größe & <Maß>").id
    first = answered(library, conversation, "How *large*?", "<think>Hm, </think>Large 𝒳 👩‍👩‍👧.")
    question = library.messages(conversation)[0]
    answered(library, conversation, "And then?", "Then.\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    finished(library, library.begin_reply(conversation, "turbo3", question.id), "Another answer.")
    library.show(conversation, first.id)
    library.edit(library.messages(conversation)[2], "And after that?")
    library.set_generation(conversation, {"system_prompt": "Be brief.", "temperature": 0.5, "stop": ("END",)})
    library.history.record_switch(
        SchemeSwitched(conversation, "turbo4", "turbo3", 90, 9000, 7000, "encoded", 0.5), first.id
    )
    library.history.record_samples([(MemorySample(conversation, "turbo3", 90, 7000, 9, 9, 9, 9, 9, 9, 9, 9), first.id)])
    return conversation


def shape(library: Library, conversation: str) -> list[object]:
    """Everything but ids and the times of the import."""
    found = exchange.gather(library.path, conversation)
    places: dict[str | None, int] = {message.id: place for place, message in enumerate(found.messages)}
    messages = [
        (m.role, m.content, m.state, m.error, m.scheme, m.prompt_tokens, m.reused_tokens, m.generated_tokens,
         m.prefill_tokens_per_s, m.tokens_per_s, m.starts_context, places.get(m.parent), places.get(m.shown))
        for m in found.messages
    ]  # fmt: skip
    switches = [(s.from_scheme, s.to_scheme, s.tokens, s.method, places.get(s.after_message)) for s in found.switches]
    samples = [(p.tokens, p.used_bytes, p.scheme, places.get(p.message)) for p in found.samples]
    return [
        found.title,
        found.scheme,
        found.model,
        found.settings,
        places.get(found.shown),
        messages,
        switches,
        samples,
    ]


def no_place() -> Path:
    raise AssertionError("there is no cache in it")


def bring(path: Path, source: Path) -> exchange.Imported:
    return exchange.bring_in(path, source, no_place, lambda fingerprint: True, 1 << 40)


@pytest.mark.parametrize("ending", [".json", ".turbochat"])
def test_a_conversation_comes_back_whole(path: Path, tmp_path: Path, ending: str) -> None:
    with Library(path) as library:
        conversation = talk(library)
        target = tmp_path / f"chat{ending}"
        assert exchange.export(path, conversation, target) == target.stat().st_size
        before = shape(library, conversation)
        imported = bring(path, target)
        assert imported.title == "Größe & <Maß> (2)", "told apart in the list"
        assert bring(path, target).title == "Größe & <Maß> (3)"
        library.delete(library.conversations()[0].id)
        library.rename(imported.conversation, "Größe & <Maß>")
        assert imported.conversation != conversation
        assert shape(library, imported.conversation) == before == shape(library, conversation)
        assert [c.id for c in library.conversations()] == [imported.conversation, conversation]
        assert [m.content for m in library.messages(imported.conversation)] == [
            m.content for m in library.messages(conversation)
        ]
        for mine, theirs in zip(
            exchange.gather(path, conversation).messages,
            exchange.gather(path, imported.conversation).messages,
            strict=True,
        ):
            assert abs(mine.created - theirs.created) < 1e-5
        while library.follow():
            pass
        assert imported.conversation in {hit.conversation for hit in library.search("Another answer")}


def test_importing_twice_makes_two(path: Path, tmp_path: Path) -> None:
    with Library(path) as library:
        conversation, target = talk(library), tmp_path / "chat.json"
        exchange.export(path, conversation, target)
        two = {bring(path, target).conversation, bring(path, target).conversation}
        assert len(two | {conversation}) == 3
        ids = [m.id for c in (*two, conversation) for m in exchange.gather(path, c).messages]
        assert len(ids) == len(set(ids))


def test_markdown_is_the_branch_on_screen(path: Path) -> None:
    with Library(path) as library:
        conversation = talk(library)
        text = exchange.markdown(exchange.gather(path, conversation))
    assert text.startswith("# Größe & <Maß>\n\n*Tiny-1B · turbo3 · ")
    assert (
        "## You\n\nHow *large*?\n\n## Tiny-1B\n\n<details>\n<summary>Thoughts</summary>\n\nHm,\n\n</details>\n\n"
        in text
    )
    assert text.endswith("Large 𝒳 👩‍👩‍👧.\n\n## You\n\nAnd after that?\n")
    assert "Another answer" not in text


def test_a_reply_in_the_making_goes_out_as_far_as_it_is(path: Path) -> None:
    with Library(path) as library:
        conversation = library.create("turbo4").id
        library.add_user_message(conversation, "Tell me.")
        library.update_partial(library.begin_reply(conversation, "turbo4").id, "Once upon")
        exported = document.read(document.write(exchange.gather(path, conversation)))
        assert [(m.content, m.state) for m in exported.messages] == [
            ("Tell me.", "complete"),
            ("Once upon", "interrupted"),
        ]


def test_a_conversation_that_is_gone_is_not_exported(path: Path, tmp_path: Path) -> None:
    with Library(path), pytest.raises(AppError, match="nothing was exported"):
        exchange.export(path, "gone", tmp_path / "chat.json")
    assert not (tmp_path / "chat.json").exists()


def test_a_target_that_cant_be_written_is_said(path: Path, tmp_path: Path) -> None:
    with Library(path) as library:
        conversation = talk(library)
        for ending in (".md", ".json", ".turbochat"):
            with pytest.raises(AppError, match="Nothing was written"):
                exchange.export(path, conversation, tmp_path / "missing" / f"chat{ending}")


def changed(path: Path, **change: object) -> bytes:
    with Library(path) as library:
        written = json.loads(document.write(exchange.gather(path, talk(library))))
    for name, value in change.items():
        *way, last = name.split("__")
        at = written
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[last] = value
    return json.dumps(written).encode()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "else"},
        {"conversation": []},
        {"conversation__title": 7},
        {"conversation__title": "x" * 1001},
        {"conversation__scheme": "turbo77"},
        {"conversation__created": "yesterday"},
        {"conversation__created": "9999-12-31T00:00:00Z"},
        {"conversation__shown": "nobody"},
        {"conversation__settings": 7},
        {"conversation__messages": {}},
        {"conversation__messages__0__role": "wizard"},
        {"conversation__messages__0__role": ["user"]},
        {"conversation__messages__0__state": "partial"},
        {"conversation__messages__0__content": None},
        {"conversation__messages__0__content": "\ud800"},
        {"conversation__messages__0__id": "../../etc"},
        {"conversation__messages__0__parent": "m7"},
        {"conversation__messages__1__prompt_tokens": -1},
        {"conversation__messages__1__prompt_tokens": 1.5},
        {"conversation__messages__1__tokens_per_s": True},
        {"conversation__switches__0__method": "magic"},
        {"conversation__samples": [[1, 2, 3]]},
        {"conversation__samples": [[1, -2, "turbo3", None]]},
    ],
)
def test_what_doesnt_fit_the_description_is_refused_whole(
    path: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    source = tmp_path / "chat.json"
    source.write_bytes(changed(path, **change))
    with Library(path) as library:
        before = library.ids()
        with pytest.raises(AppError, match="Nothing was imported"):
            bring(path, source)
        assert library.ids() == before


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": NaN}', b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(AppError, match="Nothing was imported"):
        document.read(content)


@pytest.mark.parametrize("depth", [500, 900, 950, 1000, 2000, 50_000])
def test_settings_nested_however_deep_are_left_out_or_refused(path: Path, depth: int) -> None:
    """As deep as JSON's reader goes its writer doesn't."""
    nested = b'{"stop": ' + b"[" * depth + b"]" * depth + b"}"
    content = changed(path, conversation__settings="HERE").replace(b'"HERE"', nested)
    with suppress(AppError):
        assert document.read(content).settings == {}


@pytest.mark.parametrize("part", [b"[],", b"0,", b'{"":', b'"\\"",'])
def test_what_would_take_gigabytes_is_refused_before_it_is_parsed(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document.json, "loads", lambda *given, **how: pytest.fail("parsed"))
    with pytest.raises(AppError, match="too many values"):
        document.read(b"[" + part * (document.MOST_VALUES + 1))


def test_brackets_in_a_text_are_no_values(path: Path, tmp_path: Path) -> None:
    with Library(path) as library:
        conversation = library.create("turbo4").id
        said = 'a "quoted" [ { , \\ ' * 200_000
        library.add_user_message(conversation, said)
        target = tmp_path / "out.json"
        exchange.export(path, conversation, target)
        assert document.read(target.read_bytes()).messages[0].content == said


@pytest.mark.parametrize("ending", [".md", ".json", ".turbochat"])
def test_an_export_removes_what_a_killed_one_left_there(path: Path, tmp_path: Path, ending: str) -> None:
    """And nothing else: of another machine, of a program that runs, or of somebody else's name."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = beside(tmp_path / "x")
    killed = left.with_name(left.name.replace(f".{os.getpid()}.", f".{int(ended.stdout)}."))
    elsewhere = killed.with_name(killed.name[:9] + "00000000" + killed.name[17:])
    others = [left, elsewhere, tmp_path / ".notes.tmp", tmp_path / f".{'a' * 15}.{int(ended.stdout)}.tmp"]
    for file in (killed, *others):
        file.write_bytes(b"half")
    with Library(path) as library:
        exchange.export(path, talk(library), tmp_path / f"out{ending}")
    assert not killed.exists()
    assert all(file.exists() for file in others)


@pytest.mark.parametrize("name", ["pipe.json", "pipe.turbochat", "folder.json"])
def test_what_is_no_file_is_refused(path: Path, tmp_path: Path, name: str) -> None:
    Library(path).close()
    source = tmp_path / name
    source.mkdir() if name.startswith("folder") else os.mkfifo(source)
    with pytest.raises(AppError, match="Nothing was imported"):
        bring(path, source)


def test_a_refusal_names_the_file(path: Path, tmp_path: Path) -> None:
    Library(path).close()
    for name in ("notes.md", "a.turbochat"):
        (tmp_path / name).write_bytes(b"# Notes")
        with pytest.raises(AppError, match=f"“{name}”.*Nothing was imported"):
            bring(path, tmp_path / name)


@pytest.mark.parametrize("ending", [".md", ".json", ".turbochat"])
def test_the_longest_name_a_disk_takes(path: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / ("x" * (255 - len(ending)) + ending)
    with Library(path) as library:
        exchange.export(path, talk(library), target)
    assert target.stat().st_size > 0


def test_a_later_version_is_refused_and_says_so(path: Path) -> None:
    with pytest.raises(AppError, match="format version 2"):
        document.read(changed(path, version=2))


def test_parents_in_a_circle_are_refused(path: Path) -> None:
    with Library(path) as library:
        written = json.loads(document.write(exchange.gather(path, talk(library))))
    first, second = written["conversation"]["messages"][:2]
    first["parent"], second["parent"] = second["id"], first["id"]
    with pytest.raises(AppError, match="Nothing was imported"):
        document.read(json.dumps(written).encode())


def test_an_unknown_field_is_passed_over_and_an_odd_setting_left_out(path: Path) -> None:
    settings = {"temperature": 0.5, "top_p": 17, "colour": "red"}
    found = document.read(changed(path, conversation__settings=settings, conversation__mood="fine", future=1))
    assert found.settings == {"temperature": 0.5}


def test_a_database_that_refuses_leaves_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "BUSY_S", 0.05)
    cache, target = tmp_path / "cache.tqcache", tmp_path / "chat.turbochat"
    cache.write_bytes(b"cache")
    with Library(path) as library:
        conversation = talk(library)
        exchange.export(path, conversation, target, (CachePart(cache, "", "f", "turbo3", 3),))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError, match="Nothing was imported"):
            exchange.bring_in(path, target, lambda: tmp_path / "incoming", lambda fingerprint: True, 1 << 40)
        other.execute("ROLLBACK")
        other.close()
        assert library.ids() == [conversation]
    assert not (tmp_path / "incoming").exists()
