"""Whether a macOS application is whole, looked at without starting it, on any system.

`python packaging/macos/check_app.py "dist/TurboQuant Chat.app"` prints what is wrong, and ends with status 1 then.
"""

from __future__ import annotations

import ast
import os
import plistlib
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers.expat import ExpatError

from macholib.mach_o import (
    LC_BUILD_VERSION,
    LC_CODE_SIGNATURE,
    LC_LOAD_DYLIB,
    LC_LOAD_WEAK_DYLIB,
    LC_REEXPORT_DYLIB,
    LC_RPATH,
    LC_SEGMENT_64,
    LC_VERSION_MIN_MACOSX,
    dylib_command,
)
from macholib.MachO import MachO

NEWEST_MINIMUM = (14, 0)  # MLX's own: no part may want a later system
ARM64 = 0x0100000C
_MAGIC = {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}
_SYSTEM = ("/usr/lib/", "/System/Library/")
# Imported only where they are wanted: by the CPU's kernels, by optional parts, on other systems.
_ELSEWHERE = {"numba", "llvmlite", "winreg", "msvcrt", "_winapi"}


@dataclass
class Part:
    """One Mach-O file's arm64 slice, as far as it matters here. `minimum` is empty where it names none."""

    path: Path
    arm64: bool = False
    whole: bool = True  # all that it says it holds is in the file
    signed: bool = False
    minimum: tuple[int, int] | tuple[()] = ()
    rpaths: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    weak: set[str] = field(default_factory=set)


def check(app: Path) -> list[str]:
    """What is wrong with the application, a sentence each; nothing if it is whole."""
    contents = app / "Contents"
    try:
        info = plistlib.loads((contents / "Info.plist").read_bytes())
    except (OSError, ValueError, ExpatError) as error:
        return [f"Info.plist can't be read: {error}."]
    if not isinstance(info, dict):
        return ["Info.plist holds no dictionary."]
    executable = contents / "MacOS" / str(info.get("CFBundleExecutable", ""))
    found = list(_info(contents, info, executable))
    parts = {path.resolve(): read(path) for path in files(app) if is_macho(path)}
    if executable.resolve() not in parts:
        found.append(f"{executable.name} is no program of macOS.")
    for part in parts.values():
        found += _part(part, app, executable, parts.get(executable.resolve()))
    names = (path for path in files(app) if path.suffix in (".so", ".dylib"))
    found += [f"{path.relative_to(app)} is no library." for path in names if path.resolve() not in parts]
    found += _links(app)
    found += _metal(app)
    if not _has(contents / "_CodeSignature" / "CodeResources", b"<"):
        found.append("The application as a whole isn't signed.")
    return found


def files(app: Path) -> Iterator[Path]:
    """Every file of its own; what links lead to is met where it lies."""
    return (path for path in sorted(app.rglob("*")) if path.is_file() and not path.is_symlink())


def _has(path: Path, start: bytes) -> bool:
    return path.is_file() and path.read_bytes()[: len(start)] == start


def is_macho(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(8)
    # A Java class begins as a fat file does; so many architectures none has.
    return start[:4] in _MAGIC and (start[:4] != b"\xca\xfe\xba\xbe" or int.from_bytes(start[4:8], "big") < 20)


def read(path: Path) -> Part:
    """What the file says of itself. A file that can't be read counts as one for another processor."""
    part = Part(path)
    try:
        headers = MachO(str(path)).headers
    except (ValueError, OSError, KeyError, IndexError, struct.error):
        return part
    for header in headers:
        if header.header.cputype & 0xFFFFFFFF != ARM64:
            continue
        part.arm64 = True
        for command, details, data in header.commands:
            if command.cmd == LC_SEGMENT_64:
                part.whole &= header.offset + details.fileoff + details.filesize <= path.stat().st_size
            elif command.cmd == LC_CODE_SIGNATURE:
                part.signed = True
                part.whole &= header.offset + details.dataoff + details.datasize <= path.stat().st_size
            elif command.cmd == LC_BUILD_VERSION:
                part.minimum = _version(int(details.minos))
            elif command.cmd == LC_VERSION_MIN_MACOSX:
                part.minimum = _version(int(details.version))
            elif command.cmd == LC_RPATH:
                part.rpaths.append(_text(data))
            elif command.cmd in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB):
                assert isinstance(details, dylib_command)
                part.libraries.append(_text(data))
                if command.cmd == LC_LOAD_WEAK_DYLIB:
                    part.weak.add(_text(data))
    return part


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _version(packed: int) -> tuple[int, int]:
    return packed >> 16, packed >> 8 & 0xFF


