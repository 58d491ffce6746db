# ===- elementwise_table.py - linalg's elementwise ops -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Rows of linalg's elementwise ops: those of the scalar op that each applies."""

import dataclasses
import operator

import op_reference as ref
import op_table
import op_values as values
from op_table import FLOAT_TYPES, INTEGER_TYPES, WIDE_INTEGERS

ROWS = []

_SCALARS = {
    (row.op, row.operands): row for row in op_table.ROWS if not row.variant
}


def tensor(kind):
    return f"tensor<{values.COUNT}x{kind}>"


def whole(head, operands, result):
    """The text of an op on tensors with as many operands."""
    names = ", ".join("%" + name for name in "abc"[: len(operands)])
    types = ", ".join(map(tensor, operands))
    out = tensor(result)
    arrow = "" if head.startswith("linalg.map") else f" -> {out}"
    return (f"%empty = tensor.empty() : {out}\n"
            f"%r = {head} ins({names} : {types}) outs(%empty : {out}){arrow}")  # fmt: skip


def apply(op, scalar, operands, head=None, variant=""):
    """A row of `op`, which does what the scalar op does."""
    row = _SCALARS[scalar, operands]
    ROWS.append(dataclasses.replace(
        row, op=op, text=whole(head or op, operands, row.result), variant=variant,
        is_whole=True,
    ))  # fmt: skip


UNARY = {
    "exp": "math.exp", "log": "math.log", "abs": "math.absf", "ceil": "math.ceil",
    "floor": "math.floor", "negf": "arith.negf", "round": "math.round",
    "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh",
    "erf": "math.erf",
}  # fmt: skip
BINARY = {
    "add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
    "max": "arith.maximumf", "min": "arith.minimumf", "powf": "math.powf",
}  # fmt: skip
OF_INTEGERS = {
    "add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "div": "arith.divsi",
    "max": "arith.maxsi", "min": "arith.minsi", "div_unsigned": "arith.divui",
}  # fmt: skip
#: Of truth values sums are `or`, products are `and`.
OF_BOOLS = {"add": "arith.ori", "mul": "arith.andi"}

for kind in FLOAT_TYPES:
    for name, scalar in UNARY.items():
        apply(f"linalg.{name}", scalar, (kind,))
    for name, scalar in BINARY.items():
        apply(f"linalg.{name}", scalar, (kind, kind))
    one = (kind,)
    for name, reference in (
        ("square", lambda x: ref.arithmetic(operator.mul)(x, x)),
        ("reciprocal", lambda x: ref.arithmetic(operator.truediv)(1.0, x)),
    ):  # fmt: skip
        ROWS.append(op_table.Row(
            f"linalg.{name}", one, kind, whole(f"linalg.{name}", one, kind), reference,
            0.5, is_whole=True,
        ))  # fmt: skip
for kind in WIDE_INTEGERS:
    for name, scalar in OF_INTEGERS.items():
        apply(f"linalg.{name}", scalar, (kind, kind))
for name, scalar in OF_BOOLS.items():
    apply(f"linalg.{name}", scalar, ("i1", "i1"))
for kind in (*FLOAT_TYPES, *INTEGER_TYPES):
    apply("linalg.select", "arith.select", ("i1", kind, kind))

# The same ops by attribute: in one type of each kind.
for name, scalar in {**UNARY, **BINARY}.items():
    name = {"max": "max_signed", "min": "min_signed"}.get(name, name)
    apply("linalg.elementwise", scalar, ("f32",) * (1 if scalar in UNARY.values() else 2),
          f"linalg.elementwise kind=#linalg.elementwise_kind<{name}>", name)  # fmt: skip
for name, scalar in {
    "add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "div": "arith.divsi",
    "div_unsigned": "arith.divui", "max_signed": "arith.maxsi",
    "min_signed": "arith.minsi", "max_unsigned": "arith.maxui",
    "min_unsigned": "arith.minui",
}.items():  # fmt: skip
    apply("linalg.elementwise", scalar, ("i32", "i32"),
          f"linalg.elementwise kind=#linalg.elementwise_kind<{name}>", name)  # fmt: skip
apply("linalg.elementwise", "arith.select", ("i1", "f32", "f32"),
      "linalg.elementwise kind=#linalg.elementwise_kind<select>", "select")  # fmt: skip
for kind in FLOAT_TYPES:
    apply("linalg.map", "arith.subf", (kind, kind), "linalg.map { arith.subf }")
