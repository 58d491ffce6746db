# ===- test_conditions.py - Conditions against the contract -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The conditions that the compiler derives, against an opinion of their own.

Every verdict rests on them: a kernel owes each element to 8 u κ. For a range of
workloads the program that `--compile-kernel=condition` makes is run, and

* honest programs, with random roundings and in f32, in several orders of sums,
  stay within the bound on all laws of inputs (the bound refuses nobody);
* κ is at least the true condition, the sum of all intermediates times what each
  is worth in the result by automatic differentiation, and at most a small factor
  above (the bound lets nothing through);
* κ is what the table of docs/validation.md says, computed from its text.

With -rP pytest prints what was measured.
"""

import functools

import numpy
import pytest
import torch
from condition_program import ConditionProgram
from definitions import (
    FUNCTIONS,
    LARGEST,
    NARROW,
    SMALLEST,
    UNIT,
    Conditions,
    Definition,
    Exact,
    Honest,
    Ranges,
    Single,
    Traced,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Tensors are small. Tests of other files have the threads that they find."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


#: What second-order terms may add where a value is kept in a narrow type.
SECOND_ORDER = 1.03

DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2"}

# ===----------------------------------------------------------------------===#
# Workloads
# ===----------------------------------------------------------------------===#

WORKLOADS = {}


#: How far κ may be above the true condition: a function's own rounding counts 4
#: times, where the true one counts it once.
NEAR = 4.01


def workload(near=NEAR, laws=("normal", "mean_1000", "positive"), **sizes):
    """A function that adds nodes and returns results; how near κ is to the true
    condition, on these laws."""

    def register(function):
        WORKLOADS[function.__name__] = (function, sizes, near, laws)
        return function

    return register


def build(name, type="f32"):
    function, sizes, _, _ = WORKLOADS[name]
    definition = Definition(name, type, **sizes)
    made = function(definition)
    return definition.result(*(made if isinstance(made, (list, tuple)) else [made]))


@workload(i=48)
def functions(d):
    x = d.operand("i")
    return [d.op(kind, x) for kind in FUNCTIONS]


@workload(i=48)
def arithmetic(d):
    x, y, z = d.operand("i"), d.operand("i"), d.operand("i")
    return [
        d.op("add", x, y),
        d.op("sub", x, y),
        d.op("mul", x, y),
        d.op("div", x, y),
        d.op("fma", x, y, z),
        d.op("pow", d.op("abs", x), y),
        d.op("add", x, 3.0),
        d.op("mul", x, 0.7),
        d.op("div", 1.0, y),
    ]


@workload(i=48)
def moves(d):
    """Exact: the condition is 0."""
    x, y = d.operand("i"), d.operand("i")
    return [
        d.op("max", x, 0.0),
        d.op("min", x, y),
        d.op("neg", x),
        d.op("abs", x),
        d.op("choose", x, y, y, x),
    ]


@workload(i=48)
def choices(d):
    """Choices by what was rounded, and of what was."""
    x, y = d.operand("i"), d.operand("i")
    e = d.op("exp", x)
    return [
        d.op("max", e, y),
        d.op("choose", e, y, x, y),
        d.op("choose", x, 0.0, e, y),
        d.op("min", d.op("mul", x, y), d.op("add", x, y)),
    ]


# To first order a choice has no rounding.
@workload(near=numpy.inf, laws=(), i=48)
def unsure_choices(d):
    """Both sides are nearly equal: rounding decides."""
    x, y = d.operand("i"), d.operand("i")
    s = d.op("sub", d.op("add", x, y), y)
    return [d.op("choose", s, x, 1.0, 2.0), d.op("max", s, x)]


@workload(i=48)
def cancellation(d):
    """x + y - x; exp(x) - 1; log(1 + x); (x y) - (y x)."""
    x, y = d.operand("i"), d.operand("i")
    return [
        d.op("sub", d.op("add", x, y), x),
        d.op("sub", d.op("exp", x), 1.0),
        d.op("log", d.op("add", x, 1.0)),
        d.op("sub", d.op("mul", x, y), d.op("mul", d.op("add", y, 0.0), x)),
    ]


@workload(i=48)
def chains(d):
    x, y = d.operand("i"), d.operand("i")
    sigmoid = d.op("div", 1.0, d.op("add", d.op("exp", d.op("neg", x)), 1.0))
    silu = d.op("mul", x, sigmoid)
    gelu = d.op(
        "mul",
        d.op("mul", x, 0.5),
        d.op("add", d.op("erf", d.op("mul", x, 0.70710678)), 1.0),
    )
    cube = d.op("mul", d.op("mul", x, x), x)
    inner = d.op("mul", d.op("add", x, d.op("mul", cube, 0.044715)), 0.79788456)
    tanh_gelu = d.op(
        "mul", d.op("mul", x, 0.5), d.op("add", d.op("tanh", inner), 1.0)
    )
    softplus = d.op("log1p", d.op("exp", x))
    distance = d.op("sqrt", d.op("add", d.op("mul", x, x), d.op("mul", y, y)))
    return [silu, gelu, tanh_gelu, softplus, distance, d.op("mul", sigmoid, y)]


# Of an argument of 1e6 that is rounded nothing is left to first order.
@workload(i=48, laws=("normal", "positive"))
def cosine_of_products(d):
    x, y = d.operand("i"), d.operand("i")
    return [d.op("cos", d.op("mul", x, y)), d.op("log", d.op("mul", x, x))]


@workload(i=24, k=200)
def row_sum(d):
    return d.reduce("sum", d.operand("ik"), "k")


@workload(i=24, k=24)
def row_product(d):
    x = d.operand("ik")
    return [
        d.reduce("prod", x, "k"),
        d.reduce("prod", d.op("add", d.op("mul", x, 0.125), 1.0), "k"),
    ]


# Partial products may be below the normal numbers, which is not of first order.
@workload(near=numpy.inf, laws=(), i=8, k=200)
def long_row_product(d):
    return d.reduce("prod", d.operand("ik"), "k")


@workload(i=24, k=200)
def row_mean_of_exp(d):
    x = d.operand("ik")
    total = d.reduce("sum", d.op("exp", x), "k")
    return d.op("mul", total, 1 / 200), d.reduce("highest", d.op("exp", x), "k")


@workload(k=300, j=12)
def column_sum_of_squares(d):
    x = d.operand("kj")
    return d.reduce("sum", d.op("mul", x, x), "k")


@workload(i=6, j=8, k=160)
def matmul(d):
    return d.contract(d.operand("ik"), d.operand("kj"), "k")


@workload(i=6, j=8, k=96)
def linear_gelu(d):
    x, w, bias = d.operand("ik"), d.operand("kj"), d.operand("j")
    y = d.op("add", d.contract(x, w, "k"), bias)
    scaled = d.op("erf", d.op("mul", y, 0.70710678))
    return d.op("mul", d.op("mul", y, 0.5), d.op("add", scaled, 1.0))


@workload(i=6, j=8, k=96)
def linear_relu_residual(d):
    x, w, other = d.operand("ik"), d.operand("kj"), d.operand("ij")
    return d.op("add", d.op("max", d.contract(x, w, "k"), 0.0), other)


@workload(i=5, h=40, k=24, j=6)
def two_products(d):
    x, v, w = d.operand("ik"), d.operand("kh"), d.operand("hj")
    return d.contract(d.op("max", d.contract(x, v, "k"), 0.0), w, "h")


@workload(o=3, c=4, h=9, w=8, p=7, q=6, r=3, s=3)
def convolution(d):
    x, f, bias = d.operand("chw"), d.operand("ocrs"), d.operand("o")
    x = d.windows(d.windows(x, "h", "p", "r"), "w", "q", "s")
    y = d.op("add", d.contract(x, f, "crs"), bias)
    return d.op("max", y, 0.0)


@workload(c=4, h=9, w=8, p=7, q=6, r=3, s=3)
def pooling(d):
    x = d.windows(d.windows(d.operand("chw"), "h", "p", "r"), "w", "q", "s")
    weights = d.operand("rs")
    largest = d.reduce("highest", d.op("mul", x, weights), "rs")
    return d.contract(x, weights, "rs"), largest


def softmax_of(d, x, over):
    e = d.op("exp", d.op("sub", x, d.reduce("highest", x, over)))
    return d.op("div", e, d.reduce("sum", e, over))


@workload(i=3, k=32)
def softmax(d):
    return softmax_of(d, d.operand("ik"), "k")


@workload(i=3, k=32)
def log_softmax(d):
    x = d.operand("ik")
    shifted = d.op("sub", x, d.reduce("highest", x, "k"))
    total = d.reduce("sum", d.op("exp", shifted), "k")
    return d.op("sub", shifted, d.op("log", total))


@workload(i=3, k=32)
def layer_norm(d):
    x, scale, bias = d.operand("ik"), d.operand("k"), d.operand("k")
    centered = d.op("sub", x, d.op("mul", d.reduce("sum", x, "k"), 1 / 32))
    square = d.op("mul", centered, centered)
    variance = d.op("mul", d.reduce("sum", square, "k"), 1 / 32)
    factor = d.op("rsqrt", d.op("add", variance, 1e-5))
    y = d.op("mul", centered, factor)
    return d.op("add", d.op("mul", y, scale), bias)


@workload(i=3, k=32)
def rms_norm(d):
    x, scale = d.operand("ik"), d.operand("k")
    mean = d.op("mul", d.reduce("sum", d.op("mul", x, x), "k"), 1 / 32)
    factor = d.op("div", 1.0, d.op("sqrt", d.op("add", mean, 1e-6)))
    return d.op("mul", d.op("mul", x, factor), scale)


@workload(c=4, k=12)
def batch_norm(d):
    x, mean, variance = d.operand("ck"), d.operand("c"), d.operand("c")
    factor = d.op("rsqrt", d.op("add", d.op("abs", variance), 1e-5))
    return d.op("mul", d.op("sub", x, mean), factor)


#: A running analysis does not see that what moves a logit moves numerator and
#: denominator of a probability alike, nor that probabilities add up to 1. More
#: where one of them is all but 1, or values are all but equal.
SOFTMAX_OF_ROUNDED = 8


def attention_of(d, type="f32", mask=False):
    q, k, v = d.operand("ie", type), d.operand("ke", type), d.operand("kj", type)
    logits = d.op("mul", d.contract(q, k, "e"), 0.25)
    if mask:
        logits = d.op("add", logits, d.operand("ik"))
    p = softmax_of(d, logits, "k")
    if type != "f32":
        p = d.keep(p, type)
    y = d.contract(p, v, "k")
    return d.keep(y, type) if type != "f32" else y


@workload(near=SOFTMAX_OF_ROUNDED, laws=("normal",), i=4, k=20, e=16, j=6)
def attention(d):
    return attention_of(d)


@workload(near=SOFTMAX_OF_ROUNDED, laws=("normal",), i=4, k=20, e=16, j=6)
def biased_attention(d):
    return attention_of(d, mask=True)


@workload(laws=("normal", "positive"), i=4, k=20, e=16, j=6)
def half_attention(d):
    return attention_of(d, "f16")


@workload(i=24)
def half_chain(d):
    x, y = d.operand("i", "f16"), d.operand("i", "f16")
    z = d.keep(d.op("mul", x, y), "f16")
    return d.keep(d.op("tanh", z), "f16"), d.keep(d.op("exp", z), "f16")


@workload(i=24)
def brain_chain(d):
    x = d.operand("i", "f32")
    return d.keep(d.op("exp", d.keep(d.op("mul", x, 1.3), "bf16")), "bf16")


@workload(i=3, k=40)
def half_softmax(d):
    return d.keep(softmax_of(d, d.operand("ik", "f16"), "k"), "f16")


# ===----------------------------------------------------------------------===#
# Laws of inputs
# ===----------------------------------------------------------------------===#


def spread(g, shape, low, high):
    """Magnitudes uniform in the exponent, both signs."""
    sign = g.choice([-1.0, 1.0], shape)
    return sign * 2.0 ** g.uniform(low, high, shape)


def with_few(g, shape, count):
    """Few nonzero elements along the last dimension, with full significands."""
    values = g.choice([-1.0, 1.0], shape) * g.uniform(0.5, 2, shape)
    keep = numpy.argsort(g.random(shape), -1) < count
    return numpy.where(keep, values, 0)


def spiked(g, shape):
    values = g.standard_normal(shape)
    values.flat[g.integers(values.size)] = 1e4
    return values


def alternating(g, shape):
    size = g.uniform(0.5, 2, shape)
    return size * numpy.resize([1.0, -1.0], shape)


EDGES = [0.0, -0.0, 1.0, -1.0, 1 + 2**-23, 1 - 2**-24, SMALLEST, LARGEST, -LARGEST]

#: Of these laws a kernel may take operands for zero, or overflow by a rounding.
AT_THE_EDGE = {"near_zero", "denormals", "extremes", "log_uniform"}

LAWS = {
    "normal": lambda g, s: g.standard_normal(s),
    "shifted": lambda g, s: g.normal(5, 1, s),
    "scaled": lambda g, s: 10 * g.standard_normal(s),
    "pareto": lambda g, s: 0.01 * g.pareto(1.5, s) * g.choice([-1, 1], s),
    "spike": spiked,
    "mean_1000": lambda g, s: g.normal(1000, 0.1, s),
    "mixed": lambda g, s: spread(g, (*s[:-1], 1), -40, 40) * g.standard_normal(s),
    "alternating": alternating,
    "positive": lambda g, s: g.uniform(0.05, 3, s),
    "near_one": lambda g, s: 1 + spread(g, s, -23, -2),
    "near_zero": lambda g, s: g.choice([0, 1], s) * spread(g, s, -149, -100),
    "logits_80": lambda g, s: g.uniform(-80, 80, s),
    "one_hot": lambda g, s: with_few(g, s, 1),
    "few_nonzero": lambda g, s: with_few(g, s, 3),
    "bands": lambda g, s: spread(g, s, -12, 12),
    "log_uniform": lambda g, s: spread(g, s, -149, 127.9),
    "log_uniform_half": lambda g, s: spread(g, s, -62, 62),
    "extremes": lambda g, s: g.choice(EDGES, s),
    "denormals": lambda g, s: spread(g, s, -149, -126),
}


def draw(definition, law, seed):
    g = numpy.random.default_rng([seed, list(LAWS).index(law)])
    arrays = []
    for node in definition.operands:
        values = LAWS[law](g, tuple(definition.sizes[dim] for dim in node.indices))
        if node.type == "f16":
            most = 65504 if law in AT_THE_EDGE else 16000
            values = numpy.clip(values, -most, most)
        arrays.append(values.astype(DTYPES[node.type]))
    return arrays


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    @functools.cache
    def make(name, type="f32"):
        folder = tmp_path_factory.mktemp(name)
        return ConditionProgram(build(name, type), folder)

    return make


# ===----------------------------------------------------------------------===#
# Tests
# ===----------------------------------------------------------------------===#


def largest_of(node):
    return NARROW[node.type][2] if node.type in NARROW else LARGEST


def share(got, want, condition, node):
    """The largest error as a share of its bound, """
    # What is not finite, or beyond its type, is judged by other rules.
    judged = torch.isfinite(want) & (want.abs() <= largest_of(node))
    judged &= torch.isfinite(condition)
    if not judged.any():
        return 0.0
    # Below the smallest normal number a result may be zero.
    bound = 8 * UNIT * condition[judged] + (0 if node.type == "f16" else SMALLEST)
    error = (got - want)[judged].abs()
    # An infinity for what is all but the largest number.
    near = want[judged].abs() + bound > largest_of(node)
    error = torch.where(near & torch.isinf(got[judged]), 0.0, error)
    error = torch.where(torch.isnan(error), numpy.inf, error)
    return torch.where(error == 0, 0.0, error / bound).max().item()


@pytest.mark.parametrize("name", WORKLOADS)
def test_honest_programs_stay_within_the_bound(name, program):
    made = program(name)
    definition = made.definition
    worst = (0.0, "")
    for law in LAWS:
        for seed in range(2):
            arrays = draw(definition, law, seed)
            wanted = definition.evaluate(Exact(), arrays)
            conditions = made(arrays)
            honest = [
                Honest(4 * seed + i, order, split=i % 2 == 0, flush=i // 2 == seed)
                for i, order in enumerate(Honest.ORDERS)
            ]
            honest += [Single(0, "sequential"), Single(0, "split")]
            for kernel in honest:
                results = definition.evaluate(kernel, arrays)
                for i, (got, want, condition, node) in enumerate(
                    zip(results, wanted, conditions, definition.results, strict=True)
                ):
                    part = share(got, want, condition, node)
                    what = f"{law}, {type(kernel).__name__} {kernel.order}"
                    what += f", result {i} ({node.kind})"
                    worst = max(worst, (part, what))
    print(f"{name}: {worst[0]:.2f} of the bound ({worst[1]})")
    assert worst[0] <= 1, worst


def test_signs_that_rounding_decides(tmp_path):
    """Products of operands that are kept in bf16 cancel: where the exact result is
    zero behind an exp that is infinite, an honest one may be large."""
    d = Definition("linear_silu", "f32", i=6, j=8, k=96)
    y = d.contract(d.keep(d.operand("ik"), "bf16"), d.operand("kj"), "k")
    grown = d.op("add", d.op("exp", d.op("neg", y)), 1.0)
    d.result(d.op("div", y, grown), d.op("mul", y, d.op("div", 1.0, grown)))
    made = ConditionProgram(d, tmp_path)
    g = numpy.random.default_rng(3)
    half = g.uniform(1, 2, (6, 48)) * 10.0 ** numpy.arange(-5, 25, 5)[:, None]
    rest = -half * (1 + g.uniform(0, 2.0**-12, half.shape))
    arrays = [numpy.concatenate([half, rest], 1).astype("f4"), numpy.ones((96, 8), "f4")]
    wanted = d.evaluate(Exact(), arrays)
    conditions = made(arrays)
    for seed, order in enumerate(Honest.ORDERS):
        results = d.evaluate(Honest(seed, order), arrays)
        for got, want, condition, node in zip(
            results, wanted, conditions, d.results, strict=True
        ):
            assert share(got, want, condition, node) <= 1, order
            assert torch.isfinite(condition[:2]).all()


def test_exponents_that_rounding_moves_far(tmp_path):
    """Sums of large terms are -80 exactly, and anything from -200 to 40 when they are
    rounded: what divides by 1 + exp(-sum) may be off by many orders of magnitude."""
    d = Definition("sum_silu", "f32", i=8, j=4, k=96)
    y = d.contract(d.operand("ik"), d.operand("kj"), "k")
    d.result(d.op("div", y, d.op("add", d.op("exp", d.op("neg", y)), 1.0)))
    made = ConditionProgram(d, tmp_path)
    g = numpy.random.default_rng(5)
    half = g.uniform(1, 2, (8, 47)) * 10.0 ** numpy.arange(2, 10)[:, None]
    half = half.astype("f4")
    left = numpy.concatenate([half, numpy.full((8, 2), -40, "f4"), -half[:, ::-1]], 1)
    arrays = [left, numpy.ones((96, 4), "f4")]
    (wanted,), (conditions,) = d.evaluate(Exact(), arrays), made(arrays)
    for seed, order in enumerate(Honest.ORDERS):
        (got,) = d.evaluate(Honest(seed, order), arrays)
        assert share(got, wanted, conditions, d.results[0]) <= 1, order
    assert torch.isfinite(conditions[:3]).all()


@pytest.mark.parametrize("name", WORKLOADS)
def test_conditions_are_near_the_true_ones(name, program):
    definition, (_, _, near, laws) = program(name).definition, WORKLOADS[name]
    highest = lowest = 1.0
    for law in laws:
        arrays = draw(definition, law, 7)
        trace = Traced()
        true = trace.conditions(definition.evaluate(trace, arrays))
        made = program(name)(arrays)
        for node, want, got in zip(definition.results, true, made, strict=True):
            known = torch.isfinite(want) & torch.isfinite(got)
            want, got = want[known], got[known]
            assert (got[want == 0] <= 2.0**-60).all(), f"{node.kind} is exact"
            ratio = (got / want)[want > 2.0**-60]
            if len(ratio):
                highest = max(highest, ratio.max().item())
                lowest = min(lowest, ratio.min().item())
    print(f"{name}: {lowest:.2f} to {highest:.2f} times the true condition")
    assert lowest >= 1 - 1e-6
    assert highest <= near


@pytest.mark.parametrize("name", WORKLOADS)
def test_conditions_are_those_of_the_contract(name, program):
    definition = program(name).definition
    for law in ("normal", "positive"):
        arrays = draw(definition, law, 11)
        made = program(name)(arrays)
        low, high = (definition.evaluate(Conditions(w), arrays) for w in (2, 4))
        for node, got, least, most in zip(
            definition.results, made, low, high, strict=True
        ):
            # Beyond first order, and of what is flushed, the table has no number.
            known = torch.isfinite(got) & torch.isfinite(most)
            got, least, most = got[known], least[known], most[known]
            few, many = got / least.clamp(2.0**-80), got / most.clamp(2.0**-80)
            what = f"{law}, {node.kind}: {few.min():.3f} {many.max():.3f}"
            assert (few[least > 2.0**-70] >= 1 - 1e-6).all(), what
            assert (many <= SECOND_ORDER).all(), what


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_stays_in_range_is_judged(name, program):
    """Masked is only what may be infinite, or NaN, in an honest kernel."""
    definition = program(name).definition
    for law in set(LAWS) - AT_THE_EDGE:
        arrays = draw(definition, law, 3)
        made = program(name)(arrays)
        beyond = definition.evaluate(Ranges(), arrays)
        for node, got, free in zip(definition.results, made, beyond, strict=True):
            lost = ~torch.isfinite(got) & ~free
            assert not lost.any(), (law, node.kind, lost.sum())


def test_functions_of_zero_are_judged(program):
    """A square root by x * rsqrt(x) is NaN at 0, where the slope is infinite."""
    definition = program("functions").definition
    zero = numpy.zeros(48, "f4")
    (exact,) = [definition.evaluate(Exact(), [zero])]
    for kind, want, got in zip(
        FUNCTIONS, exact, program("functions")([zero]), strict=True
    ):
        if torch.isfinite(want).all():
            assert (8 * UNIT * got <= 2.0**-19).all(), kind


@pytest.mark.parametrize("name", ["functions", "arithmetic", "softmax", "matmul"])
def test_conditions_in_f64_are_the_same(name, program):
    """A condition does not depend on the round-off, to first order."""
    single, double = program(name), program(name, "f64")
    arrays = draw(single.definition, "normal", 5)
    for got, want in zip(
        double([x.astype("f8") for x in arrays]), single(arrays), strict=True
    ):
        known = torch.isfinite(want)
        assert torch.allclose(got[known], want[known], rtol=2e-2, atol=1e-20)
