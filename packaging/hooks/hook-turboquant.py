"""The GPU's kernels are text that is compiled where it runs. The CPU's come as libraries: see turboquant_chat.spec."""

import sys

from PyInstaller.depend.bindepend import resolve_library_path
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("turboquant", filter=lambda name: ".cpu_kernels." not in name)
datas = collect_data_files("turboquant", excludes=["**/__pycache__"])
binaries = []
if sys.platform == "linux":
    hiddenimports += [f"turboquant.backends.cpu_kernels.{name}" for name in ("layout", "loops", "prebuilt")]
    # MLX's Linux wheel links the slow reference BLAS; turboquant loads this one by its name, before MLX.
    binaries += [(resolve_library_path("libopenblas.so.0"), ".")]
