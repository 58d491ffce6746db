# ===- hard.py - What is unusual about types, results and sizes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Aliases, empty tensors, rank 0, rare types, sizes that data decides."""

import torch
import torch.nn.functional as F
from torch.export import Dim

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

ROWS = {0: Dim("rows", min=2, max=1000)}
COMPLEX = torch.tensor([1 + 2j, -0.5 - 1j, 3j, 0.25 + 0j])


@add((3, 4))
def the_argument_alone(x):
    return x


@add((3, 4), (4,))
def arguments_among_results(x, y):
    return x, x + y, y


@add((3, 4))
def one_value_three_times(x):
    y = x + 1
    return y, y, y.view(12)


@add((5, 4), dynamic=(ROWS,))
def a_dynamic_argument_twice(x):
    return x, x * 2, x


@add((3, 4))
def nothing_at_the_end(x):
    return torch.cat([x, x[:0]]).sum(0), x[:, :0]


@add(torch.zeros(3, 0))
def sums_over_nothing(x):
    return x.sum(1), x.sum(0), x.sum()


@add(torch.tensor(3), torch.tensor(2.5))
def rank_0(x, y):
    return x + 1, y * y, x * y


@add((3, 4))
def no_argument_is_read(x):
    return torch.arange(5), torch.ones(2, 2)


@add(torch.arange(-3, 9, dtype=torch.int16).reshape(3, 4))
def int16(x):
    return x + x, x * x, x.max()


@add(torch.arange(250, 256, dtype=torch.uint8))
def uint8(x):
    return x.float(), x.int() * 2


@add(COMPLEX, COMPLEX.flip(0), rtol=1e-5, atol=1e-5)
def complex_numbers(x, y):
    return x * y, torch.real(x) * torch.imag(y)


@add(COMPLEX.to(torch.complex128))
def wide_complex_numbers(x):
    return x * x, x * x * x


@add((4, 8), rtol=1e-4, atol=1e-5)
def spectrum(x):
    return torch.fft.rfft(x)


@add(torch.tensor([[1, 0, 2], [0, 3, 0]]))
def places_of_what_is_not_zero(x):
    return torch.nonzero(x)


@add(torch.tensor([1, 2, 3, 3, 0, 9]))
def counts(x):
    return torch.bincount(x)


@add((7, 5), dynamic=(ROWS,), rtol=1e-5, atol=1e-5)
def dynamic_running_sums(x):
    return torch.cumsum(x, 0), torch.cumsum(x, 1)


@add((7, 5), dynamic=(ROWS,))
def dynamic_sort(x):
    return tuple(torch.sort(x, 0)) + tuple(torch.sort(x, 1, descending=True))


@add((100_000,), rtol=1e-3, atol=1e-2)
def a_long_running_sum(x):
    return torch.cumsum(x, 0)


@add(torch.arange(100_000).reshape(50, 2000))
def long_running_sums_of_integers(x):
    return torch.cumsum(x, 0), torch.cumsum(x, 1), torch.cumsum(x.view(-1), 0)


@add((3, 17), rtol=1e-4, atol=1e-5)
def running_logarithms(x):
    return torch.logcumsumexp(x, 1)


@add((4, 9))
def the_third_smallest(x):
    return torch.kthvalue(x, 3)


@add((3, 5), torch.tensor([[0, 1], [2, 1]]), (2, 2), rtol=1e-5, atol=1e-5)
def scatters_that_reduce(x, places, values):
    return (
        x.scatter_reduce(0, places, values, "amax"),
        x.scatter_reduce(0, places, values, "prod"),
        x.scatter_reduce(0, places, values, "mean"),
    )


@add((2, 3, 6, 8), (2, 3, 5, 8), (2, 3, 5, 8), rtol=1e-4, atol=1e-5)
def masked_attention(q, k, v):
    mask = (torch.arange(6)[:, None] + torch.arange(5)) % 3 > 0
    return F.scaled_dot_product_attention(q, k, v, mask)
