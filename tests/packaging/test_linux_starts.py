"""How people start the Linux bundle: with a file, from odd folders, in homes that can't be written, after a kill."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.library import exchange
from app.library.conversations import Library
from tests.packaging.bundled import NAME, ROOT, Machine, machine, wait_until
from tests.packaging.screen import Screen, screen

pytestmark = [pytest.mark.bundle, pytest.mark.skipif(sys.platform != "linux", reason="of the Linux bundle")]
ODD = "Größe & 雪 'x' \"y\" $HOME 100% #1;"


@contextmanager
def desk(name: str = NAME) -> Iterator[tuple[Machine, Screen]]:
    with screen() as display, machine(ROOT / "dist" / NAME, display.display, name) as found:
        yield found, display


def archive(folder: Path, title: str) -> Path:
    """A conversation as a .turbochat file that everybody may read."""
    database = folder / f"{title}.db"
    with Library(database) as library:
        talk = library.create("turbo4", title=title).id
        library.add_user_message(talk, f"This is {title}.")
    target = folder / f"{title} – übrig.turbochat"
    exchange.export(database, talk, target)
    target.chmod(0o644)
    return target


def test_a_file_is_opened_and_a_second_start_hands_its_own_to_the_first(tmp_path: Path) -> None:
    """In a folder with every odd letter, and a locale that knows ASCII alone."""
    with desk(ODD) as (bundle, display):
        bundle.changes = {"LANG": "C", "PATH": None}
        files = [archive(tmp_path, title) for title in ("First", "Second")]
        place = bundle.home.parent / "files"
        place.mkdir()
        moved = [path.rename(place / path.name) for path in files]
        told = bundle.home / "stderr"

        first = bundle.start(str(moved[0]), told=told)
        display.focus()
        wait_until(lambda: titles(bundle) == ["First"], "the file's conversation")
        second = bundle.start(str(moved[1]))
        assert second.wait(timeout=60) == 0
        wait_until(lambda: titles(bundle) == ["First", "Second"], "the second file's conversation")

        assert len(display.windows()) == 1
        display.focus()
        display.press("ctrl+q")
        assert first.wait(timeout=30) == 0
        assert bundle.processes() == []
        assert " ERROR " not in bundle.log(), bundle.log()
        assert "style" not in told.read_text()  # the style sheet and its pictures were found


def titles(bundle: Machine) -> list[str]:
    return sorted(title for (title,) in bundle.ask("SELECT title FROM conversations"))


@pytest.mark.parametrize("home", ["read-only", "none"])
def test_a_home_that_cant_be_written_is_said_in_a_window(home: str, tmp_path: Path) -> None:
    """With what to do about it; then the program ends, and has written nothing."""
    with desk() as (bundle, display):
        told = tmp_path / "stderr"
        if home == "none":
            bundle.changes = {"HOME": None}  # nobody's account has none either
        if os.geteuid() == 0:
            os.chown(bundle.home, 0, 0)
        elif home == "none":
            pytest.skip("this account has a home")
        bundle.home.chmod(0o555)

        process = bundle.start(told=told)
        message = str(wait_until(lambda: display.tool("search", "--onlyvisible", "--name", "^TurboQuant Chat$"), "it"))
        assert display.windows() == []
        display.tool("windowfocus", "--sync", message.split()[0])
        display.press("Return")

        assert process.wait(timeout=30) == 1
        assert re.search(r"^The folder .* can't be made: .*permission.* set TURBOQUANT_HOME", told.read_text(), re.I)
        assert list(bundle.home.iterdir()) == []
        assert bundle.processes() == []


def test_killed_while_it_starts_it_starts_again() -> None:
    with desk() as (bundle, display):
        for moment in (lambda: True, lambda: (bundle.data / "running.lock").exists(), display.windows):
            process = bundle.start()
            while not moment():
                assert process.poll() is None, "it ended by itself"
                time.sleep(0.01)
            process.kill()
            process.wait()

        last = bundle.start()
        wait_until(display.windows, "the window")
        wait_until(lambda: "ended unexpectedly" in bundle.log(), "what it says of the last run")
        last.terminate()  # the crash's message has the keyboard
        assert last.wait(timeout=30) == 0
        assert bundle.processes() == []
        assert bundle.ask("PRAGMA integrity_check") == [("ok",)]


def test_the_deb_registers_the_kind_of_file(tmp_path: Path) -> None:
    """As the desktop sees it once the package's files lie in their places: what opens such a file, and how."""
    package = next((ROOT / "dist").glob("*.deb"))
    unpack = f"dpkg-deb --fsys-tarfile '{package}' | tar -x -C '{tmp_path}' ./usr/share ./usr/bin"
    subprocess.run(["bash", "-o", "pipefail", "-c", unpack], check=True)
    share, program = tmp_path / "usr" / "share", tmp_path / "usr" / "bin" / NAME
    assert os.readlink(program) == f"../lib/{NAME}/{NAME}"
    program.unlink()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/opened"\n')
    program.chmod(0o755)
    for command in ("update-mime-database", "update-desktop-database"):  # what dpkg's triggers do
        subprocess.run([command, str(share / ("mime" if "mime" in command else "applications"))], check=True)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "XDG_DATA_DIRS": str(share), "HOME": str(tmp_path)}
    file = archive(tmp_path, "Given")

    def gio(*arguments: str) -> str:
        command = ["gio", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert "standard::content-type: application/x-turbochat" in gio("info", "-a", "standard::content-type", str(file))
    assert gio("mime", "application/x-turbochat").splitlines()[0].endswith(f": {NAME}.desktop")  # the default
    gio("open", str(file))
    wait_until((tmp_path / "opened").exists, "the program's start")
    wait_until(lambda: (tmp_path / "opened").read_text() == f"{file}\n", "its argument")
