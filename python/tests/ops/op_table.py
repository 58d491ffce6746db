# ===- op_table.py - Every scalar op, with its reference -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""One row for each op of arith, math and complex and each of its variants.

A row says how the op is written, on which values it is tried, what its result
is, and how far a program may be from it. Ops without a row are listed in
WITHOUT_ROW with the reason; a test compares both with what MLIR registers.
"""

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable

import complex_edges
import mpmath
import numpy
import op_reference as ref
import op_values as values

FLOAT_TYPES = tuple(values.FLOATS)
INTEGER_TYPES = tuple(values.INTEGERS)
WIDE_INTEGERS = ("i8", "i16", "i32", "i64")
#: Complex numbers of MLIR's math library functions.
COMPLEX_TYPES = ("f64", "f32")


@dataclasses.dataclass(frozen=True)
class Row:
    """An op with given operand types."""

    op: str
    #: Operand types, result type (of each part for complex results).
    operands: tuple[str, ...]
    result: str
    #: The line(s) that make %r (or %r0 and %r1) of %a, %b, %c.
    text: str
    reference: Callable
    #: Largest error of a program in units of the last place; 0 is exact.
    ulps: float = 0
    #: What tells rows of one op and type apart.
    variant: str = ""
    #: Which operand tuples the op is defined for.
    valid: Callable = lambda *_: True
    #: Whether the operands are the parts of complex numbers.
    is_complex: bool = False
    #: Whether complex operands are zeros of both signs, infinities and NaN.
    at_edges: bool = False
    #: Whether it means the same in f64.
    has_oracle: bool = True
    #: What multiplies `ulps` for given operands: how ill the op is conditioned.
    condition: Callable = lambda *_: 1
    #: Whether the text is an op on tensors, not on their elements.
    is_whole: bool = False
    refused_on_gpu = refused_in_workloads = ""

    @property
    def name(self):
        types = "x".join(dict.fromkeys((*self.operands, self.result)))
        return ".".join(filter(None, (self.op, self.variant, types)))

    def tuples(self):
        """The operand tuples: lists of as many numbers each."""
        kinds = set(self.operands)
        count = len(self.operands)
        if len(kinds) > 1:
            columns = [_singles(kind, i) for i, kind in enumerate(self.operands)]
            rows = list(zip(*columns, strict=True))
        elif values.is_float(self.operands[0]):
            if self.at_edges:
                rows = complex_edges.tuples(count)
            elif self.is_complex:
                rows = complex_tuples(self.operands[0], count)
            elif count == 1:
                rows = [(v,) for v in values.float_singles(self.operands[0])]
            else:
                rows = values.float_tuples(self.operands[0], count)
        else:
            rows = values.integer_tuples(self.operands[0], count)
        good = [row for row in rows if self.valid(*row)]
        return (good * (values.COUNT // max(len(good), 1) + 1))[: values.COUNT]


def _singles(kind, place):
    """Values of one operand where the operands' types differ."""
    if not values.is_float(kind):
        return [value for (value,) in values.integer_tuples(kind, 1)]
    # In another order than the other operand's, so that all meet.
    singles = values.float_singles(kind)
    step = 5 * place + 1
    return [singles[i * step % len(singles)] for i in range(len(singles))]


def complex_tuples(name, count):
    """Finite parts of moderate size, tiny ones, and the axes."""
    kind = values.FLOATS[name]
    tiny = math.sqrt(kind.least_normal) * 16
    parts = [0.0, 1.0, -1.0, 0.5, -2.0, 3.0, tiny, -tiny, 1e-4, -1e-3, 10.0, -7.25]
    # Zeros of cos and sin; where cosh overflows and e^b does not, almost.
    parts += [math.pi / 2, -1.5711366, math.pi, 0.001437, -40.0, 88.0]
    random = numpy.random.default_rng(7)
    rows = list(itertools.product(parts, repeat=min(count, 2)))
    if count == 4:
        order = random.integers(0, len(rows), (values.COUNT, 2))
        rows = [rows[i] + rows[j] for i, j in order]
    rows = [tuple(map(kind.rounded, row)) for row in rows[: values.COUNT - 128]]
    while len(rows) < values.COUNT:
        scale = 10.0 ** random.uniform(-6, 1)
        rows.append(tuple(kind.rounded(random.normal() * scale) for _ in range(count)))
    return rows


