"""MLX's C++ imports modules of its package by name, out of sight of static analysis. Its shaders are data."""

from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, collect_submodules

_TOOLS = ("mlx.__main__", "mlx._distributed_utils", "mlx.extension")  # of the command line and of builds
hiddenimports = collect_submodules("mlx", filter=lambda name: not name.startswith(_TOOLS))
binaries = collect_dynamic_libs("mlx")
datas = collect_data_files("mlx", includes=["lib/*.metallib"])  # macOS only
