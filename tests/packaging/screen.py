"""A display without a monitor, and a keyboard for it: Xvfb and xdotool."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.packaging.bundled import wait_until


class Screen:
    def __init__(self, display: str) -> None:
        self.display = display

    def tool(self, *arguments: str) -> str:
        """What xdotool says; nothing where it finds nothing."""
        environment = {**os.environ, "DISPLAY": self.display}
        done = subprocess.run(
            ["xdotool", *arguments], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout.strip()

    def windows(self) -> list[str]:
        """The program's main windows on the screen: large ones with a title."""
        found = self.tool("search", "--onlyvisible", "--class", "^TurboQuant Chat$").splitlines()
        return [window for window in found if self._width(window) >= 600]

    def _width(self, window: str) -> int:
        shape = dict(line.split("=") for line in self.tool("getwindowgeometry", "--shell", window).splitlines())
        return int(shape.get("WIDTH", 0))

    def focus(self) -> str:
        """The keyboard to the program's window, once it is there: without a window manager nobody else does it."""
        window = str(wait_until(self.windows, "the window")[0])  # type: ignore[index]
        self.tool("windowfocus", "--sync", window)
        return window

    def press(self, *keys: str) -> None:
        self.tool("key", "--clearmodifiers", "--delay", "60", *keys)

    def type(self, text: str) -> None:
        self.tool("type", "--clearmodifiers", "--delay", "25", text)

    def shoot(self, file: Path) -> None:
        """The whole screen as a PNG, for whoever looks at a failure."""
        environment = {**os.environ, "DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb"}
        script = (
            "import sys; from PySide6.QtGui import QGuiApplication; app = QGuiApplication(sys.argv); "
            "app.primaryScreen().grabWindow(0).save(sys.argv[1])"
        )
        subprocess.run([sys.executable, "-c", script, str(file)], env=environment, timeout=60, check=False)


@contextmanager
def screen() -> Iterator[Screen]:
    """Xvfb says itself which display was free. Set back when its last program goes, it would cut off the next one."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1400x900x24", "-nolisten", "tcp", "-ac", "-noreset"]
    server = subprocess.Popen(command, pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        os.close(writer)
        with os.fdopen(reader) as told:
            number = told.readline().strip()
        assert number, "Xvfb didn't start"
        yield Screen(f":{number}")
    finally:
        server.terminate()
        server.wait()
