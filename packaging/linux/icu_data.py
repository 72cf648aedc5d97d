"""The data of ICU, which Qt carries in a library of 32 MB, without what Qt never asks for: 14 MB less.

Qt asks ICU how texts are ordered, what other encodings' bytes mean, which letter is another's capital, and for the time
zones' names. What breaks lines, spells numbers out and names currencies, languages and units it has no call for.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from cpu_kernels import compiler

UNUSED = {"brkitr", "curr", "lang", "rbnf", "translit", "unit"}
_HEADER = struct.Struct("<HH8x4s")  # its size, ICU's mark; the kind of data
_MARK, _KIND = 0x27DA, b"CmnD"
_ASSEMBLY = """.section .rodata
.balign 16
.globl {symbol}
.type {symbol}, %object
{symbol}: .incbin "{file}"
.size {symbol}, . - {symbol}
.section .note.GNU-stack, "", %progbits
"""


def build(library: Path, target: Path) -> Path:
    """Write to `target` the library of data that replaces `library` (libicudata.so.N). Raises ValueError for one of
    another make, CalledProcessError from the compiler.
    """
    data = library.read_bytes()
    symbol = next(iter(set(re.findall(rb"icudt\d+_dat", data))), b"").decode()
    start = next((at for at in range(0, len(data), 4096) if _header(data, at) is not None), None)
    if not symbol or start is None:
        raise ValueError(f"{library.name} holds no data of ICU as this program knows it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        part, source = Path(folder, "data"), Path(folder, "data.s")
        part.write_bytes(without(data[start:], UNUSED))  # the last item with the library's own end, which nobody reads
        source.write_text(_ASSEMBLY.format(symbol=symbol, file=part))
        command = [compiler(), "-shared", "-nostdlib", f"-Wl,-soname,{library.name}", "-Wl,-z,noexecstack"]
        subprocess.run([*command, "-o", f"{folder}/library", str(source)], check=True)
        shutil.move(f"{folder}/library", target)
    return target


def without(data: bytes, trees: set[str]) -> bytes:
    """The package `data` (a header, a sorted table of names and places, the items) without the items of `trees`.

    Source: the layout of a common data file, in ICU's ucmndata.h.
    """
    size = _header(data, 0)
    if size is None:
        raise ValueError("This is no package of ICU's data.")
    count = struct.unpack_from("<I", data, size)[0]
    table = [struct.unpack_from("<2I", data, size + 4 + 8 * index) for index in range(count)]
    ends = [place for _, place in table[1:]] + [len(data) - size]
    items = []
    for (name, begin), end in zip(table, ends, strict=True):
        words = data[size + name : data.index(b"\0", size + name) + 1]
        parts = words.split(b"/")
        if len(parts) < 3 or parts[1].decode() not in trees:
            items.append((words, data[size + begin : size + end]))
    first = 4 + 8 * len(items)
    rest = _whole(first + sum(len(words) for words, _ in items))
    head, names, body = bytearray(struct.pack("<I", len(items))), bytearray(), bytearray()
    for words, item in items:
        head += struct.pack("<2I", first + len(names), rest + len(body))
        names += words
        body += item.ljust(_whole(len(item)), b"\0")
    return data[:size] + (head + names).ljust(rest, b"\0") + body


def _header(data: bytes, at: int) -> int | None:
    """The size of the header that begins there, if one does."""
    size, mark, kind = _HEADER.unpack_from(data, at) if at + _HEADER.size <= len(data) else (0, 0, b"")
    return size if (mark, kind) == (_MARK, _KIND) else None


def _whole(size: int) -> int:
    """In blocks of 16 bytes: where an item may begin."""
    return -(-size // 16) * 16
