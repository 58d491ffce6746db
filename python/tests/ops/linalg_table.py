# ===- linalg_table.py - Structured ops, with their references -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Rows of linalg's contractions, convolutions and poolings.

The name of a convolution says its layout, so the reference reads it: a sum over
windows by numpy's einsum.
"""

import math
import re

import numpy
from structured_rows import (
    COMPLEX, Operand, StructuredRow, Want, exact_type, sum_limit, tensor_type,
    unsigned,
)  # fmt: skip
import op_values as values

ROWS = []

FLOATS = tuple(values.FLOATS)
INTEGERS = tuple(values.INTEGERS)
#: Operands' types with the result's.
UNIFORM = tuple((kind, kind) for kind in (*FLOATS, *INTEGERS, *COMPLEX))
#: What torch-mlir emits beside: sums in a wider type.
MIXED = (("f16", "f32"), ("bf16", "f32"), ("i8", "i32"))


def add(*args, **options):
    ROWS.append(StructuredRow(*args, **options))


def is_integer(kind):
    return kind in values.INTEGERS


def constant(kind, number):
    """A line that makes %first, in each type its way to write a number."""
    if kind in COMPLEX:
        part = COMPLEX[kind]
        return (f"%first = complex.constant [{float(number)!r} : {part}, 0.0 : {part}] "
                f": {kind}")  # fmt: skip
    if kind == "i1":
        return f"%first = arith.constant {'true' if number else 'false'}"
    if is_integer(kind):
        return f"%first = arith.constant {int(number)} : {kind}"
    if math.isfinite(number):
        return f"%first = arith.constant {float(number)!r} : {kind}"
    digits = {"f64": 16, "f32": 8, "f16": 4, "bf16": 4}[kind]
    if math.isnan(number):
        start = {"f64": "7FF8", "f32": "7FC", "f16": "7E", "bf16": "7FC"}[kind]
    else:
        start = "F" if number < 0 else "7"
        start += {"f64": "FF", "f32": "F8", "f16": "C", "bf16": "F8"}[kind]
    return f"%first = arith.constant 0x{start.ljust(digits, '0')} : {kind}"


def init_of(kind, shape, number):
    """Lines that make %init of one number."""
    type = tensor_type(shape, kind)
    return (f"{constant(kind, number)}\n%empty = tensor.empty() : {type}\n"
            f"%init = linalg.fill ins(%first : {kind}) outs(%empty : {type}) "
            f"-> {type}")  # fmt: skip


# ---------------------------------------------------------------------------
# Sums of products
# ---------------------------------------------------------------------------


def _is_denormal(array):
    """Of f32 and bf16, which may be 0."""
    return (array != 0) & (abs(array) < values.FLOATS["f32"].least_normal)


def product_sum(spec, kind):
    """einsum in the result's type, onto the last operand; its scale."""

    def reference(x, y, init):
        if kind == "i1":  # Products are `and`, sums are `or`.
            return (numpy.einsum(spec, x, y) + init > 0).astype("i8")
        x, y = x.astype(exact_type(kind)), y.astype(exact_type(kind))
        total = numpy.einsum(spec, x, y) + init
        if is_integer(kind):
            return total
        scale = numpy.einsum(spec, abs(x), abs(y)) + abs(init)
        tiny, endless = ([test(v).astype("i8") for v in (x, y)]
                         for test in (_is_denormal, numpy.isinf))  # fmt: skip
        is_open = (numpy.einsum(spec, tiny[0], endless[1])
                   + numpy.einsum(spec, endless[0], tiny[1])) > 0  # fmt: skip
        return Want(total, scale, is_open=is_open)

    return reference