ROWS = []


def add(*args, **options):
    ROWS.append(Row(*args, **options))


def _plain(op, count, kind):
    names = ", ".join("%" + name for name in "abc"[:count])
    return f"%r = {op} {names} : {kind}"


# ---------------------------------------------------------------------------
# Floats
# ---------------------------------------------------------------------------

#: Operations that round once: IEEE 754 says the result.
for kind in FLOAT_TYPES:
    for op, function in (
        ("addf", operator.add), ("subf", operator.sub), ("mulf", operator.mul),
        ("divf", operator.truediv),
    ):  # fmt: skip
        add(f"arith.{op}", (kind, kind), kind, _plain(f"arith.{op}", 2, kind),
            ref.arithmetic(function), 0.5)  # fmt: skip
    add("arith.negf", (kind,), kind, _plain("arith.negf", 1, kind), operator.neg)
    add("arith.remf", (kind, kind), kind, _plain("arith.remf", 2, kind), ref.remf)
    for op, better, keeps in (
        ("maximumf", max, True), ("minimumf", min, True),
        ("maxnumf", max, False), ("minnumf", min, False),
    ):  # fmt: skip
        add(f"arith.{op}", (kind, kind), kind, _plain(f"arith.{op}", 2, kind),
            ref.ordered(better, keeps))  # fmt: skip
    for predicate in ("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une "
                      "uno true").split():  # fmt: skip
        add("arith.cmpf", (kind, kind), "i1",
            f"%r = arith.cmpf {predicate}, %a, %b : {kind}",
            ref.compare_floats(predicate), variant=predicate)  # fmt: skip
    add("arith.select", ("i1", kind, kind), kind,
        f"%r = arith.select %a, %b, %c : {kind}", lambda c, x, y: x if c else y)

    for op in ("ceil", "floor", "round", "roundeven", "trunc"):
        add(f"math.{op}", (kind,), kind, _plain(f"math.{op}", 1, kind),
            ref.rounding(op))  # fmt: skip
    add("math.absf", (kind,), kind, _plain("math.absf", 1, kind), abs)
    add("math.copysign", (kind, kind), kind, _plain("math.copysign", 2, kind),
        lambda x, y: x if math.isnan(x) else math.copysign(x, y),
        valid=lambda x, y: not math.isnan(y))  # fmt: skip
    add("math.sqrt", (kind,), kind, _plain("math.sqrt", 1, kind),
        ref.unary("sqrt"), 0.5)  # fmt: skip
    add("math.fma", (kind,) * 3, kind, _plain("math.fma", 3, kind), ref.fma, 0.5)
    add("math.clampf", (kind,) * 3, kind,
        f"%r = math.clampf %a to [%b, %c] : {kind}",
        lambda x, low, high: x if math.isnan(x) else min(max(x, low), high),
        valid=lambda x, low, high: low <= high and not x == low == high == 0)  # fmt: skip
    for op, test in (
        ("isfinite", math.isfinite), ("isinf", math.isinf), ("isnan", math.isnan),
    ):  # fmt: skip
        add(f"math.{op}", (kind,), "i1", _plain(f"math.{op}", 1, kind),
            lambda x, test=test: int(test(x)))  # fmt: skip
    least = values.FLOATS[kind].least_normal
    add("math.isnormal", (kind,), "i1", _plain("math.isnormal", 1, kind),
        lambda x, least=least: int(math.isfinite(x) and abs(x) >= least),
        has_oracle=False)  # fmt: skip

    for op in ("acos acosh asin asinh atan atanh cbrt cos cosh exp exp2 expm1 log "
               "log10 log1p log2 sin sinh tan tanh").split():  # fmt: skip
        add(f"math.{op}", (kind,), kind, _plain(f"math.{op}", 1, kind),
            ref.unary(op), 4)  # fmt: skip
    add("math.erf", (kind,), kind, _plain("math.erf", 1, kind), ref.erf, 4)
    add("math.erfc", (kind,), kind, _plain("math.erfc", 1, kind), ref.erfc, 6)
    add("math.rsqrt", (kind,), kind, _plain("math.rsqrt", 1, kind), ref.rsqrt, 2)
    add("math.powf", (kind, kind), kind, _plain("math.powf", 2, kind), ref.powf, 8)
    for power in (2.0, 3.0, 4.0, -0.0, -1.0, -2.0, 7.0, 65.0, 0.5):
        add("math.powf", (kind,), kind,
            f"%n = arith.constant {power} : {kind}\n"
            f"%r = math.powf %a, %n : {kind}",
            lambda x, power=power: ref.powf(x, power), 4,
            variant=str(power))  # fmt: skip
    add("math.atan2", (kind, kind), kind, _plain("math.atan2", 2, kind),
        ref.atan2, 4)  # fmt: skip
    for place, op in enumerate(("sin", "cos")):
        add("math.sincos", (kind,), kind,
            f"%s, %t = math.sincos %a : {kind}\n"
            f"%first = arith.constant {('true', 'false')[place]}\n"
            f"%r = arith.select %first, %s, %t : {kind}",
            ref.unary(op), 4, variant=op)  # fmt: skip
    for exponent in ("i8", "i16", "i32", "i64"):
        add("math.fpowi", (kind, exponent), kind,
            f"%r = math.fpowi %a, %b : {kind}, {exponent}", ref.powi, 4,
            condition=ref.powi_condition)  # fmt: skip
        for power in (2, 3, -1, 7):
            add("math.fpowi", (kind,), kind,
                f"%n = arith.constant {power} : {exponent}\n"
                f"%r = math.fpowi %a, %n : {kind}, {exponent}",
                lambda x, power=power: ref.powi(x, power), 4,
                variant=f"{power}_{exponent}")  # fmt: skip

