"""The kernels are text that is compiled where it runs; numba's loops want their source, by which it knows its cache."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("turboquant")
datas = collect_data_files("turboquant")
module_collection_mode = {"turboquant.backends.cpu_kernels": "py"}
if __import__("sys").platform == "linux":
    # MLX's Linux wheel links the slow reference BLAS; turboquant loads this one by its name, before MLX.
    from PyInstaller.depend.bindepend import resolve_library_path

    found = resolve_library_path("libopenblas.so.0")
    binaries = [(found, ".")]
