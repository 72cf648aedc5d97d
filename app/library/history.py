"""What was measured of each conversation's cache, and when its scheme changed: what the memory chart draws."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from app.events import SchemeSwitched
from app.library.database import transaction
from app.library.records import ChartPoint, Switch, read_point, read_switch
from app.library.samples import Sample, thinned

# Past this many samples of a conversation, one stays for each scheme and stretch of tokens: half as many; and
# those of 0 tokens, with which a curve begins anew.
MAX_SAMPLES = 2000


class History:
    """Part of a Library."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def record_samples(self, samples: Sequence[Sample]) -> None:
        """Store measured points in one transaction, each with the last message of the branch that it was measured in.
        Collect those of a reply: every call writes pages. What a curve doesn't need is left out.
        """
        if not samples:
            return
        samples = list(thinned(samples))
        with transaction(self._db):
            self._db.executemany(
                "INSERT INTO samples (conversation, tokens, used_bytes, scheme, message) "
                "SELECT id, ?, ?, ?, ? FROM conversations WHERE id = ?",
                [(s.tokens, s.used_bytes, s.scheme, message, s.conversation_id) for s, message in samples],
            )
            for conversation_id, last in {s.conversation_id: s for s, _ in samples}.items():
                self._db.execute(
                    "UPDATE conversations SET cached_tokens = ?, cached_bytes = ? WHERE id = ?",
                    (last.tokens, last.used_bytes, conversation_id),
                )
                self._thin(conversation_id)

    def record_switch(self, switch: SchemeSwitched, after_message: str | None) -> None:
        """Store a switch's marker and make its scheme the conversation's."""
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO switches (conversation, after_message, from_scheme, to_scheme, tokens, bytes_before, "
                "bytes_after, method, seconds, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (switch.conversation_id, after_message, switch.from_scheme, switch.to_scheme, switch.tokens,
                 switch.bytes_before, switch.bytes_after, switch.method, switch.seconds, time.time()),
            )  # fmt: skip
            self._db.execute(
                "UPDATE conversations SET scheme = ?, cached_bytes = ? WHERE id = ?",
                (switch.to_scheme, switch.bytes_after, switch.conversation_id),
            )

    def samples(self, conversation_id: str) -> list[ChartPoint]:
        rows = self._db.execute("SELECT * FROM samples WHERE conversation = ? ORDER BY seq", (conversation_id,))
        return [made for row in rows if (made := read_point(row)) is not None]

    def switches(self, conversation_id: str) -> list[Switch]:
        rows = self._db.execute("SELECT * FROM switches WHERE conversation = ? ORDER BY seq", (conversation_id,))
        return [made for row in rows if (made := read_switch(row)) is not None]

    def _thin(self, conversation_id: str) -> None:
        of = "FROM samples WHERE conversation = ?"
        (count,) = self._db.execute(f"SELECT count(*) {of}", (conversation_id,)).fetchone()
        if count <= MAX_SAMPLES:
            return
        tokens, schemes = self._db.execute(
            f"SELECT max(tokens), count(DISTINCT scheme) {of}", (conversation_id,)
        ).fetchone()
        width = 2 * schemes * tokens // MAX_SAMPLES + 1
        self._db.execute(
            f"DELETE {of} AND tokens > 0 AND seq NOT IN (SELECT max(seq) {of} GROUP BY scheme, tokens / ?)",
            (conversation_id, conversation_id, width),
        )