# Bits.
for kind, integer in (("f64", "i64"), ("f32", "i32"), ("f16", "i16"), ("bf16", "i16")):
    add("arith.bitcast", (kind,), integer,
        f"%r = arith.bitcast %a : {kind} to {integer}", ref.bits_of(kind),
        valid=lambda x: not math.isnan(x), has_oracle=False)  # fmt: skip
    add("arith.bitcast", (integer,), kind,
        f"%r = arith.bitcast %a : {integer} to {kind}", ref.of_bits(kind),
        has_oracle=False)  # fmt: skip

# Between floats.
for source in FLOAT_TYPES:
    for target in FLOAT_TYPES:
        wide, narrow = values.FLOATS[source], values.FLOATS[target]
        if wide.precision > narrow.precision and {source, target} != {"f16", "bf16"}:
            add("arith.truncf", (source,), target,
                f"%r = arith.truncf %a : {source} to {target}",
                lambda x: mpmath.mpf(x) if math.isfinite(x) and x else x, 0.5)  # fmt: skip
            add("arith.extf", (target,), source,
                f"%r = arith.extf %a : {target} to {source}", lambda x: x)  # fmt: skip

# Between floats and integers.
for kind in FLOAT_TYPES:
    for integer, bits in values.INTEGERS.items():
        add("arith.sitofp", (integer,), kind,
            f"%r = arith.sitofp %a : {integer} to {kind}",
            lambda n, bits=bits: mpmath.mpf(-n if bits == 1 else n) if n else 0.0,
            0.5)  # fmt: skip
        add("arith.uitofp", (integer,), kind,
            f"%r = arith.uitofp %a : {integer} to {kind}",
            lambda n, bits=bits: mpmath.mpf(values.unsigned(n, bits)) if n else 0.0,
            0.5)  # fmt: skip
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        add("arith.fptosi", (kind,), integer,
            f"%r = arith.fptosi %a : {kind} to {integer}",
            lambda x, bits=bits: values.wrap(math.trunc(x), bits),
            valid=lambda x, low=low, high=high:
            math.isfinite(x) and low <= math.trunc(x) <= high)  # fmt: skip
        top = (1 << bits) - 1
        add("arith.fptoui", (kind,), integer,
            f"%r = arith.fptoui %a : {kind} to {integer}",
            lambda x, bits=bits: values.wrap(math.trunc(x), bits),
            valid=lambda x, top=top: math.isfinite(x) and 0 <= math.trunc(x) <= top
            and not (x < 0 or math.copysign(1, x) < 0))  # fmt: skip

