"""What the library costs with 10,000 conversations, and what a reply of 1,000 tokens writes.

    python -m tests.benchmarks.library [CONVERSATIONS]

Prints milliseconds of the list, of a search, of opening a long conversation: the best of five, and the first, which
other programs may delay. And the bytes given to write calls from the user's message to the reply's end, the search
index and the checkpoint included (Linux).
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.events import MemorySample, TurnFinished
from app.library.conversations import Library

WORDS, TURNS = 20_000, 2
LONG = 500  # messages of the long conversation


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.db"
        with Library(path) as library:
            vocabulary = fill(library, count)
            started = time.perf_counter()
            while library.follow():
                pass
            print(f"{count} conversations; search index made in {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        with Library(path) as library:
            print(f"open the library            {1e3 * (time.perf_counter() - started):7.1f} ms")
            times("list", library.conversations)
            one = library.conversations()[count // 2].id
            times("list after a change", lambda: (library.rename(one, "x"), library.conversations()))
            for words in ("a", "th", vocabulary[0], vocabulary[300], " ".join(vocabulary[5:8]), "nowhere"):
                times(f"search “{words}”", lambda words=words: library.search(words))  # type: ignore[misc]
            long = library.create("turbo4").id
            with library.transaction():
                for number in range(LONG // 2):
                    library.add_user_message(long, f"{number} " + "word " * 30)
                    finish(library, long, library.begin_reply(long, "turbo4").id, "word " * 150)
            times(f"branch of {LONG} messages", lambda: library.branch(long))
    for tokens_per_s in (2, 10, 40):
        print(f"a reply at {tokens_per_s:2} tok/s writes {reply_bytes(tokens_per_s) / 1e3:7.1f} kB")


def times(name: str, call: Callable[[], object]) -> None:
    spent, cpu = [], []
    for _ in range(5):
        started, begun = time.perf_counter(), time.process_time()
        call()
        spent.append(1e3 * (time.perf_counter() - started))
        cpu.append(1e3 * (time.process_time() - begun))
    print(f"{name:28}{min(spent):7.1f} ms; first {spent[0]:6.1f} ms, of the processor {cpu[0]:6.1f} ms")


def fill(library: Library, count: int) -> list[str]:
    """Conversations whose words are as frequent as in a language. Returns the words, the most frequent first."""
    rng = random.Random(0)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(WORDS)]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(WORDS)))

    def text(words: int) -> str:
        return " ".join(rng.choices(vocabulary, cum_weights=weights, k=words))

    with library.transaction():
        for _ in range(count):
            conversation = library.create("turbo4", "Model-1B").id
            for _ in range(TURNS):
                library.add_user_message(conversation, text(30))
                finish(library, conversation, library.begin_reply(conversation, "turbo4").id, text(120))
    return vocabulary


def finish(library: Library, conversation: str, reply: str, text: str) -> None:
    library.finish_reply(TurnFinished(conversation, reply, "stop", "turbo4", text, 30, 10, 120, 100.0, 40.0))


def reply_bytes(tokens_per_s: int, tokens: int = 1000, letters: int = 5) -> float:
    """Mean of ten, one after another in one conversation, written down once a second as the window does."""
    replies = 10
    with tempfile.TemporaryDirectory() as folder, Library(Path(folder) / "library.db") as library:
        conversation = library.create("turbo4").id
        before = written()
        for _ in range(replies):
            with library.transaction():
                library.add_user_message(conversation, "word " * 30)
                reply = library.begin_reply(conversation, "turbo4").id
            for done in range(0, tokens, tokens_per_s):
                library.update_partial(reply, ("word " * done)[: letters * done])
            finish(library, conversation, reply, "word " * tokens)
            counts = range(0, tokens, max(1, tokens_per_s // 4))  # measured four times a second
            samples = [MemorySample(conversation, "turbo4", n, n, n, n, n, n, n, n, n, n) for n in counts]
            library.history.record_samples([(sample, reply) for sample in samples])
            library.follow()
        library.close()
        return (written() - before) / replies


def written() -> int:
    """Bytes that this process has given to write calls."""
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["wchar"])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