def _info(contents: Path, info: dict[str, object], executable: Path) -> Iterator[str]:
    minimum = str(info.get("LSMinimumSystemVersion"))
    try:
        wanted = tuple(map(int, minimum.split(".")))[:2]
    except ValueError:
        wanted = (99,)
    if wanted > NEWEST_MINIMUM:
        yield f"Info.plist wants macOS {minimum}."
    if not os.access(executable, os.X_OK):
        yield f"{executable.name or 'CFBundleExecutable'} can't be run."
    types = info.get("CFBundleDocumentTypes") or []
    kinds = types if isinstance(types, list) else [types]
    icons = [kind.get("CFBundleTypeIconFile") if isinstance(kind, dict) else None for kind in kinds]
    for icon in [info.get("CFBundleIconFile"), *icons]:
        if not icon or not (contents / "Resources" / str(icon)).is_file():
            yield f"The icon {icon} is missing."


def _part(part: Part, app: Path, executable: Path, main: Part | None) -> Iterator[str]:
    name = part.path.relative_to(app)
    if not part.arm64:
        yield f"{name} isn't for arm64."
        return
    if not part.whole:
        yield f"{name} is cut short."
    if not part.signed:
        yield f"{name} isn't signed."
    if part.minimum and part.minimum > NEWEST_MINIMUM:
        yield f"{name} wants macOS {part.minimum[0]}.{part.minimum[1]}."
    for library in part.libraries:
        if library.startswith(_SYSTEM) or library in part.weak:
            continue
        places = _places(library, part, executable, main)
        if not any(place.exists() and place.resolve().is_relative_to(app.resolve()) for place in places):
            yield f"{name} needs {library}, which isn't there."


def _places(library: str, part: Part, executable: Path, main: Part | None) -> list[Path]:
    """Where the loader looks. A library's own search paths come first, then the program's."""

    def placed(path: str, near: Path) -> Path:
        path = path.replace("@loader_path", str(near.parent)).replace("@executable_path", str(executable.parent))
        return Path(os.path.normpath(path))

    if not library.startswith("@rpath/"):
        return [placed(library, part.path)]
    rest = library.removeprefix("@rpath/")
    paths = [(rpath, part.path) for rpath in part.rpaths]
    paths += [(rpath, executable) for rpath in (main.rpaths if main else ())]
    return [placed(f"{rpath.rstrip('/')}/{rest}", near) for rpath, near in paths]


def _links(app: Path) -> Iterator[str]:
    for path in sorted(app.rglob("*")):
        if path.is_symlink() and not (path.exists() and path.resolve().is_relative_to(app.resolve())):
            yield f"The link {path.relative_to(app)} leads nowhere in the application."


def _metal(app: Path) -> Iterator[str]:
    """MLX looks for its shaders beside the name under which it was loaded, link or not."""
    names = sorted(app.rglob("libmlx.dylib"))
    if not names:
        yield "libmlx.dylib is missing."
    for name in names:
        if not _has(name.parent / "mlx.metallib", b"MTLB"):
            yield f"mlx.metallib isn't beside {name.relative_to(app)}."


# ---------------------------------------------------------------- what the program imports


def missing_modules(program: Path, places: list[Path]) -> list[str]:
    """The modules that sources below `program` import, at any time, and that lie in none of the `places`."""
    wanted = {name for path in sorted(program.rglob("*.py")) for name in imported(path.read_text("utf-8"))}
    known = set(sys.builtin_module_names) | _ELSEWHERE
    return sorted(name for name in wanted if name.split(".")[0] not in known and not _lies(name, [program, *places]))


def imported(source: str) -> set[str]:
    """The modules that an import statement names, wherever it stands; relative ones aren't used here."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def _lies(name: str, places: list[Path]) -> bool:
    path = Path(*name.split("."))
    for place in places:
        folder, stem = (place / path).parent, path.name
        if (place / path).is_dir() or (folder / f"{stem}.py").is_file():
            return True
        if any(file.suffix == ".so" and file.name.split(".")[0] == stem for file in folder.glob(f"{stem}.*")):
            return True
    return False


def main() -> int:
    app = Path(sys.argv[1])
    found = check(app)
    python = next((app / "Contents" / "Resources").glob("python/lib/python3.*"), None)
    if python is not None:
        program = app / "Contents" / "Resources" / "program"
        places = [python / "site-packages", python, python / "lib-dynload"]
        found += [f"The module {name} is missing." for name in missing_modules(program, places)]
    for sentence in found:
        print(sentence)
    count = sum(is_macho(path) for path in files(app))
    print(f"{app.name}: {count} programs and libraries looked at, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
