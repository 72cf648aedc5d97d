"""Wheels for the oldest macOS that the program runs on: pip takes those for the newest that the building one knows."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

OLDEST = 14  # Info.plist's LSMinimumSystemVersion
# A system's tags in pip's words, the newest that every part may want first.
PLATFORMS = [f"macosx_{major}_0_{kind}" for major in (14, 13, 12, 11) for kind in ("arm64", "universal2")]
PLATFORMS += [f"macosx_10_{minor}_universal2" for minor in (15, 14, 13, 12, 9)]


def download(requirements: Iterable[str], folder: Path, python: str) -> list[Path]:
    """The wheels of these name==version, into `folder`. Raises CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", python, "--implementation", "cp", "--dest", str(folder)]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    subprocess.run([*command, *requirements], check=True)
    return sorted(folder.glob("*.whl"))


def newer(installed: Iterable[Distribution]) -> list[str]:
    """name==version of those whose wheels want a later macOS than OLDEST."""
    found = []
    for package in installed:
        systems = re.findall(r"^Tag: .*-macosx_(\d+)_", package.read_text("WHEEL") or "", re.MULTILINE)
        if systems and min(map(int, systems)) > OLDEST:
            found.append(f"{package.metadata['Name']}=={package.version}")
    return sorted(found)


def fit() -> None:
    """Put those for OLDEST in the place of newer ones, in the environment that this runs in."""
    if wanted := newer(distributions()):
        print(f"For macOS {OLDEST}: {', '.join(wanted)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            files = download(wanted, Path(folder), f"{sys.version_info.major}.{sys.version_info.minor}")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
            subprocess.run([*command, *map(str, files)], check=True)
