# ===- structured_rows.py - Rows of ops on whole tensors -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A row of an op on tensors: its operands, its text, and how it is compared.

References compute in numpy's longdouble, which has 11 bits more than f64, and in
integers of 64 bits that wrap as narrower ones do.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy
import op_values as values

COMPLEX = {"complex<f64>": "f64", "complex<f32>": "f32"}


def tensor_type(shape, kind):
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{kind}>"


# ---------------------------------------------------------------------------
# Operands
# ---------------------------------------------------------------------------

#: Rare among the terms of sums, so that most sums are finite.
_NOT_FINITE = (math.nan, math.inf, -math.inf)


@dataclasses.dataclass(frozen=True)
class Operand:
    """A tensor argument, and what is drawn for it."""

    shape: tuple[int, ...]
    kind: str
    #: "edges": every edge value. "terms": of sums, with few edge values.
    #: "factors": of products, with none that is tiny or huge. A tuple: itself.
    draw: object = "edges"
    seed: int = 0

    @property
    def type(self):
        return tensor_type(self.shape, self.kind)

    def array(self):
        """The values: f64, complex128 or int64."""
        return _drawn(self.shape, self.kind, self.draw, self.seed).copy()


@functools.cache
def _drawn(shape, kind, draw, seed):
    count = math.prod(shape)
    if not isinstance(draw, str):
        return numpy.array(draw).reshape(shape)
    random = numpy.random.default_rng([seed, count])
    if kind in COMPLEX:
        # Products of infinite complex numbers are another table's.
        part = COMPLEX[kind]
        finite = [v for v in values.float_singles(part) if math.isfinite(v)]
        some = _floats(part, draw, 2 * count, random, finite)
        return some.view("c16").reshape(shape)
    if values.is_float(kind):
        some = _floats(kind, draw, count, random, values.float_singles(kind))
        return some.reshape(shape)
    edges = [value for (value,) in values.integer_tuples(kind, 1)]
    some = [edges[place] for place in random.integers(0, len(edges), count)]
    return numpy.array(some, "i8").reshape(shape)


