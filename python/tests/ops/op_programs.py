# ===- op_programs.py - Rows as MLIR functions, and their results -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes one function of many rows, and compares what it gave."""

import cmath
import dataclasses
import functools
import hashlib
import math
import re

import complex_edges
import float_errors
import mpmath
import numpy
import op_values as values
import structured_rows
from float_errors import float_error
from op_table import Row
from structured_rows import StructuredRow, tensor_type

MAP = "affine_map<(d0) -> (d0)>"

#: The oracle's errors: of C's functions in f64, and of sums of them.
ORACLE_ULPS = 4


def _numpy_type(kind):
    # .npy has no bf16: fastk-run rounds f32 to it and writes f32.
    return {"bf16": "f4", "f16": "f2", "f32": "f4", "f64": "f8", "i1": "?",
            "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
            "complex<f32>": "c8", "complex<f64>": "c16"}[kind]  # fmt: skip


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
        #: Whether rows are about whole tensors.
        self.has_tensors = any(isinstance(row, StructuredRow) for row in rows)
        self.operands = []  # (values, element type, shape), each once
        self._places = {}
        self.result_rows = []  # of each result its row
        bodies, results = [], []
        for number, row in enumerate(rows):
            if isinstance(row, StructuredRow):
                columns = [operand.array() for operand in row.arguments]
            else:
                columns = map(numpy.array, zip(*row.tuples(), strict=True))
            places = [
                self._place(column, kind)
                for column, kind in zip(columns, row.operands, strict=True)
            ]
            for name in ("r0", "r1") if is_pair(row) else ("r",):
                body = _whole_body if row.is_whole else _scalar_body
                bodies.append(body(f"v{number}_", row, places, name))
                results.append(
                    (f"%v{number}_{name}", tensor_type(shape_of(row), row.result))
                )
                self.result_rows.append(row)
        arguments = ", ".join(
            f"%x{i}: {tensor_type(values.shape, kind)}"
            for i, (values, kind) in enumerate(self.operands)
        )
        types = ", ".join(type for _, type in results)
        names = ", ".join(name for name, _ in results)
        self.text = (
            f"func.func @ops({arguments}) -> ({types}) {{\n" + "".join(bodies)
            + f"  return {names} : {types}\n}}\n"
        )  # fmt: skip
        #: The same with all that it does as one workload.
        given = ", ".join(f"%y{i}" for i in range(len(self.operands)))
        kinds = ", ".join(tensor_type(array.shape, kind) for array, kind in self.operands)
        made = ", ".join(f"%w#{i}" for i in range(len(results)))
        self.workload_text = (
            f"func.func @ops({arguments.replace('%x', '%y')}) -> ({types}) {{\n"
            f'  %w:{len(results)} = fastk.workload "rows"({given}) : ({kinds}) '
            f"-> ({types}) {{\n  ^bb0({arguments}):\n" + "".join(bodies)
            + f"  fastk.yield {names} : {types}\n  }}\n  return {made} : {types}\n}}\n"
        )  # fmt: skip

    def _place(self, array, kind):
        key = kind, array.shape, array.tobytes()
        if key not in self._places:
            self._places[key] = len(self.operands)
            self.operands.append((array, kind))
        return self._places[key]

    def arrays(self):
        """The operands."""
        with numpy.errstate(all="ignore"):
            return [
                array.astype(_numpy_type(kind)) for array, kind in self.operands
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


def _scalar_body(prefix, row, places, result):
    """The op on each element: one linalg.generic."""
    name = prefix + result
    ins = ", ".join(f"%x{place}" for place in places)
    types = ", ".join(tensor(kind) for kind in row.operands)
    scalars = ", ".join(
        f"%{letter}: {kind}"
        for letter, kind in zip("abcd", row.operands, strict=False)
    )  # fmt: skip
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


def _whole_body(prefix, row, places, _):
    """The row's own text, its values renamed."""
    names = {letter: f"%x{place}" for letter, place in zip("abcd", places, strict=False)}
    text = re.sub(
        r"%([a-zA-Z]\w*)", lambda m: names.get(m[1], f"%{prefix}{m[1]}"), row.text
    )
    return "".join(f"  {line}\n" for line in text.splitlines())


def is_pair(row):
    return "%r0" in row.text


def tensor(kind):
    return tensor_type((values.COUNT,), kind)


def shape_of(row):
    """Of its results."""
    return row.shape if isinstance(row, StructuredRow) else (values.COUNT,)


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


def _edge_error(kind, got, part, want, scale, has_signs):
    """Of a part of a complex number, whose zeros have signs."""
    if part and math.isfinite(part):
        return float_error(kind, got, mpmath.mpf(part), scale)
    # C leaves the sign open where the other part is NaN, too.
    if not has_signs or (cmath.isnan(want) and not math.isnan(part)):
        got, part = abs(got), abs(part)
    return float_error(kind, got, part)


def result_kind(row, role):
    """The type of a row's results: the oracle's floats are f64."""
    if role == "oracle":
        if row.result in structured_rows.COMPLEX:
            return "complex<f64>"
        if row.result in values.FLOATS:
            return "f64"
    return row.result


def flushed_below(kind, role):
    """What may be 0 instead."""
    # f32 and bf16 may flush denormals (docs/validation.md). Of bf16 the oracle
    # may, too: LLVM moves its maxnum in front of the extension to f64.
    flushing = ("bf16",) if role == "oracle" else ("f32", "bf16")
    return values.FLOATS[kind].least_normal if kind in flushing else 0


def _compare_structured(row, got, role):
    part = structured_rows.COMPLEX.get(row.result, row.result)
    errors = structured_rows.errors(
        row, got, result_kind(row, role), flushed_below(part, role)
    )
    finding = Finding(row, 0.0, row.ulps, wrong=int((errors > row.ulps).sum()))
    if errors.size and errors.max() > 0:
        place = numpy.unravel_index(errors.argmax(), errors.shape)
        finding.error, finding.operands = float(errors[place]), tuple(map(int, place))
        finding.got = numpy.asarray(got).reshape(errors.shape)[place].item()
        finding.want = numpy.broadcast_to(row.want().values, errors.shape)[place].item()
    return finding


@functools.cache
def _tuples_of(row):
    return list(row.tuples())


@functools.cache
def references_of(row):
    return [row.reference(*operands) for operands in _tuples_of(row)]


@functools.cache
def _split_references_of(row):
    return float_errors.split(references_of(row))


def _places(row, parts, kind):
    """The places of results, each with what its error is at most."""
    if not kind or is_pair(row) or row.condition is not Row.condition:
        return [(place, math.inf) for place in range(len(references_of(row)))]
    bounds = float_errors.bounds(kind, parts[0], *_split_references_of(row))
    order = numpy.argsort(-bounds, kind="stable")
    return [(int(place), bounds[place]) for place in order]


def compare(row, parts, role="program"):
    """The worst error of a row's results, computed by a program or an oracle."""
    if isinstance(row, StructuredRow):
        return _compare_structured(row, parts[0], role)
    kind = values.FLOATS.get(result_kind(row, role))
    limit = limit_of(row, role)
    worst = Finding(row, 0.0, limit)
    flushed = flushed_below(row.result, role)
    for index, bound in _places(row, parts, kind):
        # The rest is no worse, and exact arithmetic is slow.
        if bound <= min(worst.error, limit):
            break
        operands, want = _tuples_of(row)[index], references_of(row)[index]
        if want is None:
            continue
        wants = [want]
        scale = None
        if is_pair(row):
            wants = [want.real, want.imag]
            scale = max(abs(want.real), abs(want.imag))
            if row.at_edges:
                scale = scale if math.isfinite(scale) else None
            if kind and scale and scale > kind.largest:
                continue  # Of a number beyond the type no part has a sign.
        for part, expected in zip(parts, wants, strict=True):
            got = part[index].item()
            if kind and row.at_edges and is_pair(row):
                has_signs = complex_edges.has_signs(row.op, *operands)
                error = _edge_error(kind, got, expected, want, scale, has_signs)
            elif kind:
                error = float_error(kind, got, expected, scale)
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
