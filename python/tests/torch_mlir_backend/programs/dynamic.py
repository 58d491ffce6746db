# ===- dynamic.py - Sizes that are known at run time -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Dynamic shapes, called with several sizes."""

import torch
from torch.export import Dim

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

ROWS = {0: Dim("rows", min=2, max=1000)}
COLUMNS = {1: Dim("columns", min=2, max=1000)}
NEAR = {"rtol": 1e-4, "atol": 1e-5}


@add((5, 8), (8,), dynamic=(ROWS, None), **NEAR)
def dynamic_elementwise(x, y):
    return torch.relu(x + y) * 2


@add((5, 8), (8, 3), dynamic=(ROWS, COLUMNS), **NEAR)
def dynamic_matmul(x, y):
    return x @ y


@add((5, 8), dynamic=(ROWS,), **NEAR)
def dynamic_softmax(x):
    return torch.softmax(x, 0), x.sum()


@add((5, 8), (3, 8), dynamic=(ROWS, {0: Dim("more", min=2, max=1000)}))
def dynamic_concatenation(x, y):
    return torch.cat([x, y])
