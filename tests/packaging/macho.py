"""Small Mach-O files, good and bad: a header and the commands that the checker reads."""

from __future__ import annotations

import plistlib
import struct
from collections.abc import Sequence
from pathlib import Path

ARM64, X86_64 = 0x0100000C, 0x01000007
_LOAD_DYLIB, _WEAK, _RPATH = 0xC, 0x80000018, 0x8000001C
_SEGMENT, _CODE_SIGNATURE, _BUILD_VERSION = 0x19, 0x1D, 0x32


def macho(
    libraries: Sequence[str] = ("/usr/lib/libSystem.B.dylib",),
    rpaths: Sequence[str] = (),
    weak: Sequence[str] = (),
    minimum: tuple[int, int] = (14, 0),
    processor: int = ARM64,
    signed: bool = True,
    holds: int = 0,
) -> bytes:
    """A library of one processor; `holds` so many bytes, as it says."""
    commands = [_dylib(_LOAD_DYLIB, name) for name in libraries] + [_dylib(_WEAK, name) for name in weak]
    commands += [_string(_RPATH, struct.pack("<I", 12), path) for path in rpaths]
    version = minimum[0] << 16 | minimum[1] << 8
    commands.append(struct.pack("<6I", _BUILD_VERSION, 24, 1, version, version, 0))
    if holds:
        commands.append(struct.pack("<2I16s4Q4I", _SEGMENT, 72, b"__TEXT", 0, holds, 0, holds, 5, 5, 0, 0))
    if signed:
        commands.append(struct.pack("<4I", _CODE_SIGNATURE, 16, 0, 0))
    body = b"".join(commands)
    return struct.pack("<8I", 0xFEEDFACF, processor, 0, 6, len(commands), len(body), 0, 0) + body


def fat(*slices: tuple[int, bytes]) -> bytes:
    """A universal file of (processor, its Mach-O)."""
    header = struct.pack(">2I", 0xCAFEBABE, len(slices))
    offset, body = 4096, b""
    for processor, data in slices:
        header += struct.pack(">5I", processor, 0, offset + len(body), len(data), 12)
        body += data.ljust(-(-len(data) // 4096) * 4096, b"\0")
    return header.ljust(offset, b"\0") + body


def application(place: Path) -> Path:
    """An application that lacks nothing: a program, MLX with its shaders, a link to it, icons, a signature."""
    contents = place / "Whole.app" / "Contents"
    info = {
        "CFBundleExecutable": "whole",
        "CFBundleIconFile": "whole.icns",
        "LSMinimumSystemVersion": "14.0",
        "CFBundleDocumentTypes": [{"CFBundleTypeIconFile": "document.icns"}],
    }
    mlx = contents / "Frameworks" / "mlx"
    for path, data in {
        contents / "Info.plist": plistlib.dumps(info),
        contents / "MacOS" / "whole": macho(rpaths=["@executable_path/../Frameworks"]),
        contents / "Resources" / "whole.icns": b"icns",
        contents / "Resources" / "document.icns": b"icns",
        contents / "_CodeSignature" / "CodeResources": b"<plist/>",
        mlx / "core.so": macho(["@rpath/libmlx.dylib", "/usr/lib/libSystem.B.dylib"], ["@loader_path/lib"]),
        mlx / "lib" / "libmlx.dylib": macho(["/System/Library/Frameworks/Metal.framework/Metal"]),
        mlx / "lib" / "mlx.metallib": b"MTLB",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (contents / "MacOS" / "whole").chmod(0o755)
    for name in ("libmlx.dylib", "mlx.metallib"):
        (contents / "Frameworks" / name).symlink_to(f"mlx/lib/{name}")
    return place / "Whole.app"


def _dylib(command: int, name: str) -> bytes:
    return _string(command, struct.pack("<4I", 24, 0, 0, 0), name)


def _string(command: int, fields: bytes, text: str) -> bytes:
    data = text.encode(errors="surrogateescape") + b"\0"
    size = -(-(8 + len(fields) + len(data)) // 8) * 8
    return struct.pack("<2I", command, size) + fields + data.ljust(size - 8 - len(fields), b"\0")
