"""The icons of the program and of its documents, from resources/icons: PNGs for Linux, .icns for macOS.

`python packaging/icons.py FOLDER`
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ICONS = Path(__file__).resolve().parents[1] / "resources" / "icons"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
NAMES = {"app": "turboquant-chat", "document": "application-x-turbochat"}
# An .icns entry's type and its pixels: each size at one and at two pixels a point.
ICNS = {
    b"icp4": 16, b"icp5": 32, b"ic11": 32, b"ic12": 64, b"ic07": 128, b"ic13": 256, b"ic08": 256, b"ic14": 512,
    b"ic09": 512, b"ic10": 1024,
}  # fmt: skip
# On a Mac the body takes 824 of 1024 pixels; the drawing has a margin of 28 of 880 around it.
MAC_SHARE = 880 / 1024


def draw(folder: Path) -> list[Path]:
    """Write every icon below `folder`; returns the files."""
    made = []
    for source, name in NAMES.items():
        for size in SIZES:
            path = folder / f"{size}x{size}" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_png(source, size, 1.0))
            made.append(path)
        path = folder / f"{name}.icns"
        path.write_bytes(icns({kind: _png(source, size, MAC_SHARE) for kind, size in ICNS.items()}))
        made.append(path)
    return made


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """An .icns file: for each picture its type, its length with these eight bytes, and the PNG."""
    entries = b"".join(kind + (len(png) + 8).to_bytes(4, "big") + png for kind, png in pictures.items())
    return b"icns" + (len(entries) + 8).to_bytes(4, "big") + entries


def _png(source: str, size: int, share: float) -> bytes:
    """The drawing on `share` of a square of `size` pixels, in its middle."""
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    margin = size * (1 - share) / 2
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        QSvgRenderer(str(ICONS / f"{source}.svg")).render(
            painter, QRectF(margin, margin, size - 2 * margin, size - 2 * margin)
        )
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]  # its stubs want bytes, and it refuses them
        raise OSError(f"{source}.svg couldn't be drawn")
    return bytes(data.data())


if __name__ == "__main__":
    for file in draw(Path(sys.argv[1])):
        print(file)
