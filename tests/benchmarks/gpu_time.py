"""The tables of gpu_kernels.py, and below each line what the GPU itself takes.

    python -m tests.benchmarks.gpu_time [decode] ...

PyTorch's profiler, where PyTorch is there and sees the GPU, watches MLX's kernels as well; nothing else of it is used.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch  # before MLX
from torch.profiler import ProfilerActivity, profile

# isort: split
import mlx.core as mx

from tests.benchmarks import gpu_kernels
from tests.benchmarks.gpu_steps import LAYERS, Step

RUNS = 4
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def busy(step: Step) -> float:
    """Microseconds in which the GPU works at `step`: where kernels overlap, each moment counts once."""
    for _ in range(2):
        mx.eval(step())
    mx.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(RUNS):
            mx.eval(step())
        mx.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        found.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    total, end = 0.0, 0.0
    for event in sorted((e for e in events if e.get("cat") in WORK), key=lambda e: e["ts"]):
        stop = event["ts"] + event["dur"]
        total += max(stop - max(event["ts"], end), 0.0)
        end = max(end, stop)
    return total / RUNS


def main() -> int:
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU here.")
        return 1
    gpu_kernels.MEASURES[", GPU"] = lambda steps: {name: busy(step) / LAYERS for name, step in steps.items()}
    gpu_kernels.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
