"""Decode attention: how its work is spread, its kernels, its buffers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from turboquant.kernels.specs.base import MIN_ELEMENTS, SEGMENTS, SHARED_BYTES, Kernel, Launch, Target
from turboquant.rotation import factors

# Up to here one group a row does everything. On Metal it saves a dispatch, on CUDA an output and an input: time of the
# processor, which is what counts while the cache is so short.
SINGLE_ROWS = {"metal": 1536, "cuda": 1280}
RESIDENT_GROUPS = {"cuda": 264, "metal": 160}  # threadgroups that fill a large GPU at once
HEADERS = ("common.h", "attention.h")


@dataclass(frozen=True)
class Geometry:
    """How the decode kernel spreads its work over a group.

    `copies` (0, 0) is the way of attend_lanes.metal, else it is the one of attend_matrix.metal.
    """

    rows: int  # query rows that share one unpacking
    lanes: int  # lanes that hold one token's key (matrix: 4)
    tokens: int  # tokens of a lane (matrix: 2)
    simdgroups: int
    raw_simdgroups: int = 0  # of these on the raw tokens, where one group does everything
    residents: int = 2  # groups that are to fit a core at once (CUDA: the compiler spares registers for it)
    copies: tuple[int, int] = (0, 0)  # matrix: log2 of the tables' copies
    split_rows: int = 256  # a split of the body is at least so long

    @property
    def matrix(self) -> bool:
        return self.copies != (0, 0)

    @property
    def tile(self) -> int:
        """Tokens that a simdgroup reads at once, whole: a buffer's capacity is a multiple of it."""
        return 32 // self.lanes * self.tokens


