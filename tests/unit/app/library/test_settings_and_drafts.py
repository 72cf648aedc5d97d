"""Settings of a conversation, profiles and drafts on disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from app.library.conversations import Library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library.db")


def test_settings_belong_to_their_conversation(library: Library) -> None:
    one, two = library.create("turbo4").id, library.create("turbo4").id
    library.set_generation(one, {"temperature": 0.1, "stop": ("END",)})
    library.close()
    again = Library(library.path)
    assert again.generation(one) == {"temperature": 0.1, "stop": ("END",)}
    assert again.generation(two) == again.generation("gone") == {}


@pytest.mark.parametrize("stored", ["{", b"\xff\xfe", 7, '{"temperature": 99, "top_k": 5}'])
def test_damaged_settings_hide_nothing(library: Library, stored: object) -> None:
    name = library.create("turbo4").id
    library.close()
    with sqlite3.connect(library.path) as connection:
        connection.execute("UPDATE conversations SET generation = ?", (stored,))
        connection.execute("INSERT INTO profiles (name, generation) VALUES ('odd', ?)", (stored,))
        connection.execute("INSERT INTO profiles (name, generation) VALUES ('whole', '{\"seed\": 3}')")
    connection.close()
    again = Library(library.path)
    assert again.generation(name) == ({"top_k": 5} if str(stored).startswith('{"') else {})
    assert [conversation.id for conversation in again.conversations()] == [name]
    assert {"seed": 3} in [profile.chosen for profile in again.profiles.all()]


def test_profiles_are_saved_renamed_and_deleted(library: Library) -> None:
    profiles = library.profiles
    profiles.save("Brief", {"max_tokens": 50})
    profiles.save("artful", {"temperature": 1.1})
    profiles.save("Brief", {"max_tokens": 60})
    assert [(p.name, p.chosen) for p in profiles.all()] == [
        ("artful", {"temperature": 1.1}),
        ("Brief", {"max_tokens": 60}),
    ]
    profiles.begin_with("Brief")
    assert profiles.for_new() == {"max_tokens": 60}
    profiles.rename("Brief", "Short")
    assert [p.name for p in profiles.all() if p.first] == ["Short"]
    with pytest.raises(sqlite3.IntegrityError):
        profiles.rename("Short", "Artful")
    profiles.delete("Short")
    assert profiles.for_new() == {}
    profiles.begin_with("artful")
    profiles.begin_with(None)
    assert profiles.for_new() == {}


def test_drafts_outlive_the_program_and_not_their_conversation(library: Library) -> None:
    one, two = library.create("turbo4").id, library.create("turbo4").id
    for name in ("", one, two):
        library.drafts.write(name, f"draft of {name}")
    library.drafts.write(two, "")
    library.close()
    again = Library(library.path)
    assert [again.drafts.read(name) for name in ("", one, two)] == ["draft of ", f"draft of {one}", ""]
    again.delete(one)
    again.close()
    assert Library(library.path).drafts.read(one) == ""


def test_a_damaged_file_keeps_settings_profiles_and_drafts(library: Library) -> None:
    name = library.create("turbo4").id
    library.set_generation(name, {"seed": 3})
    library.profiles.save("Brief", {"max_tokens": 50})
    library.drafts.write("", "half a thought")
    library.drafts.write_edit(library.add_user_message(name, "Hello").id, "Hello there")
    library.close()
    with sqlite3.connect(library.path, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'TEXX') WHERE name = 'messages'")
    connection.close()
    again = Library(library.path)
    assert again.notice
    assert (again.generation(name), again.drafts.read("")) == ({"seed": 3}, "half a thought")
    assert list(again.drafts.edits(name).values()) == ["Hello there"]
    assert [profile.name for profile in again.profiles.all()] == ["Brief"]
