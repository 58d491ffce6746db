# ===- op_reference.py - What an op's result is -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The reference of each op: mpmath where the result is finite, C99 elsewhere.

A reference takes scalars (floats or ints) and gives an mpmath number, a float
(for zeros, infinities and NaN), an int, or None where MLIR leaves the result
open (poison, undefined behaviour).
"""

import cmath
import math

import mpmath
import numpy

mpmath.mp.prec = 240

#: f64 and C's rules for zeros, infinities and NaN.
_SPECIAL = {
    "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin,
    "asinh": numpy.arcsinh, "atan": numpy.arctan, "atanh": numpy.arctanh,
    "cbrt": numpy.cbrt, "cos": numpy.cos, "cosh": numpy.cosh, "exp": numpy.exp,
    "exp2": numpy.exp2, "expm1": numpy.expm1, "log": numpy.log,
    "log10": numpy.log10, "log1p": numpy.log1p, "log2": numpy.log2,
    "sin": numpy.sin, "sinh": numpy.sinh, "sqrt": numpy.sqrt, "tan": numpy.tan,
    "tanh": numpy.tanh,
}  # fmt: skip

_EXACT = {
    name: getattr(mpmath, name)
    for name in ("acos acosh asin asinh atan atanh cos cosh exp expm1 log10 log1p "
                 "sin sinh sqrt tan tanh").split()
}  # fmt: skip
_EXACT["log"] = mpmath.ln
_EXACT["log2"] = lambda x: mpmath.log(x, 2)
_EXACT["exp2"] = lambda x: mpmath.mpf(2) ** x
_EXACT["cbrt"] = lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))

#: Beyond it exp and its like overflow or vanish in every type.
_FAR = 2000


def unary(name):
    """The elementary function of that name in C."""

    def reference(x):
        if not math.isfinite(x) or x == 0:
            with numpy.errstate(all="ignore"):
                return float(_SPECIAL[name](numpy.float64(x)))
        if name in ("exp", "exp2", "expm1", "sinh", "cosh") and abs(x) > _FAR:
            with numpy.errstate(all="ignore"):
                return float(_SPECIAL[name](numpy.float64(x)))
        if name == "tanh" and abs(x) > _FAR:
            return math.copysign(1.0, x)
        # sin of 1e300 needs the bits of 1e300 and those of pi below them.
        with mpmath.workprec(240 + 2 * max(0, math.frexp(x)[1])):
            result = _EXACT[name](mpmath.mpf(x))
        return math.nan if isinstance(result, mpmath.mpc) else result

    return reference


def erf(x):
    if math.isnan(x) or x == 0:
        return x
    if abs(x) > 30:
        return math.copysign(1.0, x)
    return mpmath.erf(x)


def erfc(x):
    if math.isnan(x):
        return x
    if abs(x) > 30:
        return 0.0 if x > 0 else 2.0
    return mpmath.erfc(x)


def rsqrt(x):
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0:
        return math.copysign(math.inf, x)
    return 0.0 if math.isinf(x) else 1 / mpmath.sqrt(mpmath.mpf(x))


def powf(x, y):
    """C's pow."""
    special = not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0
    if not special:
        size = abs(mpmath.ln(abs(mpmath.mpf(x))) * mpmath.mpf(y))
        special = size > _FAR
    if special:
        try:
            return math.pow(x, y)
        except OverflowError:
            return -math.inf if x < 0 and y % 2 == 1 else math.inf
        except ValueError:
            if x == 0:  # And y < 0.
                return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
            return math.nan
    if x < 0 and y != int(y):
        return math.nan
    magnitude = mpmath.power(abs(mpmath.mpf(x)), mpmath.mpf(y))
    return -magnitude if x < 0 and int(y) % 2 else magnitude


def powi(x, n):
    """x multiplied by itself: pow(x, n), with n exact."""
    if n == 0:
        return 1.0
    if math.isfinite(x) and x != 0 and abs(x) != 1:
        if abs(mpmath.ln(abs(mpmath.mpf(x)))) * abs(n) < _FAR:
            return mpmath.mpf(x) ** n
        grows = (abs(x) > 1) == (n > 0)
        sign = -1.0 if x < 0 and n % 2 else 1.0
        return sign * (math.inf if grows else 0.0)
    if math.isnan(x):
        return x
    sign = -1.0 if math.copysign(1, x) < 0 and n % 2 else 1.0
    if abs(x) == 1:
        return sign
    return sign * (math.inf if (x == 0) == (n < 0) else 0.0)


def powi_condition(x, n):
    """An exponent beyond 2^53 is rounded to f64: as pow of it is."""
    if abs(n) <= 2**53 or not math.isfinite(x) or abs(x) in (0, 1):
        return 1
    return 1 + abs(n) * abs(float(mpmath.ln(abs(mpmath.mpf(x)))))


def ipowi(bits):
    def reference(x, n):
        if n >= 0:
            return pow(x, n, 1 << bits)
        if x == 0:
            return None
        if abs(x) == 1:
            return x if n % 2 else 1
        return 0

    return reference


def atan2(y, x):
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return math.atan2(y, x)
    return mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))


def arithmetic(operator):
    """+, -, * and / by exact numbers; what is not finite by f64."""

    def reference(*args):
        with numpy.errstate(all="ignore"):
            rounded = operator(*map(numpy.float64, args))
        finite = all(map(math.isfinite, args))
        if not finite or (rounded == 0 and 0 in args) or 0 in args[1:]:
            return float(rounded)
        exact = operator(*map(mpmath.mpf, args))
        # The sign of an exact zero (x - x) is f64's.
        return float(rounded) if exact == 0 else exact

    return reference