# ---------------------------------------------------------------------------
# Integers
# ---------------------------------------------------------------------------

for kind in INTEGER_TYPES:
    bits = values.INTEGERS[kind]
    # Signed i1 is 0 or -1.
    signed = (lambda n: -n) if bits == 1 else (lambda n: n)

    def wrapped(function, bits=bits):
        return lambda *args: values.wrap(function(*args), bits)

    def of_signed(function, bits=bits, signed=signed):
        return lambda *args: values.wrap(function(*map(signed, args)), bits)

    def of_unsigned(function, bits=bits):
        return lambda *args: values.wrap(
            function(*(values.unsigned(arg, bits) for arg in args)), bits)

    def divides(x, y, bits=bits, signed=signed):
        least = -(1 << (bits - 1))
        return signed(y) != 0 and not (signed(x) == least and signed(y) == -1)

    def shifts(x, n, bits=bits):
        return 0 <= values.unsigned(n, bits) < bits

    def two(op, function, valid=lambda *_: True, kind=kind):
        add(f"arith.{op}", (kind, kind), kind, _plain(f"arith.{op}", 2, kind),
            function, valid=valid)  # fmt: skip

    two("addi", wrapped(operator.add))
    two("subi", wrapped(operator.sub))
    two("muli", wrapped(operator.mul))
    two("andi", wrapped(operator.and_))
    two("ori", wrapped(operator.or_))
    two("xori", wrapped(operator.xor))
    two("maxsi", of_signed(max))
    two("minsi", of_signed(min))
    two("maxui", of_unsigned(max))
    two("minui", of_unsigned(min))
    two("divsi", of_signed(ref.truncate_division), divides)
    two("remsi", of_signed(lambda x, y: x - y * ref.truncate_division(x, y)), divides)
    two("floordivsi", of_signed(operator.floordiv), divides)
    two("ceildivsi", of_signed(lambda x, y: -(-x // y)), divides)
    nonzero = lambda x, y: y != 0  # noqa: E731
    two("divui", of_unsigned(operator.floordiv), nonzero)
    two("remui", of_unsigned(operator.mod), nonzero)
    two("ceildivui", of_unsigned(lambda x, y: -(-x // y)), nonzero)
    two("shli", of_unsigned(operator.lshift), shifts)
    two("shrui", of_unsigned(operator.rshift), shifts)
    two("shrsi", wrapped(lambda x, n, signed=signed: signed(x) >> n), shifts)
    for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
        compare = getattr(operator, predicate if len(predicate) == 2 else predicate[1:])
        convert = signed if predicate[0] == "s" else (
            lambda n, bits=bits: values.unsigned(n, bits))
        add("arith.cmpi", (kind, kind), "i1",
            f"%r = arith.cmpi {predicate}, %a, %b : {kind}",
            lambda x, y, compare=compare, convert=convert:
            int(compare(convert(x), convert(y))), variant=predicate)  # fmt: skip
    add("arith.select", ("i1", kind, kind), kind,
        f"%r = arith.select %a, %b, %c : {kind}", lambda c, x, y: x if c else y)
    for part, half in enumerate(("%s", "%t")):
        zero = "false" if bits == 1 else f"0 : {kind}"
        for op, convert in (("mulsi_extended", signed), ("mului_extended", None)):

            def product(x, y, part=part, convert=convert, bits=bits):
                convert = convert or (lambda n: values.unsigned(n, bits))
                return values.wrap((convert(x) * convert(y)) >> (bits * part), bits)

            add(f"arith.{op}", (kind, kind), kind,
                f"%s, %t = arith.{op} %a, %b : {kind}\n%z = arith.constant {zero}\n"
                f"%r = arith.addi {half}, %z : {kind}",
                product, variant=("low", "high")[part])  # fmt: skip
    add("arith.addui_extended", (kind, kind), "i1",
        f"%s, %r = arith.addui_extended %a, %b : {kind}, i1",
        lambda x, y, bits=bits: (values.unsigned(x, bits) + values.unsigned(y, bits))
        >> bits, variant="carry")  # fmt: skip
    add("math.absi", (kind,), kind, _plain("math.absi", 1, kind), of_signed(abs))
    add("math.ctlz", (kind,), kind, _plain("math.ctlz", 1, kind),
        of_unsigned(lambda n, bits=bits: bits - n.bit_length()))  # fmt: skip
    add("math.cttz", (kind,), kind, _plain("math.cttz", 1, kind),
        of_unsigned(lambda n, bits=bits: (n & -n).bit_length() - 1 if n else bits))  # fmt: skip
    add("math.ctpop", (kind,), kind, _plain("math.ctpop", 1, kind),
        of_unsigned(lambda n: bin(n).count("1")))  # fmt: skip
    if bits > 1:
        add("math.ipowi", (kind, kind), kind, _plain("math.ipowi", 2, kind),
            wrapped(lambda x, n, bits=bits: ref.ipowi(bits)(x, n)),
            valid=lambda x, n: n >= 0 or x != 0)  # fmt: skip
    add("arith.index_cast", (kind,), kind,
        f"%i = arith.index_cast %a : {kind} to index\n"
        f"%r = arith.index_cast %i : index to {kind}", lambda n: n)  # fmt: skip
    add("arith.index_castui", (kind,), kind,
        f"%i = arith.index_castui %a : {kind} to index\n"
        f"%r = arith.index_castui %i : index to {kind}", lambda n: n)  # fmt: skip
    for wide, more in values.INTEGERS.items():
        if more > bits:
            add("arith.extsi", (kind,), wide, f"%r = arith.extsi %a : {kind} to {wide}",
                lambda n, signed=signed, more=more: values.wrap(signed(n), more))
            add("arith.extui", (kind,), wide, f"%r = arith.extui %a : {kind} to {wide}",
                lambda n, bits=bits, more=more:
                values.wrap(values.unsigned(n, bits), more))  # fmt: skip
            add("arith.trunci", (wide,), kind,
                f"%r = arith.trunci %a : {wide} to {kind}",
                lambda n, bits=bits: values.wrap(n, bits))  # fmt: skip

# ---------------------------------------------------------------------------
# Complex numbers: two floats in, one float or two out
# ---------------------------------------------------------------------------


def _complex(op, count, kind, results, body, reference, ulps=8, **options):
    make = "".join(
        f"%{z} = complex.create %{re}, %{im} : complex<{kind}>\n"
        for z, re, im in (("z", "a", "b"), ("w", "c", "d"))[:count]
    )
    if results == 2:
        body += (f"\n%r0 = complex.re %q : complex<{kind}>"
                 f"\n%r1 = complex.im %q : complex<{kind}>")
    add(op, (kind,) * (2 * count), "i1" if results == 0 else kind, make + body,
        reference, ulps, is_complex=True, **options)  # fmt: skip


for kind in COMPLEX_TYPES:
    number = f"complex<{kind}>"
    for op in "cos exp expm1 log log1p rsqrt sign sin sqrt tan tanh neg conj".split():
        _complex(f"complex.{op}", 1, kind, 2, f"%q = complex.{op} %z : {number}",
                 ref.complex_unary(op))  # fmt: skip
    for op, function in (("add", operator.add), ("sub", operator.sub),
                         ("mul", operator.mul)):  # fmt: skip
        _complex(f"complex.{op}", 2, kind, 2, f"%q = complex.{op} %z, %w : {number}",
                 lambda a, b, c, d, function=function:
                 function(mpmath.mpc(a, b), mpmath.mpc(c, d)))  # fmt: skip
    _complex("complex.div", 2, kind, 2, f"%q = complex.div %z, %w : {number}",
             lambda a, b, c, d: mpmath.mpc(a, b) / mpmath.mpc(c, d),
             valid=lambda a, b, c, d: c != 0 or d != 0)  # fmt: skip
    _complex("complex.pow", 2, kind, 2, f"%q = complex.pow %z, %w : {number}",
             ref.complex_pow, 8, condition=ref.complex_pow_condition)  # fmt: skip
    _complex("complex.abs", 1, kind, 1, f"%r = complex.abs %z : {number}",
             lambda re, im: mpmath.hypot(re, im), 4)  # fmt: skip
    _complex("complex.angle", 1, kind, 1, f"%r = complex.angle %z : {number}",
             ref.complex_phase, 4)  # fmt: skip
    _complex("complex.re", 1, kind, 1, f"%r = complex.re %z : {number}",
             lambda re, im: re, 0)  # fmt: skip
    _complex("complex.im", 1, kind, 1, f"%r = complex.im %z : {number}",
             lambda re, im: im, 0)  # fmt: skip
    for op, test in (("eq", operator.eq), ("neq", operator.ne)):
        _complex(f"complex.{op}", 2, kind, 0, f"%r = complex.{op} %z, %w : {number}",
                 lambda a, b, c, d, test=test: int(test((a, b), (c, d))), 0)  # fmt: skip
    for op, reference in (
        *complex_edges.FUNCTIONS.items(), ("neg", complex_edges.neg),
        ("conj", complex_edges.conj),
    ):  # fmt: skip
        _complex(f"complex.{op}", 1, kind, 2, f"%q = complex.{op} %z : {number}",
                 reference, variant="edges", at_edges=True)  # fmt: skip
    for op, reference in (
        ("abs", complex_edges.absolute), ("angle", complex_edges.angle),
    ):  # fmt: skip
        _complex(f"complex.{op}", 1, kind, 1, f"%r = complex.{op} %z : {number}",
                 reference, 4, variant="edges", at_edges=True)  # fmt: skip
    for power in ("i32", "i64"):
        _complex("complex.powi", 1, kind, 2,
                 f"%n = arith.constant 3 : {power}\n"
                 f"%q = complex.powi %z, %n : {number}, {power}",
                 lambda re, im: mpmath.mpc(re, im) ** 3, 16,
                 variant=f"3_{power}")  # fmt: skip
    for power in (0, -1, -3, 65, 100, -100):
        _complex("complex.powi", 1, kind, 2,
                 f"%n = arith.constant {power} : i32\n"
                 f"%q = complex.powi %z, %n : {number}, i32",
                 lambda re, im, power=power: ref.complex_powi(re, im, power), 16,
                 variant=str(power), condition=lambda re, im, power=power:
                 ref.complex_pow_condition(re, im, power, 0) if abs(power) > 64 else 1)  # fmt: skip
    # An exponent that is known at run time only: the whole part of another operand.
    _complex("complex.powi", 2, kind, 2,
             f"%n = arith.fptosi %c : {kind} to i32\n"
             f"%q = complex.powi %z, %n : {number}, i32",
             lambda re, im, n, _: ref.complex_powi(re, im, int(n)), 16,
             variant="any", condition=lambda re, im, n, _:
             ref.complex_pow_condition(re, im, int(n), 0))  # fmt: skip

#: Ops without a row, and why.
WITHOUT_ROW = {
    "arith.constant": "in the text of other rows",
    "complex.constant": "never emitted for tensors; complex.create stands for it",
    "complex.create": "in the text of every complex row",
    "complex.atan2": "no front end emits it",
    "complex.bitcast": "a cast between dialects' types, nothing is computed",
    "arith.scaling_extf": "8-bit and smaller floats are refused",
    "arith.scaling_truncf": "8-bit and smaller floats are refused",
}
