# ===- writing.py - Scatters, sorting, running sums -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Scatters, sorting and running sums."""

import torch

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((3, 5), torch.tensor([[0, 4], [1, 2], [3, 2]]), (3, 2))
def scatter(x, places, values):
    return x.scatter(1, places, values)


@add((3, 5), torch.tensor([[0, 0], [1, 1], [3, 2]]), (3, 2), rtol=1e-5, atol=1e-5)
def scatter_add(x, places, values):
    return x.scatter_add(1, places, values)


@add((5, 4), torch.tensor([0, -2]), (2, 4))
def index_put(x, places, values):
    return x.index_put((places,), values), x.index_put((places,), values, True)


@add((6, 9))
def slice_assignment(x):
    y = x.clone()
    y[1:4] = 0
    y[:, 2] = y[:, 3] * 2
    return y


@add((4, 17), rtol=1e-5, atol=1e-5)
def running_sums(x):
    return torch.cumsum(x, 1), torch.cumsum(x, 0)


@add(torch.arange(1, 13).reshape(3, 4))
def running_sums_of_integers(x):
    return torch.cumsum(x, 1), torch.cumprod(x, 0)


@add((4, 17))
def sort(x):
    return tuple(torch.sort(x, 1)) + tuple(torch.sort(x, 0, descending=True))


@add((4, 17))
def topk(x):
    return torch.topk(x, 3)