def _floats(name, draw, count, random, edges):
    kind = values.FLOATS[name]
    if draw == "edges":
        # Each of them once, where there is room.
        order = numpy.concatenate([
            random.permutation(len(edges)) for _ in range(count // len(edges) + 1)
        ])  # fmt: skip
        return numpy.array([edges[place] for place in order[:count]])
    some = random.normal(size=count)
    zeros = random.random(count) < 0.06
    some[zeros] = random.choice([0.0, -0.0], zeros.sum())
    if draw == "terms":
        tiny = random.random(count) < 0.04
        some[tiny] *= random.choice(
            [kind.least_denormal, kind.least_normal], tiny.sum()
        )
        huge = random.random(count) < 0.02
        some[huge] *= math.sqrt(kind.largest) / 64
    some = numpy.array([kind.rounded(float(value)) for value in some])
    if math.inf in edges:
        rare = random.random(count) < 0.012
        some[rare] = random.choice(_NOT_FINITE, rare.sum())
    return some


# ---------------------------------------------------------------------------
# References
# ---------------------------------------------------------------------------


@dataclasses.dataclass
class Want:
    """What a reference says of a result."""

    values: numpy.ndarray
    #: Sum of the absolute terms: what rounding errors are relative to.
    scale: numpy.ndarray | None = None
    #: Whether a zero's sign is told.
    signs: bool = True
    #: Where a denormal that may be 0 decides between infinity and NaN.
    is_open: numpy.ndarray | None = None


def exact_type(kind):
    """The type in which a reference computes."""
    if kind in COMPLEX:
        return numpy.clongdouble
    return numpy.longdouble if values.is_float(kind) else numpy.int64


def wrap(array, kind):
    """Integers as `kind` has them."""
    bits = values.INTEGERS[kind]
    if bits == 64:
        return array
    if bits == 1:
        return array & 1
    half = 1 << (bits - 1)
    return ((array + half) & ((1 << bits) - 1)) - half


def unsigned(array, kind):
    """The same bits as unsigned numbers."""
    bits = values.INTEGERS[kind]
    return array.view("u8") if bits == 64 else array & ((1 << bits) - 1)


def sum_limit(terms, kind):
    """Largest error of a sum of `terms`, in ulps of the sum of absolute ones.

    Each step rounds; that all do so to one side no operands here bring about.
    """
    return math.ceil(4 + math.sqrt(terms)) * (2 if kind in COMPLEX else 1)


# ---------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class StructuredRow:
    """An op on tensors of given shapes and types."""

    op: str
    #: %a, %b, %c and %d in the text.
    arguments: tuple[Operand, ...]
    shape: tuple[int, ...]
    result: str
    #: The lines that make %r.
    text: str
    #: Of the arguments' arrays: an array, or a Want.
    reference: Callable
    #: Largest error in units of the last place of the sum of absolute terms.
    ulps: float = 0
    variant: str = ""
    has_oracle: bool = True
    #: What the compiler says where it has no kernel for a GPU, or where a
    #: workload cannot hold the op.
    refused_on_gpu: str = ""
    refused_in_workloads: str = ""
    is_complex = False
    is_whole = True

    @property
    def operands(self):
        return tuple(operand.kind for operand in self.arguments)

    @property
    def name(self):
        types = "x".join(dict.fromkeys((*self.operands, self.result)))
        return ".".join(filter(None, (self.op, self.variant, types)))

    def want(self):
        return _want(self)


@functools.cache
def _want(row):
    arrays = [
        operand.array().astype(exact_type(operand.kind)) for operand in row.arguments
    ]
    with numpy.errstate(all="ignore"):
        want = row.reference(*arrays)
    return want if isinstance(want, Want) else Want(want)


def errors(row, got, result_kind, flushed):
    """The error of each element of a result, in ulps; infinite where it is wrong.

    Denormals below `flushed` may be 0.
    """
    want = row.want()
    expected = numpy.broadcast_to(want.values, row.shape)
    got = numpy.asarray(got).reshape(row.shape)
    if result_kind in values.INTEGERS:
        same = got.astype("i8") == wrap(expected.astype("i8"), result_kind)
        return numpy.where(same, 0.0, numpy.inf)
    with numpy.errstate(all="ignore"):
        if result_kind in COMPLEX:
            kind = values.FLOATS[COMPLEX[result_kind]]
            found = [
                _float_errors(part(got), part(expected), want, kind, flushed, row.ulps)
                for part in (numpy.real, numpy.imag)
            ]
            return numpy.maximum(*found)
        kind = values.FLOATS[result_kind]
        return _float_errors(got, expected, want, kind, flushed, row.ulps)


def _float_errors(got, want, told, kind, flushed, ulps):
    got, want = got.astype(numpy.longdouble), want.astype(numpy.longdouble)
    same = (got == want) | (numpy.isnan(got) & numpy.isnan(want))
    if told.scale is None:
        if told.signs:
            same &= numpy.isnan(want) | (numpy.signbit(got) == numpy.signbit(want))
        same |= (got == 0) & (abs(want) < flushed)
        return numpy.where(same, 0.0, numpy.inf)
    scale = numpy.maximum(numpy.broadcast_to(told.scale, want.shape), abs(want))
    exponent = numpy.floor(numpy.log2(numpy.where(scale > 0, scale, 1)))
    exponent = numpy.where(scale > 0, exponent, kind.least_exponent)
    exponent = numpy.maximum(exponent, kind.least_exponent) - kind.precision + 1
    error = abs(got - want) / numpy.exp2(exponent.astype(numpy.longdouble))
    error = numpy.where(numpy.isnan(error), numpy.inf, error)
    # A term that is a denormal may be 0.
    error = numpy.where(abs(got - want) <= flushed * ulps, 0, error)
    # Where the terms overflow, what a sum of them is depends on their order.
    is_open = numpy.isfinite(want) & (scale >= kind.largest / 2)
    if flushed and told.is_open is not None:
        is_open |= told.is_open
    return numpy.where(same | is_open, 0.0, error).astype("f8")
