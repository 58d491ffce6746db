# ===- reductions.py - Reductions by families on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times what families give reductions of rows beside torch, in one run.

    python3 benchmarks/reductions.py make PROGRAMS [--bank=DIR] [--fastk-opt=PATH] [ROW...]
    python3 benchmarks/reductions.py time PROGRAMS [--rounds=30] [-o PAGE.md] [ROW...]

A row is OP-SHAPE-TYPE. `make` imports what torch computes, and needs fastk's importer.
"""

import math
import random
import sys

import family_rows

#: Rows and columns, from many short rows to few long ones.
SIZES = [(65536, 128), (16384, 1024), (4096, 4096), (4096, 65536), (128, 1048576)]
#: Random rows, the same on every machine.
COUNT, SEED = 20, 20261125


def softmax(x):
    import torch

    return torch.softmax(x, -1)


def softmax_middle(x):
    import torch

    return torch.softmax(x, 1)


def layer_norm(x, weight, bias):
    import torch

    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)


def rms_norm(x, weight):
    import torch

    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def group_norm(x, weight, bias):
    import torch

    return torch.nn.functional.group_norm(x, 8, weight, bias, 1e-5)


def sum_rows(x):
    return x.sum(-1)


def sum_columns(x):
    return x.sum(0)


def logsumexp(x):
    return x.logsumexp(-1)


#: Name -> function, what its second and third operand have: columns or channels.
OPS = {
    "softmax": (softmax, 0, -1),
    "layer_norm": (layer_norm, 2, -1),
    "rms_norm": (rms_norm, 1, -1),
    "sum_rows": (sum_rows, 0, -1),
    "sum_columns": (sum_columns, 0, -1),
    "logsumexp": (logsumexp, 0, -1),
    "softmax_middle": (softmax_middle, 0, 1),
    "group_norm": (group_norm, 2, 1),
}
BYTES = {"f32": 4, "f16": 2, "bf16": 2}


def row_of(name, shape, kind, group):
    function, weights, dim = OPS[name]
    shapes = [shape] + [(shape[dim],)] * weights
    elements = math.prod(shape)
    # Each element is read once; it is written where the result has one for each.
    results = {"sum_rows": elements // shape[-1], "logsumexp": elements // shape[-1]}
    results["sum_columns"] = elements // shape[0]
    moved = (elements + results.get(name, elements)) * BYTES[kind]
    return family_rows.Row(
        text=lambda: import_of(function, shapes, kind),
        reference=function,
        shapes=shapes,
        kind=kind,
        group=group,
        work=1e-12 * moved,
        unit="TB/s",
    )


def import_of(function, shapes, kind):
    import torch

    import fastk.importer

    class Module(torch.nn.Module):
        def forward(self, *operands):
            return function(*operands)

    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
    operands = tuple(torch.empty(shape, dtype=dtype, device="meta") for shape in shapes)
    return fastk.importer.import_module(Module().eval(), operands).text


def rows():
    """Name -> row: those of the table, then random ones."""
    found = {}

    def add(op, shape, kind, group):
        name = f"{op}-{'x'.join(map(str, shape))}-{kind}"
        found[name] = row_of(op, shape, kind, group)

    for op in ("softmax", "layer_norm", "sum_rows", "sum_columns"):
        for shape in SIZES:
            add(op, shape, "f32", "table")
    draw = random.Random(SEED)

    def size(most):
        return max(1, round(2 ** draw.uniform(0, math.log2(most))))

    while len(found) < 4 * len(SIZES) + COUNT:
        op, kind = draw.choice(list(OPS)), draw.choice(("f32", "f16", "bf16"))
        if op == "group_norm":
            shape = (size(64), 8 * size(64), size(20000))
        elif op == "softmax_middle":
            shape = (size(64), 1 + size(4096), size(4096))
        else:
            shape = (size(200000), 1 + size(200000))
        # Enough to be no launch alone, and to fit three times.
        if 2**20 <= math.prod(shape) <= 2**27:
            add(op, shape, kind, "random")
    return found


if __name__ == "__main__":
    sys.exit(family_rows.main(__doc__, rows()))