@dataclass(frozen=True)
class Attend:
    """Decode attention of one kind of layer. `key_bits` 0: raw keys, of the raw tokens' type.

    `length`: newest tokens asked about; `group`: query heads of a kv head; `calibration` as in `encode`; `sinks`: 0
    none, 1 fewer than MIN_ELEMENTS, 2 more; `window`: 0 none, 1 of each row, 2 rows of body and tail that are out of
    sight; `single`: one group a row does everything, for short caches;
    `split`: split keys; `bias`: an array is added to q . k; `store`: the newest `length` raw rows come beside the tail,
    and a tail with them in it is an output.
    """

    key_dim: int
    value_dim: int
    key_bits: int
    value_bits: int
    kv_heads: int
    group: int
    length: int = 1
    dtype: str = "float16"
    raw_dtype: str = "float16"
    calibration: int = 0
    window: int = 0
    soft_cap: bool = False
    sinks: int = 0
    single: bool = False
    target: Target = "cuda"
    override: Geometry | None = None  # benchmarks try others
    split: bool = False
    bias: bool = False
    store: bool = False

    @property
    def rows(self) -> int:
        return self.group * self.length

    @cached_property
    def geometry(self) -> Geometry:
        return self.override or (_matrix_geometry(self) if self._fits_matrix else _lanes_geometry(self))

    @property
    def _fits_matrix(self) -> bool:
        dims = (self.key_dim, self.value_dim)
        return (
            self.target == "cuda"
            and not self.single
            and all(dim % 16 == 0 and dim <= 256 for dim in dims)
            and self.key_bits <= 4
            and self.value_bits <= 4
            and self.dtype != "float32"  # whose users expect more than float16 products
        )

    @property
    def joined(self) -> bool:
        """Whether the kernel joins its splits itself; else `merge` is a dispatch of its own."""
        return self.target == "cuda" and not self.single

    @property
    def groups(self) -> int:
        """Threadgroups that a kv head's rows take."""
        return -(-self.rows // self.geometry.rows)

    @property
    def value_at(self) -> int:
        """Where the values' constants begin, behind 8 numbers and the keys' constants."""
        if self.split:
            half = self.key_dim // 2
            return 8 + _constants(half, self.key_bits + 1) + _constants(half, self.key_bits - 1)
        return 8 + _constants(self.key_dim, self.key_bits)

    def kernel(self) -> Kernel:
        g = self.geometry
        (kp, km), (vp, vm) = factors(self.key_dim), factors(self.value_dim)
        joined, matrix = self.joined, g.matrix
        constants: dict[str, int | str] = {
            "OT": self.dtype if self.single or joined else "float32",
            "PT": self.dtype if self.single else "float32",
            "RT": self.raw_dtype,
            **{"KP": kp, "KM": km, "KB": self.key_bits, "SPLIT": int(self.split), "VP": vp, "VM": vm},
            **{"VB": self.value_bits, "ROWS": self.rows, "L": self.length, "GS": g.rows, "KL": g.lanes},
            **{"VL": 8 if matrix else g.lanes, "TILE": g.tile, "NSG": g.simdgroups, "NR": g.raw_simdgroups},
            **{"CAL": self.calibration, "SEGS": SEGMENTS, "WIN": self.window, "CAP": int(self.soft_cap)},
            **{"BIAS": int(self.bias), "SINK": self.sinks if self.single or joined else 0, "HKV": self.kv_heads},
            **{"STORE": int(self.store), "FINAL": int(self.single), "KAT": 8, "VAT": self.value_at},
        }
        if matrix:
            constants |= {"KREP": g.copies[0], "VREP": g.copies[1]}
        named = dict(self._buffers(kernel=True))
        outputs: tuple[str, ...] = ("out", "part") if joined else ("out",) if self.single else ("part",)
        outputs += ("sk", "sv") if self.store else ()
        stand_ins = {
            "knorm": "vnorm",
            "nk": "tk",
            "nv": "tv",
            "offs": "vnorm",
            "bias": "consts",
            "sinks": "q",
            "part": "out",
            "out": "part",
        }
        aliases = tuple((n, other) for n, other in stand_ins.items() if n not in named and n not in outputs)
        return Kernel(
            "attend",
            tuple(constants.items()),
            tuple(named),
            tuple(named.values()),
            outputs,
            aliases,
            32 * g.simdgroups,
            g.residents,
            (
                *("attend_begin", *(("attend_store",) if self.store else ())),
                *("attend_matrix" if matrix else "attend_lanes", "attend_end"),
                *(("attend_join",) if joined else ()),
            ),
            HEADERS,
            ("tickets",) if joined else (),
        )

    def _buffers(self, kernel: bool) -> list[tuple[str, str]]:
        """Inputs and their types: the first kernel's, or both's."""
        raw, ends = self.raw_dtype, self.single or self.joined or not kernel
        norms = "uint16" if self.split else "float16"
        return [
            ("q", self.dtype),
            *([("kpack", "uint32"), ("knorm", norms)] if self.key_bits else [("kpack", raw)]),
            *[("vpack", "uint32"), ("vnorm", "float16"), ("tk", raw), ("tv", raw)],
            *([("nk", raw), ("nv", raw)] if self.store else []),
            *[("fixed", "uint32"), ("dims", "int32")],
            *([("offs", "float16")] if self.calibration else []),
            *([("bias", "float32")] if self.bias else []),
            *([("sinks", self.dtype)] if self.sinks and ends else []),
            *([("tickets", "int32")] if self.joined else []),
        ]

    def inputs(self) -> tuple[str, ...]:
        """Of all dispatches, but for what passes between them."""
        return tuple(name for name, _ in self._buffers(kernel=False))

    def tickets(self, batch: int) -> int:
        """How many the kernel takes."""
        return max(batch * self.kv_heads * self.groups, MIN_ELEMENTS)

    def launch(self, batch: int, splits: int, tail_capacity: int = 0) -> Launch:
        """`splits` counts the raw tokens' one too; 1 where `single`. `tail_capacity`: where it is stored."""
        g, rows = self.geometry, batch * self.kv_heads * self.rows
        out, part = (batch, self.kv_heads * self.group, self.length, self.value_dim), (rows, splits, self.value_dim + 2)
        made: list[tuple[tuple[int, ...], str]] = [(out, self.dtype)] if self.single or self.joined else []
        made += [] if self.single else [(part, "float32")]
        if self.store:
            made += [((batch, self.kv_heads, tail_capacity, d), self.raw_dtype) for d in (self.key_dim, self.value_dim)]
        shapes, dtypes = zip(*made, strict=True)
        return Launch(
            (32 * g.simdgroups, batch * self.kv_heads * self.groups, splits), (32 * g.simdgroups, 1, 1), shapes, dtypes
        )

    def splits(self, batch: int, body: int) -> int:
        """How many parts to cut `body` rows into, the raw tokens' part counted."""
        if self.single:
            return 1
        share = RESIDENT_GROUPS[self.target] // (batch * self.kv_heads * self.groups)
        return max(1, min(share - 1, -(-body // self.geometry.split_rows))) + 1

    def merge(self) -> Kernel:
        power, odd = factors(self.value_dim)
        constants: tuple[tuple[str, int | str], ...] = (
            ("OT", self.dtype),
            ("P", power),
            ("M", odd),
            ("NSG", self._merge_simdgroups),
            ("ROWS", self.rows),
            ("L", self.length),
            ("HKV", self.kv_heads),
            ("SINK", self.sinks),
            ("AT", self.value_at),
        )
        inputs, types = ("part", "fixed", "dims"), ("float32", "uint32", "int32")
        if self.sinks:
            return Kernel("attend_merge", constants, (*inputs, "sinks"), (*types, self.dtype), ("out",))
        return Kernel("attend_merge", constants, inputs, types, ("out",), (("sinks", "part"),))

    def merge_launch(self, batch: int) -> Launch:
        rows, threads = batch * self.kv_heads * self.rows, 32 * self._merge_simdgroups
        out = (batch, self.kv_heads * self.group, self.length, self.value_dim)
        return Launch((threads, rows, 1), (threads, 1, 1), (out,), (self.dtype,))

    @property
    def _merge_simdgroups(self) -> int:
        return 4 if self.value_dim > 256 else 8


def _constants(dim: int, bits: int) -> int:
    return dim + factors(dim)[1] ** 2 + (1 << bits)


def _lanes_geometry(spec: Attend) -> Geometry:
    """For attend_lanes.metal."""
    dims, single = (spec.key_dim, spec.value_dim), spec.single
    even = 2 if spec.split else 1  # a lane holds whole pairs
    fitting = [n for n in (8, 16, 32) if spec.key_dim % (n * even) == 0 and spec.value_dim % n == 0] or [4]
    dim = max(dims)

    def lanes_for(share: int) -> int:
        return next((n for n in fitting if dim // n <= share), fitting[-1])

    shared, lanes = 1, lanes_for(16)
    if lanes > 4 and ((spec.rows > 1 and not single) or lanes == 32):  # 32 lanes to one row would hold 32 tokens each
        lanes = lanes_for(9)
        shared = 4 if spec.rows > 2 and dim // lanes <= 10 else 2
    halvings = {1: 0, 2: 1, 4: 2}[shared]
    tokens = max(lanes >> halvings, 4)
    wanted = 16 if single and spec.target == "cuda" and dim // lanes * tokens <= 128 else 8
    for simdgroups in (n for n in (16, 8, 4, 2) if n <= wanted):
        found = Geometry(
            shared,
            lanes,
            tokens,
            simdgroups,
            max(1, simdgroups // 8) if single else 0,
            1 if single else {8: 2, 4: 3, 2: 4}[simdgroups],
        )
        if _lanes_bytes(found, *dims) <= SHARED_BYTES["metal"]:
            return found
    raise ValueError(f"No geometry fits head dimensions {dims} into {SHARED_BYTES['metal']} bytes.")


def _lanes_bytes(g: Geometry, key_dim: int, value_dim: int) -> int:
    """The most threadgroup memory that attend_lanes.metal takes, alignment of the tables included."""
    queries = 2 * g.rows * (key_dim + g.lanes)
    sums = g.simdgroups * g.rows * (value_dim + g.lanes)
    weights = 4 * (g.simdgroups * g.tile * g.rows // 4 + 1)
    segments = SEGMENTS * (g.rows + 1) + 1
    return 4 * (max(queries, sums) + weights + 2 * g.rows * (g.simdgroups + 1) + segments) + 3 * 1024 + 64


def _matrix_geometry(spec: Attend) -> Geometry:
    """For attend_matrix.metal."""
    rows = 4 if spec.rows <= 4 or spec.split else 8
    wide = max(spec.key_dim, spec.value_dim) > 128
    for simdgroups in (8, 4, 2):
        for copies in ((5, 5), (4, 5), (4, 4), (3, 4), (3, 3)):
            residents = {8: 1 if wide else 2, 4: 2 if wide else 4, 2: 4}[simdgroups]
            found = Geometry(rows, 4, 2, simdgroups, 0, residents, copies, 128)
            if _matrix_bytes(spec, found) <= SHARED_BYTES[spec.target]:
                return found
    raise ValueError(f"No geometry fits head dimensions {spec.key_dim} and {spec.value_dim}.")


def _matrix_bytes(spec: Attend, g: Geometry) -> int:
    """Threadgroup memory of attend_matrix.metal and what follows it."""
    keys, values = (
        (1 << 2 * bits) << copies for bits, copies in zip((spec.key_bits, spec.value_bits), g.copies, strict=True)
    )
    if spec.key_bits == spec.value_bits and spec.key_dim == spec.value_dim and not spec.split:
        values = 0
    pool = max((keys if spec.key_bits else 4) + values, g.simdgroups * g.rows * (spec.value_dim + 8))
    queries = 2 * g.rows * (spec.key_dim + 4) + 2 * g.rows
    segments = SEGMENTS * (g.rows + 1) + 1 if spec.calibration else 2
    return 4 * (pool + queries + g.simdgroups * (96 + 2 * g.rows) + segments) + 128
