"""Settings of generation that the user has named."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from app import generation
from app.generation import Chosen

NAME_LETTERS = 60


@dataclass(frozen=True)
class Profile:
    """`first`: new conversations begin with it."""

    name: str
    chosen: Chosen
    first: bool = False


class Profiles:
    """Names differ in more than the case of their letters."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def all(self) -> list[Profile]:
        """By name. One that is damaged has the fields that are sound."""
        rows = self._db.execute("SELECT * FROM profiles ORDER BY name COLLATE NOCASE")
        return [
            Profile(row["name"], generation.read(row["generation"]), bool(row["is_first"]))
            for row in rows
            if isinstance(row["name"], str) and isinstance(row["generation"], str)
        ]

    def for_new(self) -> Chosen:
        """What a new conversation begins with."""
        return next((profile.chosen for profile in self.all() if profile.first), {})

    def save(self, name: str, chosen: Chosen) -> None:
        """Under this name, in place of what it stood for."""
        self._db.execute(
            "INSERT INTO profiles (name, generation) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET generation = excluded.generation",
            (name, generation.write(chosen)),
        )

    def rename(self, name: str, new: str) -> None:
        """Raises sqlite3.IntegrityError where another one has the name."""
        self._db.execute("UPDATE profiles SET name = ? WHERE name = ?", (new, name))

    def delete(self, name: str) -> None:
        self._db.execute("DELETE FROM profiles WHERE name = ?", (name,))

    def begin_with(self, name: str | None) -> None:
        """New conversations begin with this profile; None: with none."""
        self._db.execute("UPDATE profiles SET is_first = (name = coalesce(?, ''))", (name,))
