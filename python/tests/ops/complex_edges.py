# ===- complex_edges.py - Complex functions at zeros and infinities -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What complex functions are where a part is a signed zero, infinite or NaN.

C99's Annex G says so for C's functions, and Python's cmath follows it; where
cmath raises an error instead, numpy's are taken.
"""

import cmath
import itertools
import math

import numpy

PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, math.inf, -math.inf, math.nan)


def tuples(count):
    """Each part with each; of pairs of numbers as many as tell them apart."""
    singles = list(itertools.product(PARTS, repeat=2))
    if count == 2:
        return singles
    random = numpy.random.default_rng(11)
    order = random.integers(0, len(singles), (640, 2))
    return [singles[i] + singles[j] for i, j in order]


def _of_cmath(name):
    def reference(re, im):
        z = complex(re, im)
        length, angle = (re, im) if name == "tanh" else (im, re)
        if name in ("tan", "tanh") and length == 0 and not math.isfinite(angle):
            return None  # One part is 0, or NaN as C99 once had it (DR 471).
        try:
            return getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            with numpy.errstate(all="ignore"):
                return complex(getattr(numpy, name)(numpy.complex128(z)))

    return reference


sqrt = _of_cmath("sqrt")
FUNCTIONS = {name: _of_cmath(name) for name in "exp sqrt log sin cos tan tanh".split()}


#: The part that is an angle.
_ANGLES = {"exp": 1, "tanh": 1, "sin": 0, "cos": 0, "tan": 0}


def has_signs(op, re, im):
    """Whether C says the signs: not of the sine of an infinite angle."""
    angle = _ANGLES.get(op.partition(".")[2])
    return angle is None or math.isfinite((re, im)[angle])


def conj(re, im):
    return complex(re, -im)


def neg(re, im):
    return complex(-re, -im)


def absolute(re, im):
    return math.hypot(re, im)


def angle(re, im):
    return math.atan2(im, re)
