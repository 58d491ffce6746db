# ===- elementwise.py - Op by op on every type -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Elementwise ops, of every type."""

import torch
import torch.nn.functional as F

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((5, 33), (33,))
def broadcast_arithmetic(x, y):
    return (x + y) * (x - 2.5 * y) / (y.abs() + 0.5)


@add((4, 1, 7), (3, 1))
def broadcast_both_ways(x, y):
    return torch.maximum(x, y), torch.minimum(x, y)


@add((6, 40))
def activations(x):
    return F.relu(x), F.silu(x), F.leaky_relu(x, 0.1), F.hardswish(x), F.softplus(x)


# The wheel has the tanh form's constant in four digits.
@add((6, 40), rtol=2e-3, atol=1e-4)
def gelus(x):
    return F.gelu(x), F.gelu(x, approximate="tanh")


@add((6, 40))
def transcendental(x):
    return x.exp(), (x.abs() + 0.1).log(), x.sin(), x.cos(), x.tanh(), x.sigmoid()


@add((6, 40))
def roots_and_powers(x):
    y = x.abs() + 0.25
    return y.sqrt(), y.rsqrt(), y.pow(1.7), x.pow(3), y.reciprocal()


@add((6, 40))
def rounding(x):
    y = x * 4
    return y.floor(), y.ceil(), y.round(), y.trunc(), y - y.floor()


@add(torch.linspace(-3, 3, 70, dtype=torch.float64).reshape(7, 10))
def double_precision(x):
    return torch.erf(x) * x.exp() + x.atan()


@add(torch.linspace(-8, 8, 66).half().reshape(6, 11))
def half_precision(x):
    return torch.tanh(x) * x + 1


@add(torch.linspace(-8, 8, 66).bfloat16().reshape(6, 11))
def brain_float(x):
    return torch.sigmoid(x) * x


@add(torch.arange(-20, 22).reshape(6, 7))
def integers_64(x):
    return x * 3 - 7, x.abs(), x.clamp(-4, 9), -x


@add(torch.arange(-20, 22, dtype=torch.int32), torch.full((42,), 3, dtype=torch.int32))
def integers_32(x, y):
    return x + y, x * y, torch.maximum(x, y)


@add(torch.arange(-100, 100, 5, dtype=torch.int16))
def integers_16(x):
    return x + x, x >> 2, x & 21


@add(torch.arange(-120, 120, 5, dtype=torch.int8))
def integers_8_wrap_around(x):
    return x + x, x * x


@add(torch.arange(-9, 9), torch.tensor([2, -2, 3, -3, 5, 7] * 3))
def integer_division(x, y):
    return (
        torch.div(x, y, rounding_mode="floor"),
        torch.div(x, y, rounding_mode="trunc"),
        torch.remainder(x, y),
        x / y,
    )


@add((40,), (40,))
def float_division(x, y):
    floor = torch.div(x, y, rounding_mode="floor")
    return torch.fmod(x, y), torch.remainder(x, y), floor


@add((5, 20), (5, 20))
def comparisons(x, y):
    return x < y, x >= y, x == x, x != y, (x > 0) & (y > 0), (x > 0) | ~(y > 0)


@add(torch.tensor([True, False, True, False]), torch.tensor([True, True, False, False]))
def booleans(x, y):
    return x & y, x | y, x ^ y, ~x, x == y


@add((5, 20), (5, 20))
def selection(x, y):
    return torch.where(x > y, x, -y), x.masked_fill(x < 0, -1.0)


@add(torch.tensor([1.5, float("nan"), float("inf"), -float("inf"), 0.0, -0.0]))
def not_finite(x):
    return torch.isnan(x), torch.isinf(x), torch.nan_to_num(x, 3.0, 9.0, -9.0), x.relu()


@add(torch.tensor([-2.7, -1.0, -0.2, 0.0, 0.9, 3.99]))
def casts_of_floats(x):
    return x.int(), x.long(), x.half(), x.double(), x.bool(), x.to(torch.int8)


@add(torch.tensor([-3, 0, 1, 127], dtype=torch.int8), torch.tensor([True, False]))
def casts_of_integers(x, y):
    return x.float(), x.long() * 1000, x.bool(), y.float(), y.int() + 1


@add(torch.arange(4, dtype=torch.int32), (4,), torch.arange(4, dtype=torch.float64))
def type_promotion(x, y, z):
    return x + y, y + z, x * 2.5, x / 3
