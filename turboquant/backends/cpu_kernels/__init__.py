"""The loops behind the CPU backend: `loops`. Compiled once a machine and kept in numba's cache, or brought ready made
by a bundle; the GIL is released.

Rows are contiguous; B and H are one axis (BH). Tables are as `layout.table` makes them.
"""
