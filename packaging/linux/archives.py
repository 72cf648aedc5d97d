"""The Linux bundle as archives: a tar.gz to be unpacked anywhere, a .deb for Debian, Ubuntu and their children."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "turboquant-chat"
PLACE = f"usr/lib/{NAME}"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The C library's parts, and what must fit the machine's graphics driver: never bundled.
OF_THE_SYSTEM = {
    "libc.so.6": "libc6", "libm.so.6": "libc6", "libdl.so.2": "libc6", "libpthread.so.0": "libc6",
    "librt.so.1": "libc6", "libutil.so.1": "libc6", "libresolv.so.2": "libc6", "ld-linux-x86-64.so.2": "libc6",
    "ld-linux-aarch64.so.1": "libc6", "libEGL.so.1": "libegl1", "libGL.so.1": "libgl1", "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0", "libxcb.so.1": "libxcb1", "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}  # fmt: skip
CONTROL = """Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: TurboQuant Chat developers <noreply@localhost>
Installed-Size: {kilobytes}
Depends: {depends}
Recommends: gnome-keyring | kwalletmanager
Section: science
Priority: optional
Description: Chat with language models on this computer
 A desktop application for chatting with MLX language models, in which one can
 watch the memory of the conversation. Its key/value cache is compressed with
 TurboQuant. A small model comes with it; no network is needed.
"""


class LibraryMissing(ValueError):
    """A library that neither the bundle nor a known package brings."""


def tar(folder: Path, target: Path, version: str) -> Path:
    """`folder` with the desktop's files beside the program."""
    path = target / f"{NAME}-{version}-linux-{_machine()}.tar.gz"
    with tempfile.TemporaryDirectory(dir=target) as work:
        share(Path(work) / "share")
        shutil.copy2(HERE / "desktop-entry.sh", work)
        # The folder's own name for what lies in the temporary one, so that the archive holds a single folder.
        moved = ["--transform", f"s,^share,{NAME}/share,;s,^desktop-entry.sh,{NAME}/desktop-entry.sh,"]
        packer = "pigz" if shutil.which("pigz") else "gzip"
        command = ["tar", "--owner=0", "--group=0", "--use-compress-program", packer, "-cf", str(path), *moved]
        subprocess.run([*command, "-C", work, "share", "desktop-entry.sh", "-C", str(folder.parent), NAME], check=True)
    return path


def deb(folder: Path, target: Path, version: str) -> Path:
    """The program in /usr/lib, a link in /usr/bin, menu entry, icons, kind of file. Raises LibraryMissing."""
    architecture = ARCHITECTURES[_machine()]
    path = target / f"{NAME}_{version}_{architecture}.deb"
    depends = ", ".join(packages(folder))
    with tempfile.TemporaryDirectory(dir=target) as work:
        root = Path(work)
        root.chmod(0o755)
        # Hard links: a copy of everything would take as long as packing it.
        subprocess.run(["cp", "-al", str(folder), str(_made(root / PLACE).parent)], check=True)
        (_made(root / "usr" / "bin") / NAME).symlink_to(f"../lib/{NAME}/{NAME}")
        share(root / "usr" / "share")
        text = HERE.parents[1] / "LICENSE"
        notes = "Everything that comes with it, and its licences: Help, About, Licences in the program.\n\n"
        (_made(root / "usr" / "share" / "doc" / NAME) / "copyright").write_text(
            notes + text.read_text("utf-8"), "utf-8"
        )
        size = sum(file.lstat().st_size for file in root.rglob("*")) // 1024
        control = CONTROL.format(name=NAME, version=version, architecture=architecture, kilobytes=size, depends=depends)
        (_made(root / "DEBIAN") / "control").write_text(control, "utf-8")
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--build", str(root), str(path)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return path


def share(folder: Path) -> None:
    """What the desktop reads, laid out as below /usr/share."""
    shutil.copy2(HERE / f"{NAME}.desktop", _made(folder / "applications"))
    shutil.copy2(HERE / f"{NAME}.xml", _made(folder / "mime" / "packages"))
    icons = HERE.parents[1] / "build" / "icons"
    for picture in sorted(icons.glob("*x*/*.png")):
        kind = "apps" if picture.stem == NAME else "mimetypes"
        shutil.copy2(picture, _made(folder / "icons" / "hicolor" / picture.parent.name / kind))


def packages(folder: Path) -> list[str]:
    """Debian's packages that bring what the bundle's libraries need from outside. Raises LibraryMissing."""
    needed, glibc = needs(folder)
    unknown = needed.keys() - OF_THE_SYSTEM.keys()
    if unknown:
        words = "; ".join(f"{library} (for {needed[library]})" for library in sorted(unknown))
        raise LibraryMissing(f"Neither the bundle nor a known package brings {words}.")
    names = {OF_THE_SYSTEM[library] for library in needed} - {"libc6"}
    oldest = ".".join(map(str, glibc))
    return [f"libc6 (>= {oldest})", *sorted(names), "fonts-dejavu-core | fonts-liberation | fonts-noto-core"]


def needs(folder: Path) -> tuple[dict[str, str], tuple[int, ...]]:
    """({library that isn't in the folder: a file that needs it}, the oldest C library that serves)."""
    files = [path for path in folder.rglob("*") if path.is_file() and _is_elf(path)]
    there = {path.name for path in folder.rglob("*.so*")}
    outside: dict[str, str] = {}
    newest: tuple[int, ...] = (2, 17)
    for path in files:
        done = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True)
        for library in re.findall(r"^\s+NEEDED\s+(\S+)", done.stdout, re.MULTILINE):
            if library not in there:
                outside.setdefault(library, str(path.relative_to(folder)))
        for version in re.findall(r"\bGLIBC_(2\.\d+)", done.stdout):
            newest = max(newest, tuple(map(int, version.split("."))))
    return outside, newest


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _machine() -> str:
    return platform.machine()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
