# ===- opensizes.py - Views of open sizes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A view that makes one dimension of several, of which a call decides more than one.

torch-mlir takes all but one of such dimensions for 1, and the result for right: a
linear layer on an open batch of open length reads one row of each sequence. It lowers
``prims.collapse`` as it is meant.
"""


def _is_open(size):
    import torch

    return isinstance(size, torch.SymInt)


def _same(one, other):
    if _is_open(one) and _is_open(other):
        return one.node.expr == other.node.expr
    return not _is_open(one) and not _is_open(other) and one == other


def collapsed(shape, size):
    """(first, last) of the dimensions of `shape` that are one dimension of `size`.

    None where all else is not the same, or fewer than two of them are open.
    """
    more = len(shape) - len(size)
    for first in range(len(size) if more > 0 else 0):
        last = first + more
        rest = [*shape[:first], *shape[last + 1 :]]
        kept = [*size[:first], *size[first + 1 :]]
        if sum(map(_is_open, shape[first : last + 1])) > 1 and all(map(_same, rest, kept)):
            return first, last
    return None


def table():
    """Returns {op overload: function}, to be merged over torch-mlir's table."""
    import torch

    def view(x, size):
        found = collapsed(x.shape, size)
        if found is None:
            return NotImplemented  # torch-mlir's own lowering
        return torch.ops.prims.collapse(x, *found)

    aten = torch.ops.aten
    return {aten.view.default: view, aten._unsafe_view.default: view}
