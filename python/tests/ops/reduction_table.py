# ===- reduction_table.py - Reductions of each combiner -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Rows of linalg.reduce, linalg.generic and linalg.softmax.

Each combiner that a front end emits meets NaN, infinities and zeros of both
signs, over rows, columns, windows and everything.
"""

import numpy
from linalg_table import FLOATS, INTEGERS, extreme, init_of, is_integer
from structured_rows import (
    COMPLEX, Operand, StructuredRow, Want, sum_limit, tensor_type,
)  # fmt: skip

ROWS = []
SHAPE = (7, 35)
#: What is left of it, by the dimensions that are reduced.
AXES = {"rows": ((1,), (7,)), "columns": ((0,), (35,)), "all": ((0, 1), ())}


def add(op, arguments, shape, kind, text, reference, *rest, **options):
    ROWS.append(StructuredRow(op, tuple(arguments), shape, kind, text, reference,
                              *rest, **options))  # fmt: skip


def total(kind):
    def reference(x, axes, init):
        if is_integer(kind):
            return x.sum(axes) + init
        return Want(x.sum(axes) + init, abs(x).sum(axes) + abs(init))

    return reference


def product(kind):
    def reference(x, axes, init):
        result = x.prod(axes) * init
        # Each step's error is relative to the product.
        return result if is_integer(kind) else Want(result, abs(result))

    return reference


def number_extreme(combine):
    """maxnumf and minnumf: NaN only of nothing else; a zero's sign is open."""
    both = numpy.fmax if combine == "max" else numpy.fmin

    def reference(x, axes, init):
        return Want(both(both.reduce(x, axes), init), signs=False)

    return reference


def bits(function, kind):
    return lambda x, axes, init: function(function.reduce(x, axes), init)


def combiners(kind):
    """Each combiner: its op, its reference, ulps for a term, what is drawn."""
    if kind in COMPLEX:
        yield "complex.add", total(kind), 1, "terms"
        yield "complex.mul", product(kind), 2, "factors"
    elif is_integer(kind):
        yield "arith.addi", total(kind), 0, "edges"
        yield "arith.muli", product(kind), 0, "edges"
        for op, combine in (("max", "max"), ("min", "min")):
            yield f"arith.{op}si", extreme(combine, kind), 0, "edges"
            yield f"arith.{op}ui", extreme(combine, kind, True), 0, "edges"
        yield "arith.andi", bits(numpy.bitwise_and, kind), 0, "edges"
        yield "arith.ori", bits(numpy.bitwise_or, kind), 0, "edges"
        yield "arith.xori", bits(numpy.bitwise_xor, kind), 0, "edges"
    else:
        yield "arith.addf", total(kind), 1, "terms"
        yield "arith.mulf", product(kind), 1, "factors"
        for combine in ("max", "min"):
            yield f"arith.{combine}imumf", extreme(combine, kind), 0, "terms"
            yield f"arith.{combine}numf", number_extreme(combine), 0, "terms"


def reduced(op, reference, ulps, draw, kind, name):
    """A row of linalg.reduce over the dimensions that `name` says."""
    axes, shape = AXES[name]
    x = Operand(SHAPE, kind, draw, 1)
    onto = Operand(shape, kind, draw, 2)
    count = numpy.prod([SHAPE[axis] for axis in axes])
    add("linalg.reduce", [x, onto], shape, kind,
        f"%r = linalg.reduce {{ {op} }} ins(%a : {x.type}) outs(%b : {onto.type}) "
        f"dimensions = [{', '.join(map(str, axes))}]",
        lambda a, b: reference(a, axes, b), ulps * sum_limit(int(count), kind),
        variant=f"{op.partition('.')[2]}_{name}")  # fmt: skip


