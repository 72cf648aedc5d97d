"""What macOS is told of the program: Info.plist, with the version from the one place that states it."""

from __future__ import annotations

import plistlib
import runpy
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
APP = "TurboQuant Chat.app"
ICONS = ("turboquant-chat.icns", "application-x-turbochat.icns")


def version() -> str:
    found: str = runpy.run_path(str(HERE.parents[1] / "turboquant" / "version.py"))["__version__"]
    return found


def info() -> dict[str, Any]:
    """The dictionary; the template's VERSION is the version's place."""
    text = (HERE / "Info.plist").read_text("utf-8").replace("<string>VERSION</string>", f"<string>{version()}</string>")
    found: dict[str, Any] = plistlib.loads(text.encode())
    return found


if __name__ == "__main__":
    print(version())
