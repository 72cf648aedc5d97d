"""A bundle as a person has it: in a folder that it can't write to, a home of its own, no Python, no open stream."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "turboquant-chat"
NOBODY = 65534
LONGEST_WAIT_S = 120  # of a machine that does much else; a test waits no longer than it has to


class Machine:
    """Runs the bundle as a user to whom nothing of it belongs. `run` waits for it; `start` doesn't."""

    def __init__(self, program: Path, home: Path, display: str = "") -> None:
        self.program, self.home, self.display = program, home, display
        self.started: list[subprocess.Popen[bytes]] = []
        self.changes: dict[str, str | None] = {}  # of the environment; None: without it

    @property
    def environment(self) -> dict[str, str]:
        found = {"HOME": str(self.home), "PATH": "/nonexistent", "LANG": "C.UTF-8", "TMPDIR": str(self.home.parent)}
        merged = found | ({"DISPLAY": self.display} if self.display else {}) | self.changes
        return {name: value for name, value in merged.items() if value is not None}

    def command(self, *arguments: str) -> list[str]:
        as_nobody = ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return [*(as_nobody if os.geteuid() == 0 else []), str(self.program), *arguments]

    def run(self, *arguments: str, timeout: float = LONGEST_WAIT_S) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    def start(self, *arguments: str, told: Path | None = None) -> subprocess.Popen[bytes]:
        """Without stdin, stdout and stderr: none of the three is open. `told`: the file for stderr instead."""
        streams = "<&- >&- 2>&-" if told is None else f"<&- >&- 2>{shlex.quote(str(told))}"
        closed = ["/bin/sh", "-c", f'exec "$0" "$@" {streams}', *self.command(*arguments)]
        process = subprocess.Popen(closed, env=self.environment, start_new_session=True)
        self.started.append(process)
        return process

    def processes(self) -> list[int]:
        """All that run from the bundle's folder, or were started by one that did."""
        found = []
        sessions = {process.pid for process in self.started}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    ours = os.readlink(entry / "exe").startswith(str(self.program.parent))
                    ours = ours or os.getsid(int(entry.name)) in sessions
                    dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                except OSError:
                    continue
                if ours and not dead:
                    found.append(int(entry.name))
        return found

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # ------------------------------------------------------------ what it left

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / NAME

    def ask(self, sql: str) -> list[tuple]:
        """Rows of its library; none while there is no library."""
        try:
            with closing(sqlite3.connect(f"file:{self.data / 'library.db'}?mode=ro", uri=True)) as library:
                return library.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []

    def log(self) -> str:
        file = self.home / ".local" / "state" / NAME / "log" / f"{NAME}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""


@contextmanager
def machine(folder: Path, display: str = "", name: str = NAME) -> Iterator[Machine]:
    """`folder`: the bundle's, which is copied, as `name`, to where everybody may read it and nobody write."""
    place = Path(tempfile.mkdtemp(prefix="turboquant-bundle-"))
    try:
        place.chmod(0o755)
        subprocess.run(["cp", "-a", "--reflink=auto", str(folder), str(place / name)], check=True)
        subprocess.run(["chmod", "-R", "a+rX,a-w", str(place / name)], check=True)
        home = place / "home"
        home.mkdir()
        for own in (home, place):
            if os.geteuid() == 0 and own is home:
                os.chown(own, NOBODY, NOBODY)
        place.chmod(0o1777)
        found = Machine(place / name / NAME, home, display)
        try:
            yield found
        finally:
            found.end()
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(place)], check=False)
        shutil.rmtree(place)


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")
    }


def wait_until(ready: Callable[[], object], what: str) -> object:
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not (found := ready()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.2)
    return found
