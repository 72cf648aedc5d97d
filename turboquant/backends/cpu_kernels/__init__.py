"""The loops behind the CPU backend. Compiled once a machine and kept in numba's cache; the GIL is released.

Rows are contiguous; B and H are one axis (BH). Tables are as `lanes.table` makes them.
"""