def contraction(op, kinds, spec, extents, attributes="", change=None, variant=""):
    """A row of an op that sums products; `change` makes what `spec` is said of."""
    kind, result = kinds
    (left, right), out = spec.split("->")[0].split(","), spec.split("->")[1]
    shapes = [tuple(extents[letter] for letter in part) for part in (left, right, out)]
    summed = math.prod(extents[c] for c in {*left, *right} - {*out})
    draw = "terms"
    arguments = [Operand(shapes[0], kind, draw, 1), Operand(shapes[1], kind, draw, 2)]
    reference = product_sum(spec, result)
    # Both ways that front ends take: sums from 0, and onto a bias.
    from_zero = kind in ("f32", "f16", "i8", "complex<f32>")
    lines, init = "", "%c"
    if from_zero:
        lines, init = init_of(result, shapes[2], 0) + "\n", "%init"
        zero = numpy.zeros(shapes[2], exact_type(result))
        given, reference = reference, lambda x, y: given(x, y, zero)
    else:
        arguments.append(Operand(shapes[2], result, draw, 3))
    types = ", ".join(operand.type for operand in arguments[:2])
    out = tensor_type(shapes[2], result)
    lines += f"%r = {op}{attributes} ins(%a, %b : {types}) outs({init} : {out}) -> {out}"
    add(op, tuple(arguments), shapes[2], result, lines, reference,
        0 if is_integer(result) else sum_limit(summed, result),
        variant=variant)  # fmt: skip


def with_zero_points(op, arguments, shape, spec, attributes="", spread=lambda x: x):
    """A row of an op that sums (x - 3) (y + 5), of i8 in i32."""
    total = product_sum(spec, "i32")

    def reference(x, y):
        return total(spread(x) - 3, y + 5, numpy.zeros(shape, "i8"))

    types = ", ".join(operand.type for operand in arguments)
    type = tensor_type(shape, "i32")
    add(op, tuple(arguments), shape, "i32",
        "%zx = arith.constant 3 : i32\n%zy = arith.constant -5 : i32\n"
        f"{init_of('i32', shape, 0)}\n"
        f"%r = {op}{attributes} ins(%a, %b, %zx, %zy : {types}, i32, i32) "
        f"outs(%init : {type}) -> {type}", reference)  # fmt: skip


EXTENTS = dict(b=2, m=5, k=19, n=18, M=2, K=3, N=2)
PRODUCTS = {
    "linalg.matmul": "mk,kn->mn",
    "linalg.batch_matmul": "bmk,bkn->bmn",
    "linalg.batch_reduce_matmul": "bmk,bkn->mn",
    "linalg.matvec": "mk,k->m",
    "linalg.vecmat": "k,kn->n",
    "linalg.batch_matvec": "bmk,bk->bm",
    "linalg.batch_vecmat": "bk,bkn->bn",
    "linalg.dot": "k,k->",
    "linalg.mmt4d": "MKmk,NKnk->MNmn",
    "linalg.batch_mmt4d": "bMKmk,bNKnk->bMNmn",
}


def affine_maps(spec):
    inputs, out = spec.split("->")
    names = ", ".join(dict.fromkeys(out + inputs.replace(",", "")))
    return ", ".join(
        f"affine_map<({names}) -> ({', '.join(part)})>"
        for part in spec.replace("->", ",").split(",")
    )


for kinds in UNIFORM + MIXED:
    for op, spec in PRODUCTS.items():
        contraction(op, kinds, spec, EXTENTS)
    # Other operands' orders, as attributes and as linalg.contract.
    for order in ("km,kn->mn", "mk,nk->mn"):
        contraction("linalg.matmul", kinds, order, EXTENTS, variant=order[:5],
                    attributes=f" indexing_maps = [{affine_maps(order)}]")  # fmt: skip
    order = "mKk,nkK->mn"
    contraction("linalg.contract", kinds, order, EXTENTS,
                attributes=f" indexing_maps = [{affine_maps(order)}]")  # fmt: skip
    # More than a tile of each.
    contraction("linalg.matmul", kinds, "mk,kn->mn", dict(m=33, k=70, n=65),
                variant="large")  # fmt: skip


for op, spec in (
    ("linalg.quantized_matmul", "mk,kn->mn"),
    ("linalg.quantized_batch_matmul", "bmk,bkn->bmn"),
):
    shapes = [tuple(EXTENTS[letter] for letter in part)
              for part in spec.replace("->", ",").split(",")]  # fmt: skip
    with_zero_points(op, [Operand(shape, "i8", "terms", seed)
                          for seed, shape in enumerate(shapes[:2])], shapes[2], spec)  # fmt: skip

# ---------------------------------------------------------------------------
# Windows
# ---------------------------------------------------------------------------

SPATIAL = "dhw"
OUT = dict(d=2, h=3, w=5)
WINDOW = dict(d=2, h=2, w=3)
STRIDES = dict(d=1, h=1, w=2)
DILATIONS = dict(d=1, h=2, w=1)
CHANNELS = dict(n=2, c=3, g=2, f=4, m=2)


