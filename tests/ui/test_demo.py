"""What the demo may delete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.ui.window import demo


def test_an_earlier_demo_makes_room_and_nothing_else_does(tmp_path: Path) -> None:
    home = demo.make_room(tmp_path)
    (home / "data").mkdir()
    outside = tmp_path.parent / "outside.png"
    listed = ["1-light.png", "gone.png", "../outside.png", str(outside), 7]
    (tmp_path / demo.REPORT).write_text(json.dumps({"screenshots": listed}))
    for picture in (outside, tmp_path / "1-light.png", tmp_path / "holiday.png"):
        picture.write_bytes(b"x")
    assert demo.make_room(tmp_path) == home
    assert outside.exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == [demo.HOME, "holiday.png"]
    assert [file.name for file in home.iterdir()] == [demo.MARK]


@pytest.mark.parametrize("report", ["{}", "[]", "{", '{"screenshots": "all"}', "[" * 100_000])
def test_a_foreign_report_is_refused(tmp_path: Path, report: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / demo.REPORT).write_text(report)
    assert demo.main(tmp_path) == 1
    assert "isn't a demo's report" in capsys.readouterr().err
    assert (tmp_path / demo.REPORT).read_text() == report


def test_a_foreign_home_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / demo.HOME).mkdir()
    (tmp_path / demo.HOME / "mine.txt").write_text("x")
    (tmp_path / demo.REPORT).write_text('{"screenshots": ["a.png"]}')
    (tmp_path / "a.png").write_bytes(b"x")
    assert demo.main(tmp_path) == 1
    assert "wasn't made by this demo" in capsys.readouterr().err
    assert (tmp_path / demo.HOME / "mine.txt").exists()
    assert (tmp_path / "a.png").exists()
