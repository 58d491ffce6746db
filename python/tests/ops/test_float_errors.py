# ===- test_float_errors.py - Bounds of errors hold -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""No result is spared the exact comparison that could be the worst."""

import math

import float_errors
import mpmath
import numpy
import op_values as values
import pytest


def near(kind, want, steps):
    """A number of the type, some steps from the reference."""
    if not math.isfinite(float(want)) or abs(float(want)) > kind.largest:
        return float(want)
    step = kind.ulp(float(want)) or kind.least_normal
    return (round(float(want) / step) + steps) * step


@pytest.mark.parametrize("name", values.FLOATS)
def test_bounds(name):
    kind = values.FLOATS[name]
    random = numpy.random.default_rng(7)
    wants = [0.0, -0.0, math.inf, math.nan, None, mpmath.mpf(kind.largest) * 3]
    for exponent in numpy.linspace(-kind.largest_exponent - 40, kind.largest_exponent, 400):
        digits = mpmath.mpf(int(random.integers(2**52, 2**53))) / 2**53
        tail = mpmath.ldexp(int(random.integers(2**60)), -130)
        power = mpmath.ldexp(1, int(exponent))
        wants += [(digits + tail) * power, power, power * (1 - mpmath.mpf(2) ** -70)]
    got = numpy.array(
        [math.nan if want is None else near(kind, want, int(random.integers(-3, 4)))
         for want in wants]
    )  # fmt: skip
    bounds = float_errors.bounds(kind, got, *float_errors.split(wants))
    finite = 0
    for value, want, bound in zip(got.tolist(), wants, bounds.tolist(), strict=True):
        if want is None:
            assert bound == math.inf
            continue
        error = float_errors.float_error(kind, value, want)
        assert error <= bound
        if math.isfinite(bound):
            finite += 1
            # Twice, where the reference rounds to a power of two.
            assert bound <= 2.001 * error + 1e-6
    assert finite > len(wants) * 0.6
