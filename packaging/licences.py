"""The licences of everything that a bundle carries, into its resources/licences/licences.json, which About shows.

What Python packages say of themselves app.licences reads; here comes what no package tells: Qt, what others made of it
and of MLX, the model, the fonts, the bundle's start, and the system's libraries on the machine that built it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app import paths  # noqa: E402
from app.engine import starter  # noqa: E402
from app.licences import Licence, installed  # noqa: E402

NOT_CARRIED = {"llvmlite"}  # it made the CPU's loops; of numba, small parts are in them
QT_WORDS = """Qt is used under the GNU Lesser General Public License, version 3. Its libraries are plain shared
libraries in the folder {folder} of the program: put libraries of your own with the same interface in their place, and
the program uses them. Qt's source is at https://download.qt.io/official_releases/qt/, that of PySide at
https://download.qt.io/official_releases/QtForPython/.
"""


def collect(libraries: Iterable[Path] = (), platform: str = sys.platform) -> list[Licence]:
    """All licences, the program's own first. `libraries`: those of the system's that the bundle carries.

    Raises ValueError for one without a text: it may not be passed on like that.
    """
    found = [licence for licence in installed() if licence.name not in NOT_CARRIED]
    qt = distribution("PySide6-Essentials").version
    folder = "PySide6/Qt/lib"
    lgpl = "\n\n".join([QT_WORDS.format(folder=folder), _kept("LGPL-3.0"), _kept("GPL-3.0")])
    found.append(Licence("Qt", qt, "LGPL-3.0-only", lgpl))
    found.append(Licence("Qt's and MLX's parts by others", "", "MIT, BSD, zlib and others", _kept("Parts")))
    found.append(Licence("Fonts of the formulas", "", "OFL-1.1, Bitstream-Vera", _kept("Fonts")))
    found.append(Licence(starter.NAME, "", "Apache-2.0", _kept("Apache-2.0")))
    start = distribution("pyinstaller")
    text = next(file.read_text("utf-8") for file in start.files or () if file.name == "COPYING.txt")
    words = "GPL-2.0-or-later WITH Bootloader-exception"
    found.append(Licence("PyInstaller (the bundle's start)", start.version, words, str(text)))
    if platform == "linux":
        found.append(Licence("ICU (with Qt)", "73", "Unicode-3.0", _kept("ICU")))
    if platform == "darwin":
        found.append(Licence("OpenSSL (with Python)", "3", "Apache-2.0", _kept("Apache-2.0")))
        if all(licence.name != "mlx-metal" for licence in found):  # told on a Mac only, and by MLX's own
            found += [replace(licence, name="mlx-metal") for licence in found if licence.name == "mlx"]
    found += _of_system(libraries)
    # sentencepiece's wheel brings a library of GCC's, without a word on it.
    found += [replace(one, name="libgomp (with sentencepiece)", version="") for one in found if "libgcc-s1" in one.name]
    without = [licence.name for licence in found if not licence.text.strip()]
    if without:
        raise ValueError(f"No licence text was found for {', '.join(without)}.")
    return [found[0], *sorted(found[1:], key=lambda licence: licence.name.casefold())]


def _kept(name: str) -> str:
    return (paths.RESOURCES / "licences" / f"{name}.txt").read_text("utf-8")


def write(folder: Path, licences: list[Licence]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps([asdict(licence) for licence in licences], indent=1, ensure_ascii=False)
    (folder / "licences.json").write_text(document, "utf-8")


def _of_system(libraries: Iterable[Path]) -> list[Licence]:
    """Of Debian's packages that these files came from: their copyright files. Others keep theirs elsewhere: by file."""
    packages: dict[str, str] = {}
    for library in libraries:
        package = _package(library)
        if package is None:
            raise ValueError(f"{library} belongs to no package of this system: its licence can't be told.")
        packages.setdefault(*package)
    found = []
    for name, version in sorted(packages.items()):
        text = Path(f"/usr/share/doc/{name}/copyright").read_text("utf-8", errors="replace")
        kinds = dict.fromkeys(re.findall(r"^License: *(\S[^\n]*)", text, re.MULTILINE))
        words = ", ".join(kinds) if 0 < len(kinds) <= 3 else "several" if kinds else "see the text"
        found.append(Licence(f"{name} (Debian)", version, words, _with_common(text)))
    return found


def _package(library: Path) -> tuple[str, str] | None:
    """(name, version) of the installed package that owns this file."""
    for path in (library, library.resolve()):
        for place in (path, Path("/usr") / str(path).lstrip("/")):  # /lib is /usr/lib, and dpkg knows one of them
            done = subprocess.run(["dpkg-query", "-S", str(place)], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                name = done.stdout.splitlines()[0].rpartition(": ")[0].split(", ")[0]
                version = subprocess.run(
                    ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True
                ).stdout
                return name.split(":")[0], version
    return None


def _with_common(text: str) -> str:
    """Debian's copyright files point to texts in a folder of the system that a bundle's user may not have."""
    names = sorted(set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text)))
    files = [Path("/usr/share/common-licenses") / name for name in names]
    more = [f"---- {file.name}\n\n{file.read_text('utf-8', errors='replace')}" for file in files if file.exists()]
    return "\n\n".join([text, *more])
