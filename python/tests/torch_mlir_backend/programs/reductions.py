# ===- reductions.py - Sums, means, extrema, norms -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reductions."""

import torch

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((5, 13, 9))
def sums(x):
    return x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)


@add((6, 50))
def means_and_variances(x):
    return x.mean(1), x.var(1), x.std(0, unbiased=False), torch.var_mean(x)[0]


@add((6, 50))
def extrema(x):
    return x.amax(1), x.amin(0), x.max(), x.argmax(1), x.argmin()


@add((6, 50))
def extrema_with_places(x):
    return tuple(x.max(1)) + tuple(x.min(0))


@add(torch.arange(1, 7, dtype=torch.float32).reshape(2, 3))
def products(x):
    return x.prod(), x.prod(1)


@add(torch.arange(24).reshape(4, 6) % 5)
def integer_reductions(x):
    return x.sum(), x.amax(1), x.sum(0, dtype=torch.int32), x.prod(1)


@add(torch.tensor([[True, False], [True, True], [False, False]]))
def any_and_all(x):
    return x.any(), x.all(1), x.any(0), x.sum()


@add((4, 31))
def vector_norms(x):
    return x.norm(), torch.linalg.vector_norm(x, 1, dim=1), x.norm(3, 0)


@add((4, 31))
def log_sum_exp(x):
    return torch.logsumexp(x, 1), x.exp().sum(0).log()


@add(torch.linspace(-2, 2, 60).half().reshape(4, 15))
def half_sum(x):
    return x.sum(1), x.float().sum()
