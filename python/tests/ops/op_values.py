# ===- op_values.py - The values that ops are tested on -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Edge values of each element type, and random ones between them.

Floats are numpy arrays of f64 whose values the type holds exactly; integers are
arrays of i64. The random ones come from a fixed seed.
"""

import dataclasses
import functools
import itertools
import math

import numpy

#: As many of each set, so that all are operands of one function.
COUNT = 768


@dataclasses.dataclass(frozen=True)
class FloatType:
    """A binary format: significant bits, and the exponents of its normals."""

    name: str
    precision: int
    least_exponent: int
    largest_exponent: int

    @property
    def largest(self):
        return math.ldexp(2 - math.ldexp(1, 1 - self.precision), self.largest_exponent)

    @property
    def least_normal(self):
        return math.ldexp(1, self.least_exponent)

    @property
    def least_denormal(self):
        return math.ldexp(1, self.least_exponent - self.precision + 1)

    def ulp(self, value):
        """The distance of neighbours where `value` lies, denormals included."""
        exponent = self.least_exponent
        if value:
            exponent = max(math.frexp(abs(value))[1] - 1, exponent)
        return math.ldexp(1, exponent - self.precision + 1)

    def rounded(self, value):
        """The nearest number of the type, ties to even; infinite beyond it."""
        if value == 0 or not math.isfinite(value):
            return value
        ulp = self.ulp(value)
        if ulp == 0:  # f64's own denormals: nothing to round.
            return value
        units = value / ulp
        nearest = float(round(units)) * ulp if abs(units) < 2**53 else value
        if abs(nearest) > self.largest:
            return math.copysign(math.inf, value)
        return math.copysign(nearest, value)


FLOATS = {
    "f64": FloatType("f64", 53, -1022, 1023),
    "f32": FloatType("f32", 24, -126, 127),
    "f16": FloatType("f16", 11, -14, 15),
    "bf16": FloatType("bf16", 8, -126, 127),
}

#: Bits of each integer type.
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def is_float(name):
    return name in FLOATS


def wrap(value, bits):
    """`value` modulo 2^bits as a signed number; i1 is 0 or 1."""
    value &= (1 << bits) - 1
    if bits > 1 and value >> (bits - 1):
        value -= 1 << bits
    return value


def unsigned(value, bits):
    return value & ((1 << bits) - 1)


def _filled(values, count, draw):
    values = list(values)[:count]
    return values + [draw() for _ in range(count - len(values))]


def _float_edges(kind):
    """Where functions change: ends of the type, of exp, of argument reduction."""
    yield from (0.0, -0.0, math.inf, -math.inf, math.nan)
    positive = [
        kind.least_denormal,
        3 * kind.least_denormal,
        kind.least_normal / 2,
        kind.least_normal - kind.least_denormal,
        kind.least_normal,
        kind.least_normal + kind.least_denormal,
        kind.largest,
        kind.largest / 2,
        math.sqrt(kind.largest),
        math.sqrt(kind.least_normal),
    ]
    one = math.ldexp(1, 1 - kind.precision)
    # Its root is all but the middle of two numbers.
    positive += [4 - 2 * one]
    positive += [1, 1 + one, 1 - one / 2, 1 + 8 * one, 1 - 4 * one, 1.25, 0.75]
    positive += [one, one / 2, math.sqrt(one), 2 * math.sqrt(one)]
    # Halves and neighbours of integers: every way of rounding.
    positive += [0.5, 1.5, 2.5, 3.5, 0.5 - one / 4, 2, 3, 7, 100, 255.5, 256.5]
    positive += [math.ldexp(1, kind.precision + step) for step in (-2, -1, 0, 1)]
    positive += [math.ldexp(1, kind.precision - 1) - 0.5]
    # exp, exp2, sinh and erfc overflow and vanish.
    for limit in (kind.largest, kind.least_normal, kind.least_denormal):
        for log in (math.log, math.log2):
            end = abs(log(limit))
            positive += [end * scale for scale in (0.5, 0.999, 1, 1.001, 1.02)]
            positive += [math.sqrt(end)]
    # Argument reduction of sin, cos and tan.
    for turns in (0.25, 0.5, 1, 1.5, 2, 3, 11, 355 / 2, 5215, 1e6):
        positive += [turns * math.pi]
    positive += [10.0**power for power in range(-30, 31, 3)]
    positive += [8191, 1e3, 1e4, 1e5, 22050.5, 103993, 1e8 + 1]
    for value in positive:
        yield value
        yield -value


@functools.cache
def float_singles(name):
    kind = FLOATS[name]
    random = numpy.random.default_rng(1)

    def draw():
        if random.random() < 0.5:
            return random.normal() * 4
        exponent = random.uniform(kind.least_exponent - 4, kind.largest_exponent)
        return math.copysign(2.0**exponent, random.normal())

    seen = dict.fromkeys(
        (rounded, math.copysign(1, rounded))
        for rounded in map(kind.rounded, _float_edges(kind))
        if not math.isnan(rounded)
    )
    values = [math.nan, *(value for value, _ in seen)]
    assert len(values) < COUNT - 100, len(values)
    return [kind.rounded(v) for v in _filled(values, COUNT, draw)]


def _few(name):
    """Few enough that each meets each."""
    kind = FLOATS[name]
    one = math.ldexp(1, 1 - kind.precision)
    some = [0.0, kind.least_denormal, kind.least_normal, 0.5, 1, 1 + one, 1.5, 2, 3]
    some += [kind.largest, math.inf]
    return [math.nan] + [sign * value for value in some for sign in (1.0, -1.0)]


@functools.cache
def float_tuples(name, count):
    """Tuples of edge values, and random ones of like magnitude."""
    kind = FLOATS[name]
    random = numpy.random.default_rng(count)
    few = _few(name)
    if count == 3:
        one = math.ldexp(1, 1 - kind.precision)
        few = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 1 + one, -3.0, 0.5]

    def draw():
        scale = 2.0 ** random.uniform(-8, 8)
        return tuple(kind.rounded(random.normal() * scale) for _ in range(count))

    tuples = list(itertools.product(few, repeat=count))
    if len(tuples) > COUNT - 100:
        order = random.permutation(len(tuples))[: COUNT - 100]
        tuples = [tuples[i] for i in order]
    return _filled(tuples, COUNT, draw)


def _integer_edges(bits):
    if bits == 1:
        return [0, 1]
    least, largest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    near = [0, 1, -1, 2, -2, 3, -3, 5, -7, 10, largest, largest - 1, least, least + 1]
    near += [largest // 2, least // 2, 0x55 & largest, 1 << (bits // 2)]
    return near


@functools.cache
def integer_tuples(name, count):
    bits = INTEGERS[name]
    random = numpy.random.default_rng(bits * 8 + count)

    def draw():
        def one():
            # Of every magnitude.
            width = int(random.integers(1, bits + 1))
            return wrap(int(random.integers(0, 2**63)) << 1 >> (64 - width), bits)

        return tuple(wrap(one() * (-1) ** int(random.integers(2)), bits)
                     for _ in range(count))

    tuples = list(itertools.product(_integer_edges(bits), repeat=count))
    return _filled(tuples, COUNT, draw)
