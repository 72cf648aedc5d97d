"""Its tables and fonts lie beside its modules."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("ziamath")
