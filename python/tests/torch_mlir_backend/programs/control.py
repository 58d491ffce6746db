# ===- control.py - Loops and choices -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Loops that are unrolled, choices that are made for every element.

The wheel imports no torch.cond, and forgets a while_loop's condition.
"""

import torch

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((4, 6))
def choice(x):
    return torch.where(x.sum() > 0, x + 1, x * 2)


@add((4, 6), (6, 6), rtol=1e-4, atol=1e-5)
def unrolled_loop(x, w):
    for _ in range(4):
        x = torch.tanh(x @ w)
    return x
