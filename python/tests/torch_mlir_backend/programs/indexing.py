# ===- indexing.py - Reads at places that data says -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Gathers: reads at places that data says."""

import torch
import torch.nn.functional as F

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((11, 6), torch.tensor([[1, 10], [0, 3]]))
def embedding(table, places):
    return F.embedding(places, table)


@add((5, 7), torch.tensor([4, 0, 0]))
def index_select(x, places):
    return torch.index_select(x, 0, places), torch.index_select(x, 1, places)


@add((3, 5), torch.tensor([[0, 4], [1, 1], [3, 2]]))
def gather(x, places):
    return torch.gather(x, 1, places)


@add((5, 6, 3), torch.tensor([-1, 0, 3]), torch.tensor([5, -6, 1]))
def advanced_indexing(x, i, j):
    return x[i], x[i, j], x[:, j]


@add((6, 9))
def slices(x):
    return x[1:5:2], x[:, -3:], x[2], x[..., None, 4]


@add((6, 9))
def triangles(x):
    return torch.tril(x), torch.triu(x, 1), torch.diagonal(x)


@add((4, 6))
def one_hot_and_arange(x):
    places = x.argmax(1)
    return F.one_hot(places, 6), torch.arange(6) + places[:, None]