class Windows:
    """Where the windows of an input lie."""

    def __init__(self, layout, is_strided):
        self.layout = layout
        self.dims = [letter for letter in layout if letter in SPATIAL]
        alone = len(self.dims) == 1
        self.strides = [STRIDES[d] if is_strided else 1 for d in self.dims]
        self.dilations = [
            (2 if alone else DILATIONS[d]) if is_strided else 1 for d in self.dims
        ]
        self.extents = dict(CHANNELS)
        for dim, stride, dilation in zip(
            self.dims, self.strides, self.dilations, strict=True
        ):
            # With strides, one element at the end that no window has.
            self.extents[dim] = ((OUT[dim] - 1) * stride
                                 + (WINDOW[dim] - 1) * dilation + 1
                                 + is_strided)  # fmt: skip
        self.shape = tuple(self.extents[letter] for letter in layout)
        #: The layout of `of`: where the window lies, and the place in it.
        self.spread = "".join(
            letter.upper() + letter if letter in SPATIAL else letter
            for letter in layout
        )

    def of(self, array):
        for dim, stride, dilation in zip(
            self.dims, self.strides, self.dilations, strict=True
        ):
            axis = self.spread.index(dim.upper())
            starts = numpy.arange(OUT[dim]) * stride
            steps = numpy.arange(WINDOW[dim]) * dilation
            array = array.take(starts[:, None] + steps, axis=axis)
        return array

    def attributes(self):
        rank = len(self.dims)
        return (f" {{dilations = dense<{self.dilations}> : tensor<{rank}xi64>, "
                f"strides = dense<{self.strides}> : tensor<{rank}xi64>}}")  # fmt: skip


def extent(letter):
    if letter.lower() in SPATIAL:
        return OUT[letter.lower()] if letter.isupper() else WINDOW[letter]
    return CHANNELS[letter]


CONVOLUTIONS = """
conv_1d conv_2d conv_3d conv_1d_nwc_wcf conv_1d_ncw_fcw conv_2d_nhwc_hwcf
conv_2d_nhwc_fhwc conv_2d_nchw_fchw conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw
conv_2d_nhwgc_gfhwc conv_3d_ndhwc_dhwcf conv_3d_ncdhw_fcdhw
depthwise_conv_1d_nwc_wc depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wcm
depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwcm
depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ncdhw_cdhw
depthwise_conv_3d_ndhwc_dhwcm
conv_2d_nhwc_hwcf_q conv_2d_nhwc_fhwc_q conv_2d_nchw_fchw_q conv_2d_nhwgc_gfhwc_q
conv_2d_ngchw_gfchw_q conv_3d_ndhwc_dhwcf_q depthwise_conv_2d_nhwc_hwc_q
depthwise_conv_2d_nhwc_hwcm_q
""".split()


def convolution(name, kinds):
    kind, result = kinds
    rank, layouts, quantized = re.fullmatch(
        r"(?:depthwise_)?conv_(\d)d((?:_[a-z]{2,})*)(_q)?", name
    ).groups()
    input, filter = layouts[1:].split("_") if layouts else [SPATIAL[3 - int(rank):]] * 2
    windows = Windows(input, bool(layouts))
    attributes = windows.attributes() if layouts else ""
    if name.startswith("depthwise"):
        out = input + ("m" if "m" in filter else "")
    else:
        out = input.replace("c", "f")
    out = "".join(c.upper() if c in SPATIAL else c for c in out)
    shapes = [tuple(map(extent, part)) for part in (filter, out)]
    arguments = [Operand(windows.shape, kind, "terms", 1),
                 Operand(shapes[0], kind, "terms", 2)]  # fmt: skip
    spec = f"{windows.spread},{filter}->{out}"
    total = product_sum(spec, result)
    summed = math.prod(map(extent, set(filter) - set(out)))
    if quantized:
        return with_zero_points(f"linalg.{name}", arguments, shapes[1], spec,
                                attributes, windows.of)  # fmt: skip
    lines, init = "", "%c"
    if kind in ("f32", "f16", "i8", "complex<f32>"):
        lines, init = init_of(result, shapes[1], 0) + "\n", "%init"
    else:
        arguments.append(Operand(shapes[1], result, "terms", 3))

    def reference(x, y, onto=numpy.zeros(shapes[1], exact_type(result))):
        return total(windows.of(x), y, onto)

    types = ", ".join(operand.type for operand in arguments[:2])
    type = tensor_type(shapes[1], result)
    lines += (f"%r = linalg.{name}{attributes} ins(%a, %b : {types}) "
              f"outs({init} : {type}) -> {type}")  # fmt: skip
    add(f"linalg.{name}", tuple(arguments), shapes[1], result, lines, reference,
        0 if is_integer(result) else sum_limit(summed, result))  # fmt: skip


