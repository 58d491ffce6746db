# ===- all_rows.py - The tables of ops as one -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""All rows, those that are compiled together, and the ops that have none."""

import collections

import elementwise_table
import linalg_table
import movement_table
import op_table
import reduction_table
from structured_rows import StructuredRow

#: Dialects of which each op has a row or a reason.
DIALECTS = ("arith", "math", "complex", "tensor", "linalg")

ROWS = [
    *op_table.ROWS, *elementwise_table.ROWS, *linalg_table.ROWS, *reduction_table.ROWS,
    *movement_table.ROWS,
]  # fmt: skip

#: Rows whose programs are compiled and run together.
GROUPS = collections.defaultdict(list)
for row in ROWS:
    if isinstance(row, StructuredRow):
        group = row.operands[0].replace("<", "_").rstrip(">") + "_tensors"
    else:
        group = row.operands[-1] + ("_complex" if row.is_complex else "")
    GROUPS[group].append(row)


def _choose_sample():
    """Rows that stand for the others, of which a lowering is shared by many.

    An op on tensors is lowered by its loops, whatever they compute: each op and
    variant is in it with f32 where it has such a row, and with every fourth of
    the other types, each op with others of them.
    """
    variants = collections.defaultdict(list)
    for row in ROWS:
        if isinstance(row, StructuredRow):
            variants[row.op, row.variant].append(row)
    sample = {row.name for row in ROWS if not isinstance(row, StructuredRow)}
    for number, rows in enumerate(variants.values()):
        kept = [row for row in rows if row.operands[0] == "f32"] or rows[:1]
        sample.update(row.name for row in (*kept, *rows[number % 4 :: 4]))
    return sample


SAMPLE = _choose_sample()


def rows_of(group, role="program", job="", sample=False):
    """A group's rows that have a `role`, in a job for the target `job` if any."""
    return [
        row for row in GROUPS[group]
        if (role == "program" or row.has_oracle)
        and not (job and row.refused_in_workloads)
        and not (job.startswith("cuda") and row.refused_on_gpu)
        and not (sample and row.name not in SAMPLE)
    ]  # fmt: skip


#: Ops without a row, and why.
WITHOUT_ROW = {
    **op_table.WITHOUT_ROW,
    "linalg.yield": "in the text of other rows",
    "tensor.yield": "in the text of other rows",
    "tensor.empty": "in the text of other rows; it has no value",
    "tensor.gather": "refused: no front end emits it, nor has MLIR a lowering",
    "tensor.scatter": "refused: no front end emits it, nor has MLIR a lowering",
    "linalg.winograd_filter_transform": "refused: a schedule's op, not a model's",
    "linalg.winograd_input_transform": "refused: a schedule's op, not a model's",
    "linalg.winograd_output_transform": "refused: a schedule's op, not a model's",
    "linalg.fill_rng_2d": "no front end emits it: torch-mlir makes random numbers "
    "of integers",
}

_FUNCTION = "func.func @f({}) -> {} {{\n  {}\n  return %r : {}\n}}\n"


def _winograd(what, source, target):
    return _FUNCTION.format(
        f"%a: {source}, %b: {target}", target,
        f"%r = linalg.winograd_{what}_transform fmr(F_4_3) ins(%a : {source}) "
        f"outs(%b : {target}) -> {target}", target,
    )  # fmt: skip


#: Ops that the compiler refuses: a function of each.
REFUSED = {
    "tensor.gather": _FUNCTION.format(
        "%a: tensor<5x18xf32>", "tensor<2x18xf32>",
        "%i = arith.constant dense<[[3], [0]]> : tensor<2x1xindex>\n"
        "  %r = tensor.gather %a[%i] gather_dims([0]) : (tensor<5x18xf32>, "
        "tensor<2x1xindex>) -> tensor<2x18xf32>", "tensor<2x18xf32>",
    ),
    "tensor.scatter": _FUNCTION.format(
        "%a: tensor<5x18xf32>, %b: tensor<2x18xf32>", "tensor<5x18xf32>",
        "%i = arith.constant dense<[[3], [0]]> : tensor<2x1xindex>\n"
        "  %r = tensor.scatter %b into %a[%i] scatter_dims([0]) unique : "
        "(tensor<2x18xf32>, tensor<5x18xf32>, tensor<2x1xindex>) -> tensor<5x18xf32>",
        "tensor<5x18xf32>",
    ),
    "linalg.winograd_filter_transform": _winograd(
        "filter", "tensor<2x3x3x5xf32>", "tensor<6x6x5x2xf32>"),
    "linalg.winograd_input_transform": _winograd(
        "input", "tensor<2x10x10x5xf32>", "tensor<6x6x2x2x2x5xf32>"),
    "linalg.winograd_output_transform": _winograd(
        "output", "tensor<6x6x2x2x2x2xf32>", "tensor<2x8x8x2xf32>"),
}  # fmt: skip
