# ===- contractions.py - Products of matrices -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Products of matrices, of every rank and type."""

import torch
import torch.nn.functional as F

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((17, 23), (23, 11))
def matmul(x, y):
    return x @ y


@add((3, 17, 8), (3, 8, 5))
def batched_matmul(x, y):
    return torch.bmm(x, y)


@add((2, 1, 6, 8), (5, 8, 4))
def broadcast_matmul(x, y):
    return x @ y


@add((9,), (9,), (4, 9))
def vectors(x, y, m):
    return torch.dot(x, y), m @ x, torch.outer(x, y)


@add((6, 19), (11, 19), (11,))
def linear(x, w, b):
    return F.linear(x, w, b), F.relu(F.linear(x, w))


@add((5, 7), (5, 6), (6, 7))
def addmm(x, y, z):
    return torch.addmm(x, y, z, beta=0.5, alpha=2.0)


@add((4, 6, 5), (4, 7, 5), rtol=1e-4, atol=1e-4)
def einsum(x, y):
    return torch.einsum("bik,bjk->bij", x, y), torch.einsum("bik->kb", x)


@add(torch.arange(30).reshape(5, 6), torch.arange(24).reshape(6, 4))
def integer_matmul(x, y):
    return x @ y


@add(torch.linspace(0, 1, 42).double().reshape(6, 7), torch.ones(7, 3).double())
def double_matmul(x, y):
    return x @ y


@add(torch.linspace(0, 1, 42).half().reshape(6, 7), torch.ones(7, 3).half())
def half_matmul(x, y):
    return x @ y


@add(torch.linspace(0, 1, 42).bfloat16().reshape(6, 7), torch.ones(7, 3).bfloat16())
def brain_float_matmul(x, y):
    return x @ y