def remf(x, y):
    return math.fmod(x, y) if math.isfinite(x) and y != 0 else (
        math.nan)  # fmt: skip


def ordered(better, keeps_nan):
    """Minimum or maximum: of NaN, and of zeros of both signs."""

    def reference(x, y):
        if math.isnan(x) or math.isnan(y):
            if keeps_nan:
                return math.nan
            return y if math.isnan(x) else x
        if x == y == 0:
            if not keeps_nan:
                return None  # Of which sign is open.
            return better((math.copysign(1, x), x), (math.copysign(1, y), y))[1]
        return better(x, y)

    return reference


def compare_floats(predicate):
    test = {
        "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
        "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    }  # fmt: skip

    def reference(x, y):
        unordered = math.isnan(x) or math.isnan(y)
        if predicate in ("ord", "uno"):
            return int(unordered == (predicate == "uno"))
        if predicate in ("true", "false"):
            return int(predicate == "true")
        if unordered:
            return int(predicate[0] == "u")
        return int(test[predicate[1:]](x, y))

    return reference


def rounding(mode):
    def reference(x):
        if not math.isfinite(x) or abs(x) >= 2.0**52:
            return x
        result = {
            "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc,
            "roundeven": round,
            "round": lambda v: math.trunc(v + math.copysign(0.5, v))
            if abs(v) != 0.49999999999999994 else 0,
        }[mode](x)  # fmt: skip
        return math.copysign(float(result), x)

    return reference


def fma(a, b, c):
    with numpy.errstate(all="ignore"):
        rounded = numpy.float64(a) * numpy.float64(b) + numpy.float64(c)
    if not all(map(math.isfinite, (a, b, c))):
        if math.isfinite(a) and math.isfinite(b):
            return c
        return float(rounded)
    exact = mpmath.mpf(a) * mpmath.mpf(b) + mpmath.mpf(c)
    return float(rounded) if exact == 0 else exact


#: Bits behind the point, and of the exponent.
_FORMATS = {"f64": (52, 11), "f32": (23, 8), "f16": (10, 5), "bf16": (7, 8)}


def of_bits(kind):
    """The float that an integer's bits are."""
    digits, exponents = _FORMATS[kind]

    def reference(n):
        n &= (1 << (1 + digits + exponents)) - 1
        sign = -1.0 if n >> (digits + exponents) else 1.0
        exponent = (n >> digits) & ((1 << exponents) - 1)
        fraction = n & ((1 << digits) - 1)
        if exponent == (1 << exponents) - 1:
            return math.nan if fraction else sign * math.inf
        significand = fraction if exponent == 0 else fraction | (1 << digits)
        bias = (1 << (exponents - 1)) - 1
        return sign * math.ldexp(significand, max(exponent, 1) - bias - digits)

    return reference


def bits_of(kind):
    """The signed integer that a float's bits are; the inverse of of_bits."""
    digits, exponents = _FORMATS[kind]

    def reference(x):
        bias, negative = (1 << (exponents - 1)) - 1, math.copysign(1, x) < 0
        x = abs(x)
        if math.isinf(x):
            n = ((1 << exponents) - 1) << digits
        else:
            exponent = max(math.frexp(x)[1] - 1 if x else 0, 1 - bias)
            n = int(math.ldexp(x, digits - exponent))
            # The leading one adds 1 to the exponent that is written.
            n += (exponent + bias - 1) << digits if x else 0
        return n - (1 << (digits + exponents)) if negative else n

    return reference


def truncate_division(x, y):
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _log1p(z):
    # 1 + z keeps all of a z of 1e-153.
    with mpmath.workprec(1500):
        return mpmath.ln(1 + z)


def complex_unary(name):
    """An analytic function of a finite argument whose result is finite."""
    exact = {
        "cos": mpmath.cos, "exp": mpmath.exp, "expm1": mpmath.expm1,
        "log": mpmath.ln, "sin": mpmath.sin, "sqrt": mpmath.sqrt,
        "tan": mpmath.tan, "tanh": mpmath.tanh,
        "log1p": _log1p, "rsqrt": lambda z: 1 / mpmath.sqrt(z),
        "sign": lambda z: z / abs(z) if z else z, "neg": lambda z: -z,
        "conj": mpmath.conj,
    }[name]  # fmt: skip

    def reference(re, im):
        z = mpmath.mpc(re, im)
        if name in ("log", "rsqrt") and z == 0:
            return None
        if name == "log1p" and z == -1:
            return None
        try:
            result = exact(z)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return result

    return reference


def complex_pow(ar, ai, br, bi):
    z, w = mpmath.mpc(ar, ai), mpmath.mpc(br, bi)
    if z == 0 and w != 0 and br <= 0:
        return None  # A pole, or no limit.
    if z == 0:
        return mpmath.mpc(1) if w == 0 else mpmath.mpc(0)
    return mpmath.exp(w * mpmath.ln(z))


def complex_powi(re, im, n):
    """1 for n = 0; a pole at 0 has no value."""
    z = mpmath.mpc(re, im)
    if n == 0:
        return mpmath.mpc(1)
    return None if z == 0 and n < 0 else z**n


def complex_pow_condition(ar, ai, br, bi):
    """exp's argument w log z is rounded: its size is the error's, in radians."""
    z = mpmath.mpc(ar, ai)
    return 1 + float(abs(mpmath.mpc(br, bi) * mpmath.ln(z))) if z else 1


def complex_phase(re, im):
    if re == 0 or im == 0:
        return cmath.phase(complex(re, im))
    return mpmath.atan2(mpmath.mpf(im), mpmath.mpf(re))
