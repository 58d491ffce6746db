# ===- shapes.py - Other shapes of the same elements -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Shape ops, rank 0, tensors without elements, the same value twice."""

import torch

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((4, 6, 5))
def views(x):
    return x.view(24, 5), x.reshape(-1), x.flatten(1), x.unsqueeze(1).squeeze(1)


@add((4, 6, 5))
def permutations(x):
    return x.permute(2, 0, 1), x.transpose(1, 2), x.flip(0), x.roll(2, 1)


@add((4, 6), (2, 6))
def concatenation(x, y):
    return torch.cat([x, y]), torch.stack([x[:2], y]), torch.cat([y, y], 1)


@add((4, 6))
def pieces(x):
    return torch.split(x, 2, 1) + torch.chunk(x, 2)


@add((4, 1, 3))
def expansion(x):
    return x.expand(4, 5, 3), x.repeat(1, 2, 2), x.repeat_interleave(2, 0)


@add(torch.tensor(3.5), torch.tensor(-2.0))
def one_element_alone(x, y):
    return x * y, x > y, torch.stack([x, y]).sum()


@add((3, 0), (0, 4))
def no_elements(x, y):
    return x.sum(1), x @ y, y + 1, y.amax(1)


@add((7,))
def the_same_twice(x):
    y = x + 1
    return y, y, x, y.view(7, 1)


@add((2, 3))
def constants_alone(x):
    return torch.arange(5), torch.full((2, 2), 1.5), torch.zeros(3, dtype=torch.int32)


@add((13, 20))
def constants_of_every_type(x):
    mask = torch.tensor([[i * j % 3 == 0 for j in range(20)] for i in range(13)])
    weights = torch.tensor([0.5 * i for i in range(20)])
    return torch.where(mask, x * weights, 0.0)
