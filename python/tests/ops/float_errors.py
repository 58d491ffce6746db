# ===- float_errors.py - How far floats are off -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Errors of results in units of the last place: exact ones, by mpmath, and bounds of
them for many results at once, by which most need no exact one."""

import functools
import math

import mpmath
import numpy


@functools.cache
def _top(kind):
    """The largest number of a type, and its unit in the last place."""
    return mpmath.mpf(kind.largest), mpmath.mpf(kind.ulp(kind.largest))


def float_error(kind, got, want, scale=None):
    """In ulps of `kind`, at the reference or at `scale`."""
    if isinstance(want, float) and not (math.isfinite(want) and want):
        same = (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
        if want == 0 and scale:
            same = got == 0
            if not same:
                return float(abs(got) / kind.ulp(float(scale)))
        return 0.0 if same else math.inf
    want = mpmath.mpf(want)
    # Beyond the largest number and half a unit, rounding makes it infinite.
    largest, step = _top(kind)
    if abs(want) >= largest + step / 2:
        if math.isinf(got):
            return 0.0 if (got > 0) == (want > 0) else math.inf
        if math.isnan(got) or (got > 0) != (want > 0):
            return math.inf
        return float((abs(want) - abs(mpmath.mpf(got))) / step)
    if math.isinf(got):
        # The next number there would be.
        if (got > 0) != (want > 0):
            return math.inf
        got = largest + step if want > 0 else -largest - step
    elif math.isnan(got):
        return math.inf
    elif got == want:
        return 0.0
    unit = max(abs(want), abs(mpmath.mpf(scale)) if scale else 0)
    exponent = (
        kind.least_exponent
        if unit == 0
        else max(mpmath.frexp(unit)[1] - 1, kind.least_exponent)
    )
    ulp = mpmath.ldexp(1, exponent - kind.precision + 1)
    return float(abs(mpmath.mpf(got) - want) / ulp)


def split(wants):
    """References as sums of two f64: 106 bits of each. NaN for what is special, or
    missing."""
    highs, lows = numpy.full((2, len(wants)), math.nan)
    for place, want in enumerate(wants):
        if isinstance(want, complex | None):
            continue
        with numpy.errstate(over="ignore"):
            high = float(want)
        if math.isfinite(high) and high:
            highs[place], lows[place] = high, float(mpmath.mpf(want) - high)
    return highs, lows


def bounds(kind, got, highs, lows):
    """What float_error() is at most; infinite where that alone can tell."""
    with numpy.errstate(invalid="ignore", over="ignore"):
        got = numpy.asarray(got, "f8").reshape(-1)
        mantissas, exponents = numpy.frexp(highs)
        # A power of two may be a rounded number below it.
        exponents -= 1 + (numpy.abs(mantissas) == 0.5)
        exponents = numpy.maximum(exponents, kind.least_exponent)
        errors = numpy.abs((got - highs) - lows)
        found = numpy.ldexp(errors, kind.precision - 1 - exponents) * (1 + 1e-9)
        sizes = numpy.abs(highs)
        # Of less the second term may be too small for f64.
        is_ordinary = (sizes > 1e-280) & (sizes < kind.largest / 2)
        is_ordinary &= numpy.isfinite(found)
    return numpy.where(is_ordinary, found, math.inf)