def windowed(op, reference, ulps, draw, kind):
    """A linalg.generic that combines windows of three with a step of two."""
    x = Operand((3, 33), kind, draw, 3)
    window, onto = Operand((3,), kind, "factors", 4), Operand((3, 16), kind, draw, 5)
    maps = ", ".join(
        f"affine_map<(i, j, k) -> ({place})>" for place in ("i, j * 2 + k", "k", "i, j")
    )

    def windows(a, _, b):
        a = a[:, numpy.arange(16)[:, None] * 2 + numpy.arange(3)]
        return reference(a, (2,), b)

    add("linalg.generic", [x, window, onto], onto.shape, kind,
        f"%r = linalg.generic {{indexing_maps = [{maps}], "
        f'iterator_types = ["parallel", "parallel", "reduction"]}} '
        f"ins(%a, %b : {x.type}, {window.type}) outs(%c : {onto.type}) {{\n"
        f"^bb0(%x: {kind}, %y: {kind}, %o: {kind}):\n"
        f"  %s = {op} %o, %x : {kind}\n  linalg.yield %s : {kind}\n"
        f"}} -> {onto.type}", windows, ulps * sum_limit(3, kind),
        variant=f"{op.partition('.')[2]}_windows")  # fmt: skip


def arg_extreme(kind):
    """The place of the first largest, as torch-mlir finds it: two results."""
    x = Operand(SHAPE, kind, "edges", 6)
    if is_integer(kind):
        better = f"arith.cmpi sgt, %x, %m : {kind}"
    else:
        better = f"arith.cmpf ogt, %x, %m : {kind}"
    column, row = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
    left = tensor_type(SHAPE[:1], kind)
    lines = init_of(kind, SHAPE[:1], {"i1": 1}.get(kind, -(2**7)) if is_integer(kind)
                    else -numpy.inf)  # fmt: skip
    add("linalg.generic", [x, Operand((7,), "i64", (0,) * 7)], (7,), "i64",
        f"{lines}\n%best, %r = linalg.generic {{indexing_maps = [{column}, {row}, {row}], "
        f'iterator_types = ["parallel", "reduction"]}} ins(%a : {x.type}) '
        f"outs(%init, %b : {left}, tensor<7xi64>) {{\n"
        f"^bb0(%x: {kind}, %m: {kind}, %n: i64):\n"
        f"  %j = linalg.index 1 : index\n  %p = arith.index_cast %j : index to i64\n"
        f"  %better = {better}\n"
        f"  %s = arith.select %better, %x, %m : {kind}\n"
        f"  %t = arith.select %better, %p, %n : i64\n"
        f"  linalg.yield %s, %t : {kind}, i64\n}} -> ({left}, tensor<7xi64>)",
        lambda a, b: first_above(a, kind), variant="argmax")  # fmt: skip


def first_above(a, kind):
    """Where a scan from the left that starts low has its last better one."""
    result = []
    for row in a:
        low = (1 if kind == "i1" else -(2**7)) if is_integer(kind) else -numpy.inf
        best, place = -low if kind == "i1" else low, 0
        for j, value in enumerate(row):
            value = -value if kind == "i1" else value
            if value > best:
                best, place = value, j
        result.append(place)
    return numpy.array(result)


for kind in (*FLOATS, *INTEGERS, *COMPLEX):
    for combiner in combiners(kind):
        for name in AXES:
            reduced(*combiner, kind, name)
        windowed(*combiner, kind)
    if kind not in COMPLEX:
        arg_extreme(kind)

# ---------------------------------------------------------------------------
# Softmax
# ---------------------------------------------------------------------------


def softmax(axis):
    def reference(a):
        a = a - a.max(axis, keepdims=True)
        a = numpy.exp(a)
        return a / a.sum(axis, keepdims=True)

    return lambda a: Want(reference(a), abs(reference(a)))


for kind in FLOATS:
    x = Operand(SHAPE, kind, "terms", 7)
    for axis in (0, 1):
        add("linalg.softmax", [x], SHAPE, kind,
            f"%empty = tensor.empty() : {x.type}\n"
            f"%r = linalg.softmax dimension({axis}) ins(%a : {x.type}) "
            f"outs(%empty : {x.type}) -> {x.type}", softmax(axis),
            sum_limit(SHAPE[axis], kind), variant=f"dimension_{axis}")  # fmt: skip
