"""kill −9 in the middle of an import: the model is there whole or not at all, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.engine import models
from app.engine.gguf.importing import import_gguf
from tests.unit.app.engine.gguf_writer import llama_tensors, metadata, write

CHILD = """
import sys, time
from pathlib import Path
from app.engine.gguf.importing import import_gguf

def told(done):
    print(done, flush=True)
    time.sleep(0.05)

import_gguf(Path(sys.argv[1]), Path(sys.argv[2]), progress=told)
print("whole", flush=True)
"""


@pytest.mark.parametrize("line", [1, 12, 22])
def test_in_the_middle_of_an_import(tmp_path: Path, line: int) -> None:
    source = write(tmp_path / "tiny.gguf", metadata("llama", llama__block_count=2), llama_tensors())
    own = tmp_path / "own"
    command = [sys.executable, "-c", CHILD, str(source), str(own / "tiny")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        printed = [child.stdout.readline() for _ in range(line)]
        child.kill()
    assert child.returncode == -9
    assert "whole\n" not in printed
    assert models.installed(own, tmp_path / "no cache") == []
    assert not own.exists() or list(own.iterdir()) == []  # listing has cleared up
    import_gguf(source, own / "tiny")
    (model,) = models.installed(own, tmp_path / "no cache")
    assert model.state == "complete"
