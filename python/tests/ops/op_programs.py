# ===- op_programs.py - Rows as MLIR functions, and their results -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes one function of many rows, and compares what it gave."""

import dataclasses
import functools
import hashlib
import math

import mpmath
import numpy
import op_values as values

MAP = "affine_map<(d0) -> (d0)>"

#: The oracle's errors: of C's functions in f64, and of sums of them.
ORACLE_ULPS = 4


def _numpy_type(kind):
    # .npy has no bf16: fastk-run rounds f32 to it and writes f32.
    return {"bf16": "f4", "f16": "f2", "f32": "f4", "f64": "f8", "i1": "?",
            "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}[kind]  # fmt: skip


def memory_type(kind):
    """What a kernel's buffer of `kind` is to numpy; any byte may be in an i1."""
    return {"bf16": "u2", "i1": "u1"}.get(kind) or _numpy_type(kind)


def from_memory(array, kind):
    """The numbers in a kernel's buffer."""
    if kind == "bf16":
        return (array.astype("u4") << 16).view("f4")
    return array


def to_memory(array, kind):
    """The inverse, of numbers that `kind` has."""
    if kind == "bf16":
        return (array.view("u4") >> 16).astype("u2")
    return array.view(memory_type(kind))


class Program:
    """A function whose results are those of `rows`, in their order."""

    def __init__(self, rows):
        self.rows = rows
        self.operands = []  # (values, element type), each once
        self._places = {}
        self.result_rows = []  # of each result its row
        bodies, results = [], []
        for number, row in enumerate(rows):
            columns = list(zip(*row.tuples(), strict=True))
            places = [
                self._place(column, kind)
                for column, kind in zip(columns, row.operands, strict=True)
            ]
            for part, name in enumerate(("r0", "r1") if is_pair(row) else ("r",)):
                bodies.append(self._body(f"v{number}_{part}", row, places, name))
                results.append((f"%v{number}_{part}", tensor(row.result)))
                self.result_rows.append(row)
        arguments = ", ".join(
            f"%x{i}: {tensor(kind)}" for i, (_, kind) in enumerate(self.operands)
        )
        types = ", ".join(type for _, type in results)
        names = ", ".join(name for name, _ in results)
        self.text = (
            f"func.func @ops({arguments}) -> ({types}) {{\n" + "".join(bodies)
            + f"  return {names} : {types}\n}}\n"
        )  # fmt: skip

    def _place(self, column, kind):
        key = kind, tuple(
            (value, math.copysign(1, value)) if value == value else "nan"
            for value in column
        )
        if key not in self._places:
            self._places[key] = len(self.operands)
            self.operands.append((column, kind))
        return self._places[key]

    def _body(self, name, row, places, result):
        ins = ", ".join(f"%x{place}" for place in places)
        types = ", ".join(tensor(kind) for kind in row.operands)
        scalars = ", ".join(
            f"%{letter}: {kind}"
            for letter, kind in zip("abcd", row.operands, strict=False)
        )
        maps = ", ".join([MAP] * (len(places) + 1))
        lines = "".join(f"    {line}\n" for line in row.text.splitlines() if line)
        return (
            f"  %e{name} = tensor.empty() : {tensor(row.result)}\n"
            f"  %{name} = linalg.generic {{indexing_maps = [{maps}], "
            f'iterator_types = ["parallel"]}} ins({ins} : {types}) '
            f"outs(%e{name} : {tensor(row.result)}) {{\n"
            f"  ^bb0({scalars}, %o: {row.result}):\n{lines}"
            f"    linalg.yield %{result} : {row.result}\n"
            f"  }} -> {tensor(row.result)}\n"
        )

    def arrays(self):
        """The operands."""
        with numpy.errstate(all="ignore"):
            return [
                numpy.array(column).astype(_numpy_type(kind))
                for column, kind in self.operands
            ]

    def digest(self):
        """Names the program and its operands."""
        sha = hashlib.sha256(self.text.encode())
        for array in self.arrays():
            sha.update(array.tobytes())
        return sha.hexdigest()

    def write(self, folder):
        """Writes ops.mlir and its operands; returns the model and --inputs."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ops.mlir").write_text(self.text)
        names = []
        for number, array in enumerate(self.arrays()):
            names.append(folder / f"in{number}.npy")
            numpy.save(names[-1], array)
        return folder / "ops.mlir", "--inputs=" + ",".join(map(str, names))

    def read(self, folder):
        """The results of each row: one array, or the two parts."""
        count = len(self.result_rows)
        return self.by_row([numpy.load(folder / f"out{i}.npy") for i in range(count)])

    def by_row(self, results):
        """What belongs to the function's results as what belongs to each row."""
        results = iter(results)
        return [
            [next(results) for _ in range(2 if is_pair(row) else 1)]
            for row in self.rows
        ]


def is_pair(row):
    return "%r0" in row.text


def tensor(kind):
    return f"tensor<{values.COUNT}x{kind}>"


def limit_of(row, role):
    """The largest error that a row's `role` may have, in units of the last place."""
    # Complex functions are sums and products of real ones in the oracle, too.
    if role == "oracle" and not row.is_complex:
        return min(row.ulps, ORACLE_ULPS)
    return row.ulps


@dataclasses.dataclass
class Finding:
    """The worst of a row's results."""

    row: object
    #: In units of the last place; infinite where a special value differs.
    error: float
    limit: float
    #: Operands, result and reference of the worst.
    operands: tuple = ()
    got: object = None
    want: object = None
    wrong: int = 0

    @property
    def deviates(self):
        return self.error > self.limit

    def __str__(self):
        return (
            f"{self.row.name}: {self.error:.3g} ulps, {self.wrong} beyond the limit; "
            f"worst of {self.operands}: {self.got}, not {self.want}"
        )


def _float_error(kind, got, want, scale=None):
    """In ulps of `kind`, at the reference or at `scale`."""
    if isinstance(want, float) and not (math.isfinite(want) and want):
        same = (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
        if want == 0 and scale:
            same = got == 0
            if not same:
                return float(abs(got) / kind.ulp(float(scale)))
        return 0.0 if same else math.inf
    want = mpmath.mpf(want)
    # Beyond the largest number and half a unit, rounding makes it infinite.
    limit = mpmath.mpf(kind.largest) + kind.ulp(kind.largest) / 2
    if abs(want) >= limit:
        if math.isinf(got):
            return 0.0 if (got > 0) == (want > 0) else math.inf
        if math.isnan(got) or (got > 0) != (want > 0):
            return math.inf
        return float((abs(want) - abs(mpmath.mpf(got))) / kind.ulp(kind.largest))
    if math.isinf(got):
        # The next number there would be.
        if (got > 0) != (want > 0):
            return math.inf
        got = mpmath.mpf(kind.largest) + kind.ulp(kind.largest)
        got = got if want > 0 else -got
    elif math.isnan(got):
        return math.inf
    unit = max(abs(want), abs(mpmath.mpf(scale)) if scale else 0)
    exponent = (
        kind.least_exponent
        if unit == 0
        else max(int(mpmath.floor(mpmath.log(unit, 2))), kind.least_exponent)
    )
    ulp = mpmath.ldexp(1, exponent - kind.precision + 1)
    return float(abs(mpmath.mpf(got) - want) / ulp)


def result_kind(row, role):
    """The type of a row's results: the oracle's floats are f64."""
    return "f64" if role == "oracle" and row.result in values.FLOATS else row.result


@functools.cache
def references_of(row):
    return [row.reference(*operands) for operands in row.tuples()]


def compare(row, parts, role="program"):
    """The worst error of a row's results, computed by a program or an oracle."""
    kind = values.FLOATS.get(result_kind(row, role))
    limit = limit_of(row, role)
    worst = Finding(row, 0.0, limit)
    # f32 and bf16 may flush denormals (docs/validation.md). Of bf16 the oracle
    # may, too: LLVM moves its maxnum in front of the extension to f64.
    flushing = ("bf16",) if role == "oracle" else ("f32", "bf16")
    flushed = values.FLOATS[row.result].least_normal if row.result in flushing else 0
    known = zip(row.tuples(), references_of(row), strict=True)
    for index, (operands, want) in enumerate(known):
        if want is None:
            continue
        wants = [want]
        scale = None
        if is_pair(row):
            wants = [want.real, want.imag]
            scale = max(abs(want.real), abs(want.imag))
            if kind and scale > kind.largest:
                continue  # Of a number beyond the type no part has a sign.
        for part, expected in zip(parts, wants, strict=True):
            got = part[index].item()
            if kind:
                error = _float_error(kind, got, expected, scale)
            else:
                error = 0.0 if int(got) == int(expected) else math.inf
            if kind and got == 0 and abs(expected) < flushed:
                error = 0.0
            error /= row.condition(*operands)
            if error > limit:
                worst.wrong += 1
            if error > worst.error or (error == math.inf and not worst.operands):
                worst.error, worst.operands = error, operands
                worst.got, worst.want = got, expected
    return worst
