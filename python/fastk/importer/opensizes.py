# ===- opensizes.py - Views of open sizes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Views that make one dimension of several, of which a call decides one or more.

torch-mlir takes some of such dimensions for 1, and the result for right: a linear
layer on an open batch of open length reads one row of each sequence. It lowers
``prims.collapse`` as it is meant.
"""


def _is_open(size):
    import torch

    return isinstance(size, torch.SymInt)


def _value(size):
    """A size to multiply and to compare; open ones are not looked at."""
    import sympy

    return size.node.expr if _is_open(size) else sympy.Integer(size)


def collapsed(shape, size):
    """[(first, last)]: the dimensions of `shape` that each one of `size` is made of.

    None where a dimension is made otherwise, or no open one is put together.
    """
    if not any(map(_is_open, shape)):
        return None
    sizes = list(map(_value, shape))
    wanted = list(map(_value, size))
    if -1 in wanted:
        whole, rest = 1, -1
        for each in sizes:
            whole *= each
        for each in wanted:
            rest *= each
        if rest == 0:
            return None
        wanted[wanted.index(-1)] = whole / rest
    groups, place = [], 0
    for each in wanted:
        first, product = place, 1
        while place < len(sizes) and (place == first or product != each):
            product *= sizes[place]
            place += 1
        if place == first or product != each:
            return None
        groups.append((first, place - 1))
    of_open = (
        first < last and any(map(_is_open, shape[first : last + 1]))
        for first, last in groups
    )
    return groups if place == len(sizes) and any(of_open) else None


def table():
    """Returns {op overload: function}, to be merged over torch-mlir's table."""
    import torch

    def view(x, size):
        groups = collapsed(x.shape, size)
        if groups is None:
            return NotImplemented  # torch-mlir's own lowering
        for first, last in reversed(groups):
            if first < last:
                x = torch.ops.prims.collapse(x, first, last)
        return x

    aten = torch.ops.aten
    return {aten.view.default: view, aten._unsafe_view.default: view}
