"""What a reply of a thousand tokens costs on the disk, from the user's message to the checkpoint behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import Bench

TOKENS = 1000


FRAME, HEAD, PAGE = 24, 32, 4096  # of a write-ahead log: https://www.sqlite.org/fileformat2.html#walformat


def logs(bench: Bench) -> dict[Path, int]:
    """Bytes in the write-ahead logs of the library and of its search index; nothing empties them meanwhile."""
    return {file: file.stat().st_size for file in bench.library.path.parent.glob("*.db-wal")}


def pages(log: Path, start: int) -> int:
    """How many different pages were written to `log` from this byte on: what a checkpoint copies."""
    data = log.read_bytes()
    assert data[8:12] == PAGE.to_bytes(4, "big")
    frames = range(max(start, HEAD), len(data), FRAME + PAGE)
    return len({data[at : at + 4] for at in frames})


@pytest.mark.parametrize("seconds", [25, 500])
def test_a_thousand_tokens_cost_less_than_200_kb(bench: Bench, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`seconds` is how long the reply takes: the text is written down once in each."""
    bench.say("First")
    while bench.library.follow():
        pass
    for database in (bench.library._db, bench.library._index._opened()):
        database.execute("PRAGMA wal_autocheckpoint = 0")
    appended: list[int] = []
    opened = Path.open

    def watched(self: Path, *args: object, **kwargs: object) -> object:
        file = opened(self, *args, **kwargs)  # type: ignore[call-overload]
        if self.suffix == ".reply":
            write = file.write

            class Watched:
                def __enter__(self) -> Watched:
                    return self

                def __exit__(self, *_: object) -> None:
                    file.close()

                def truncate(self, size: int) -> None:
                    file.truncate(size)

                def write(self, data: bytes) -> int:
                    appended.append(len(data))
                    return write(data)

            return Watched()
        return file

    monkeypatch.setattr(Path, "open", watched)
    bench.engine.reply = lambda prompt: "word " * (TOKENS - 1) + "end"
    bench.engine.hold = True
    before = logs(bench)
    bench.say("Tell me all")
    for _ in range(seconds):
        bench.step(TOKENS // seconds)
        bench.chat.answering.on_save()
    bench.engine.hold = False
    bench.rest()
    assert len(bench.replies()[-1].split()) == TOKENS
    while bench.library.follow():
        pass
    log = sum(logs(bench).values()) - sum(before.values())
    copied = PAGE * sum(pages(file, start) for file, start in before.items())
    assert len(appended) >= min(seconds, 25) - 5
    assert sum(appended) <= 5 * TOKENS < log
    assert log / 3 < copied < log
    assert sum(appended) + log + copied < 200_000