for name in CONVOLUTIONS:
    if name.endswith("_q"):
        convolution(name, ("i8", "i32"))
        continue
    for kinds in UNIFORM + MIXED:
        convolution(name, kinds)


POOLINGS = """
nhwc_sum nchw_sum nhwc_max nhwc_max_unsigned nchw_max nhwc_min nhwc_min_unsigned
nwc_sum ncw_sum nwc_max nwc_max_unsigned ncw_max nwc_min nwc_min_unsigned
ndhwc_sum ndhwc_max ndhwc_min
""".split()


def pooling(name, kind):
    layout, combine, _, is_unsigned = re.fullmatch(
        r"([a-z]+)_([a-z]+)(_(unsigned))?", name
    ).groups()
    windows = Windows(layout, True)
    out = "".join(c.upper() if c in SPATIAL else c for c in layout)
    shape = tuple(map(extent, out))
    window = tuple(WINDOW[dim] for dim in windows.dims)
    axes = tuple(i for i, c in enumerate(windows.spread) if c in SPATIAL)
    arguments = [Operand(windows.shape, kind, "terms", 1),
                 Operand(window, kind, "factors", 2)]  # fmt: skip
    lines, init = "", "%c"
    if kind in ("f32", "f16"):
        first = {"sum": 0, "max": -math.inf, "min": math.inf}[combine]
        lines, init = init_of(kind, shape, first) + "\n", "%init"
        onto = numpy.full(shape, first, exact_type(kind))
    else:
        arguments.append(Operand(shape, kind, "terms", 3))
        onto = None

    def reference(x, _, init=onto):
        x = windows.of(x)
        if combine == "sum":
            if kind == "i1":
                return x.max(axes) | init
            total = x.sum(axes) + init
            if is_integer(kind):
                return total
            return Want(total, abs(x).sum(axes) + abs(init))
        return extreme(combine, kind, is_unsigned)(x, axes, init)

    types = ", ".join(operand.type for operand in arguments[:2])
    type = tensor_type(shape, kind)
    lines += (f"%r = linalg.pooling_{name}{windows.attributes()} "
              f"ins(%a, %b : {types}) outs({init} : {type}) -> {type}")  # fmt: skip
    is_rounded = combine == "sum" and not is_integer(kind)
    add(f"linalg.pooling_{name}", tuple(arguments), shape, kind, lines, reference,
        sum_limit(math.prod(window), kind) if is_rounded else 0)  # fmt: skip


def extreme(combine, kind, is_unsigned=False):
    """The largest or least of `axes` and `init`: NaN where one is, -0 below 0."""

    def reference(x, axes, init):
        if not is_integer(kind):
            both = numpy.maximum if combine == "max" else numpy.minimum
            x = both(getattr(x, combine)(axes), init), x, init
            return signed_zero(combine, *x, axes)
        key = (lambda v: unsigned(v, kind)) if is_unsigned else (
            lambda v: -v if kind == "i1" else v)  # fmt: skip
        both = numpy.maximum if combine == "max" else numpy.minimum
        result = both(getattr(key(x), combine)(axes), key(init)).astype("i8")
        return result & 1 if kind == "i1" else result

    return reference


def signed_zero(combine, result, x, init, axes):
    """Zeros of `result` are 0 or -0 as of max and min 0 is above -0."""
    negative = combine == "min"
    wanted = lambda v: (v == 0) & (numpy.signbit(v) == negative)  # noqa: E731
    has = wanted(x).any(axes) | wanted(init)
    zero = numpy.where(has == negative, -0.0, 0.0)
    return numpy.where(result == 0, zero, result)


for name in POOLINGS:
    for kind in (*FLOATS, *INTEGERS, *COMPLEX):
        if name.endswith("unsigned") and (not is_integer(kind) or kind == "i1"):
            continue
        if kind in COMPLEX and not name.endswith("sum"):
            continue
        pooling(name, kind)
