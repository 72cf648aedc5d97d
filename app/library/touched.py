"""Which rows have changed since they were read last, whoever changed them: what lets them be kept in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

MOST = 500  # past that all are read


class Touched:
    """`of` names tables, and in each the column that says whom a row belongs to."""

    def __init__(self, connection: sqlite3.Connection, name: str, of: Mapping[str, str]) -> None:
        self._db, self._name, self._version = connection, name, -1
        self._db.execute("PRAGMA temp_store = MEMORY")
        self._db.execute(f"CREATE TEMP TABLE {name} (id PRIMARY KEY)")
        for table, column in of.items():
            for event, rows in (("INSERT", ["new"]), ("DELETE", ["old"]), ("UPDATE", ["old", "new"])):
                values = ", ".join(f"({row}.{column})" for row in rows)
                self._db.execute(
                    f"CREATE TEMP TRIGGER {name}_{table}_{event} AFTER {event} ON {table} "
                    f"BEGIN INSERT OR IGNORE INTO {name} VALUES {values}; END"
                )

    def take(self) -> set[object] | None:
        """Whose rows may have changed since the last call; None: anybody's. Not within a transaction, which may yet be
        undone.
        """
        touched = {identity for (identity,) in self._db.execute(f"SELECT id FROM {self._name}")}
        if touched:
            self._db.execute(f"DELETE FROM {self._name}")
        (version,) = self._db.execute("PRAGMA data_version").fetchone()  # counts the changes of other connections
        known, self._version = version == self._version, version
        return touched if known and len(touched) <= MOST else None
