"""`.turbochat` files as nobody wrote them: whatever comes, a refusal in words, and nothing left behind."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import AppError
from app.library import archive, document
from app.library.archive import CachePart
from app.library.document import Document
from app.library.records import Message

CACHE = bytes(range(64)) * 8
MESSAGE = Message("m1", "", None, "user", "Hello", "complete", "", "", 0, 0, 0, 0.0, 0.0, 1.0)
DOCUMENT = Document("A title", "turbo4", messages=[MESSAGE], shown="m1")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sound")
    (folder / "c.tqcache").write_bytes(CACHE)
    caches = [CachePart(folder / "c.tqcache", "m1", "print", "turbo4", 12)]
    archive.write(folder / "a.turbochat", DOCUMENT, caches)
    assert {file.name for file in folder.iterdir()} == {"c.tqcache", "a.turbochat"}
    return (folder / "a.turbochat").read_bytes()


class Reader:
    """Reads files' contents into a folder, which must be empty after each refusal."""

    def __init__(self, folder: Path) -> None:
        self.incoming, self.source = folder / "incoming", folder / "a.turbochat"
        self.incoming.mkdir()
        self._made = 0

    def place(self) -> Path:
        self._made += 1
        return self.incoming / str(self._made)

    def read(self, content: bytes, **wanted: object) -> archive.Opened:
        self.source.write_bytes(content)
        return archive.read(self.source, self.place, **wanted)  # type: ignore[arg-type]

    def refuses(self, content: bytes) -> str:
        with pytest.raises(AppError) as refusal:
            self.read(content)
        assert "Nothing was imported" in str(refusal.value)
        assert not list(self.incoming.iterdir())
        return str(refusal.value)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(entries: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        for name, content in entries:
            file.writestr(name, content)
    return target.getvalue()


def again(content: bytes, change: Callable[[dict[str, object], dict[str, bytes]], None]) -> bytes:
    """The same parts with a manifest that `change` has changed."""
    held = parts(content)
    manifest = json.loads(held.pop("manifest.json"))
    change(manifest, held)
    return zipped([*held.items(), ("manifest.json", json.dumps(manifest).encode())])


def test_a_sound_one_is_read(reader: Reader, sound: bytes) -> None:
    opened = reader.read(sound)
    assert opened.document == document.read(document.write(DOCUMENT))
    (cache,) = opened.caches
    assert (cache.path.read_bytes(), cache.message, cache.tokens) == (CACHE, "m1", 12)
    assert opened.left_out == ""


def test_a_cache_of_another_model_or_too_large_is_left_out(reader: Reader, sound: bytes) -> None:
    for wanted in ({"wanted": lambda fingerprint: False}, {"most_bytes": 100}):
        opened = reader.read(sound, **wanted)
        assert opened.document.title == "A title"
        assert list(opened.caches) == []
        assert opened.left_out
    assert not list(reader.incoming.iterdir())


def test_a_stop_leaves_nothing(reader: Reader, sound: bytes, tmp_path: Path) -> None:
    reader.source.write_bytes(sound)
    asked = iter([False, False, True])  # manifest, text, cache
    with pytest.raises(archive.Interrupted):
        archive.read(reader.source, reader.place, cancelled=lambda: next(asked))
    assert not list(reader.incoming.iterdir())
    with pytest.raises(archive.Interrupted):
        archive.write(tmp_path / "b.turbochat", DOCUMENT, [], cancelled=lambda: True)
    assert not list(tmp_path.glob("*b.turbochat*"))


NAMES = [
    "../conversation.json", "/etc/passwd", "caches/../../x.tqcache", "caches\\x.tqcache", "caches/",
    "CACHES/1.tqcache", "caches/1.tqcache/2.tqcache", "caches/a.b.tqcache", "notes.txt", "conversation.json/",
    "caches/é.tqcache",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_without_a_place_here(reader: Reader, sound: bytes, name: str) -> None:
    def add(manifest: dict, held: dict) -> None:
        held[name] = b"x"
        manifest["entries"].append({"name": name, "bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()})

    reader.refuses(again(sound, add))


def test_a_link_instead_of_a_file(reader: Reader, sound: bytes) -> None:
    held = parts(sound)
    link = zipfile.ZipInfo("caches/1.tqcache")
    link.external_attr = 0o120777 << 16
    held.pop("caches/1.tqcache")
    assert "no file" in reader.refuses(zipped([*held.items(), (link, CACHE)]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_comes_twice(reader: Reader, sound: bytes) -> None:
    assert "twice" in reader.refuses(zipped([*parts(sound).items(), ("conversation.json", b"{}")]))


def test_too_many_parts(reader: Reader, sound: bytes) -> None:
    more = [(f"caches/{n}.tqcache", b"x") for n in range(100, 120)]
    assert "too many" in reader.refuses(zipped([*parts(sound).items(), *more]))
    most = [(f"caches/{'x' * 50}{n}.tqcache", b"") for n in range(40_000)]
    assert "too long" in reader.refuses(zipped(most)), "its directory isn't even read"


def test_a_bomb(reader: Reader, sound: bytes) -> None:
    """Two hundred thousand times as large as it is: never unpacked beyond what the manifest may say."""
    held = parts(sound)
    zeros = b" " * (archive.MOST_TEXT_BYTES + 10)
    entry = {"name": "conversation.json", "bytes": len(zeros), "sha256": hashlib.sha256(zeros).hexdigest()}
    manifest = {"format": "turbochat", "version": 1, "entries": [entry], "caches": []}
    bomb = zipped(
        [("conversation.json", zeros), ("manifest.json", json.dumps(manifest).encode())], zipfile.ZIP_DEFLATED
    )
    assert len(bomb) < 100_000
    assert "too long" in reader.refuses(bomb)
    packed = zipped([*held.items()], zipfile.ZIP_DEFLATED)
    assert "packed" in reader.refuses(packed), "a cache is stored as it is"
    assert "larger" in reader.refuses(zipped([("conversation.json", b"{}"), ("manifest.json", b" " * (2 << 20))]))


def test_a_part_that_says_less_than_it_unpacks_to(reader: Reader) -> None:
    text = b" " * 1_000_000
    entry = {"name": "conversation.json", "bytes": 10, "sha256": hashlib.sha256(text).hexdigest()}
    manifest = json.dumps({"format": "turbochat", "version": 1, "entries": [entry], "caches": []}).encode()
    content = bytearray(zipped([("conversation.json", text), ("manifest.json", manifest)], zipfile.ZIP_DEFLATED))
    for place in range(len(content)):  # the size, in both headers
        if content[place : place + 4] == struct.pack("<I", len(text)):
            content[place : place + 4] = struct.pack("<I", 10)
    reader.refuses(bytes(content))


CHANGES: dict[str, Callable[[dict, dict], object]] = {
    "another format": lambda manifest, held: manifest.update(format="zip"),
    "no entries": lambda manifest, held: manifest.update(entries=[]),
    "odd entries": lambda manifest, held: manifest.update(entries=[1]),
    "an odd size": lambda manifest, held: manifest["entries"][0].update(bytes="many"),
    "a true size": lambda manifest, held: manifest["entries"][0].update(bytes=True),
    "another size": lambda manifest, held: manifest["entries"][1].update(bytes=10),
    "another checksum": lambda manifest, held: manifest["entries"][1].update(sha256="0" * 64),
    "an entry twice": lambda manifest, held: manifest["entries"].append(manifest["entries"][0]),
    "an entry that isn't there": lambda manifest, held: manifest["entries"][0].update(name="else"),
    "a cache that isn't there": lambda manifest, held: manifest["caches"][0].update(name="else"),
    "a cache unlisted": lambda manifest, held: manifest.update(caches=[]),
    "a cache of no message": lambda manifest, held: manifest["caches"][0].update(message="m9"),
    "odd tokens": lambda manifest, held: manifest["caches"][0].update(tokens=None),
    "no conversation": lambda manifest, held: held.pop("conversation.json"),
    "a changed cache": lambda manifest, held: held.update({"caches/1.tqcache": CACHE[::-1]}),
    "a changed text": lambda manifest, held: held.update(
        {"conversation.json": held["conversation.json"].replace(b"Hello", b"Hullo")}
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_doesnt_agree(reader: Reader, sound: bytes, name: str) -> None:
    reader.refuses(again(sound, CHANGES[name]))  # type: ignore[arg-type]


def test_a_later_version_is_told(reader: Reader, sound: bytes) -> None:
    assert "version 2" in reader.refuses(again(sound, lambda manifest, held: manifest.update(version=2)))


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"\x00" * 100, b"PK\x05\x06" + b"\0" * 18, b"PK\x05\x06" + b"\xff" * 18]
)
def test_no_zip_at_all(reader: Reader, content: bytes) -> None:
    reader.refuses(content)


def test_a_folder_or_nothing(reader: Reader, tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "missing"):
        with pytest.raises(OSError):  # noqa: PT011
            archive.read(source, reader.place)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage(reader: Reader, sound: bytes, data: st.DataObject) -> None:
    """A flip, a cut, something in between: refused, or, where no part is touched, the same conversation."""
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "repeat"])):
            case "flip":
                content[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del content[at : at + data.draw(st.integers(1, 200))]
            case "insert":
                content[at:at] = data.draw(st.binary(min_size=1, max_size=30))
            case "repeat":
                content[at:at] = content[at : at + 100]
        content = content or bytearray(b"x")
    try:
        opened = reader.read(bytes(content))
    except AppError:
        assert not list(reader.incoming.iterdir())
    else:
        assert opened.document == document.read(document.write(DOCUMENT))
        for cache in opened.caches:
            assert cache.path.read_bytes() == CACHE
            cache.path.unlink()
