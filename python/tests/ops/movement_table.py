# ===- movement_table.py - Ops that move elements -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Rows of the tensor dialect, and of linalg's ops that compute nothing.

Results are the operands' elements to the bit, but for a NaN's payload: references
are numpy's indexing.
"""

import math

import numpy
import op_values as values
from linalg_table import FLOATS, INTEGERS, constant, is_integer
from structured_rows import COMPLEX, Operand, StructuredRow, tensor_type

ROWS = []

#: Where a slice lies is known before a GPU's plan runs.
ON_HOST = dict(refused_on_gpu="is at a place that")

KINDS = (*FLOATS, *INTEGERS, *COMPLEX)
SHAPE = (5, 18)


def add(op, arguments, shape, kind, text, reference, **options):
    ROWS.append(StructuredRow(op, tuple(arguments), shape, kind, text, reference,
                              **options))  # fmt: skip


def index_of(name, place="%d"):
    """Lines that make an index of an element of the operand `place`."""
    letter, position = place.split("@")
    return (f"%p{name} = arith.constant {position} : index\n"
            f"%w{name} = tensor.extract {letter}[%p{name}] : tensor<2xi64>\n"
            f"%{name} = arith.index_cast %w{name} : i64 to index\n")  # fmt: skip


for kind in KINDS:
    x = Operand(SHAPE, kind, "edges", 1)
    T = x.type
    one = Operand((), kind, "edges", 2)
    scalar = f"%s = tensor.extract %b[] : {one.type}\n"

    def type_of(*shape, kind=kind):
        return tensor_type(shape, kind)

    # ------------------------------------------------------------ slices

    add("tensor.extract_slice", [x], (2, 6), kind,
        f"%r = tensor.extract_slice %a[1, 2] [2, 6] [2, 2] : {T} to {type_of(2, 6)}",
        lambda a: a[1:5:2, 2:14:2], variant="strides")  # fmt: skip
    add("tensor.extract_slice", [x], (7,), kind,
        f"%r = tensor.extract_slice %a[3, 1] [1, 7] [1, 1] : {T} to {type_of(7)}",
        lambda a: a[3, 1:8], variant="rank")  # fmt: skip
    where = Operand((2,), "i64", (2, 9))
    add("tensor.extract_slice", [x, where], (3, 4), kind,
        index_of("i", "%b@0") + index_of("j", "%b@1")
        + f"%r = tensor.extract_slice %a[%i, %j] [3, 4] [1, 2] : {T} to {type_of(3, 4)}",
        lambda a, b: a[2:5, 9:17:2], variant="dynamic", **ON_HOST)  # fmt: skip
    part = Operand((2, 6), kind, "edges", 3)

    def inserted(a, b):
        a = a.copy()
        a[1:5:2, 2:14:2] = b
        return a

    add("tensor.insert_slice", [x, part], SHAPE, kind,
        f"%r = tensor.insert_slice %b into %a[1, 2] [2, 6] [2, 2] : {part.type} into {T}",
        inserted, variant="strides")  # fmt: skip
    row = Operand((18,), kind, "edges", 4)

    def with_row(a, b):
        a = a.copy()
        a[4] = b
        return a

    add("tensor.insert_slice", [x, row], SHAPE, kind,
        f"%r = tensor.insert_slice %b into %a[4, 0] [1, 18] [1, 1] : {row.type} into {T}",
        with_row, variant="rank")  # fmt: skip

    def all_rows(a, b):
        return numpy.broadcast_to(b, a.shape)

    add("tensor.parallel_insert_slice", [x, row], SHAPE, kind,
        f"%r = scf.forall (%i) in (5) shared_outs(%o = %a) -> ({T}) {{\n"
        f"  scf.forall.in_parallel {{\n"
        f"    tensor.parallel_insert_slice %b into %o[%i, 0] [1, 18] [1, 1] "
        f": {row.type} into {T}\n  }}\n}}", all_rows,
        refused_in_workloads="a workload computes tensors from tensors")  # fmt: skip

    # ------------------------------------------------------------ elements

    add("tensor.extract", [x, where], (), kind,
        index_of("i", "%b@0") + index_of("j", "%b@1")
        + f"%s = tensor.extract %a[%i, %j] : {T}\n"
        f"%r = tensor.from_elements %s : {type_of()}",
        lambda a, b: a[2, 9], variant="dynamic")  # fmt: skip

    def with_element(a, b, c):
        a = a.copy()
        a[2, 9] = b
        return a

    add("tensor.insert", [x, one, where], SHAPE, kind,
        scalar + index_of("i", "%c@0") + index_of("j", "%c@1")
        + f"%r = tensor.insert %s into %a[%i, %j] : {T}", with_element,
        variant="dynamic")  # fmt: skip
    add("tensor.from_elements", [x, one], (2, 2), kind,
        scalar + "%i = arith.constant 3 : index\n"
        f"%t = tensor.extract %a[%i, %i] : {T}\n"
        f"%r = tensor.from_elements %s, %t, %t, %s : {type_of(2, 2)}",
        lambda a, b: numpy.array([b[()], a[3, 3], a[3, 3], b[()]]).reshape(2, 2))  # fmt: skip
    add("tensor.splat", [x, one], SHAPE, kind,
        scalar + f"%r = tensor.splat %s : {T}",
        lambda a, b: numpy.broadcast_to(b, SHAPE))  # fmt: skip
    add("tensor.generate", [x], (18, 5), kind,
        f"%r = tensor.generate {{\n^bb0(%i: index, %j: index):\n"
        f"  %s = tensor.extract %a[%j, %i] : {T}\n"
        f"  tensor.yield %s : {kind}\n}} : {type_of(18, 5)}",
        lambda a: a.T)  # fmt: skip

    # ------------------------------------------------------------ shapes

    add("tensor.expand_shape", [x], (5, 3, 6), kind,
        f"%r = tensor.expand_shape %a [[0], [1, 2]] output_shape [5, 3, 6] : {T} "
        f"into {type_of(5, 3, 6)}", lambda a: a.reshape(5, 3, 6))  # fmt: skip
    add("tensor.collapse_shape", [x], (90,), kind,
        f"%r = tensor.collapse_shape %a [[0, 1]] : {T} into {type_of(90)}",
        lambda a: a.reshape(90))  # fmt: skip
    add("tensor.reshape", [x, Operand((3,), "i64", (3, 15, 2))], (3, 15, 2), kind,
        f"%r = tensor.reshape %a(%b) : ({T}, tensor<3xi64>) -> {type_of(3, 15, 2)}",
        lambda a, b: a.reshape(3, 15, 2))  # fmt: skip
    add("tensor.cast", [x], SHAPE, kind,
        f"%u = tensor.cast %a : {T} to tensor<?x?x{kind}>\n"
        f"%r = tensor.cast %u : tensor<?x?x{kind}> to {T}", lambda a: a)  # fmt: skip
    add("tensor.concat", [x, Operand((2, 18), kind, "edges", 5)], (7, 18), kind,
        f"%r = tensor.concat dim(0) %a, %b : ({T}, {type_of(2, 18)}) -> {type_of(7, 18)}",
        lambda a, b: numpy.concatenate([a, b]), variant="outer")  # fmt: skip
    add("tensor.concat", [x, Operand((5, 3), kind, "edges", 6)], (5, 39), kind,
        f"%r = tensor.concat dim(1) %a, %b, %a : ({T}, {type_of(5, 3)}, {T}) "
        f"-> {type_of(5, 39)}",
        lambda a, b: numpy.concatenate([a, b, a], 1), variant="inner")  # fmt: skip

    # ------------------------------------------------------------ padding

    def padded(a, b):
        return numpy.pad(a, ((1, 2), (3, 0)), constant_values=b[()])

    add("tensor.pad", [x, one], (8, 21), kind,
        scalar + f"%r = tensor.pad %a low[1, 3] high[2, 0] {{\n"
        f"^bb0(%i: index, %j: index):\n  tensor.yield %s : {kind}\n"
        f"}} : {T} to {type_of(8, 21)}", padded, variant="value")  # fmt: skip
    # The operand's own elements, by place: as a circular padding.
    add("tensor.pad", [x], (5, 20), kind,
        f"%n = arith.constant 17 : index\n%r = tensor.pad %a low[0, 1] high[0, 1] {{\n"
        f"^bb0(%i: index, %j: index):\n"
        f"  %zero = arith.constant 0 : index\n"
        f"  %first = arith.cmpi eq, %j, %zero : index\n"
        f"  %from = arith.select %first, %n, %zero : index\n"
        f"  %s = tensor.extract %a[%i, %from] : {T}\n"
        f"  tensor.yield %s : {kind}\n}} : {T} to {type_of(5, 20)}",
        lambda a: numpy.pad(a, ((0, 0), (1, 1)), "wrap"), variant="places")  # fmt: skip
    numbers = {"one": 1}
    if not is_integer(kind) and kind not in COMPLEX:
        numbers |= {"nan": math.nan, "negative_zero": -0.0, "infinity": -math.inf}
    for name, number in numbers.items():
        known = constant(kind, number) + "\n"

        def padded_by(a, number=number):
            return numpy.pad(a, ((0, 1), (1, 0)), constant_values=number)

        add("tensor.pad", [x], (6, 19), kind,
            known + f"%r = tensor.pad %a low[0, 1] high[1, 0] {{\n"
            f"^bb0(%i: index, %j: index):\n  tensor.yield %first : {kind}\n"
            f"}} : {T} to {type_of(6, 19)}", padded_by, variant=name)  # fmt: skip
        add("linalg.fill", [x], SHAPE, kind,
            known + f"%r = linalg.fill ins(%first : {kind}) outs(%a : {T}) -> {T}",
            lambda a, number=number: numpy.full_like(a, number), variant=name)  # fmt: skip
        add("tensor.splat", [x], SHAPE, kind,
            known + f"%s = tensor.splat %first : {T}\n"
            f"%empty = tensor.empty() : {T}\n"
            f"%r = linalg.copy ins(%s : {T}) outs(%empty : {T}) -> {T}",
            lambda a, number=number: numpy.full_like(a, number), variant=name)  # fmt: skip

    # ------------------------------------------------------------ linalg

    empty = f"%empty = tensor.empty() : {T}\n"
    add("linalg.fill", [x, one], SHAPE, kind,
        scalar + f"%r = linalg.fill ins(%s : {kind}) outs(%a : {T}) -> {T}",
        lambda a, b: numpy.broadcast_to(b, SHAPE), variant="value")  # fmt: skip
    add("linalg.transpose", [x], (18, 5), kind,
        f"%empty = tensor.empty() : {type_of(18, 5)}\n"
        f"%r = linalg.transpose ins(%a : {T}) outs(%empty : {type_of(18, 5)}) "
        f"permutation = [1, 0]", lambda a: a.T)  # fmt: skip
    cube = Operand((3, 4, 5), kind, "edges", 8)
    add("linalg.transpose", [cube], (5, 3, 4), kind,
        f"%empty = tensor.empty() : {type_of(5, 3, 4)}\n"
        f"%r = linalg.transpose ins(%a : {cube.type}) outs(%empty : {type_of(5, 3, 4)}) "
        f"permutation = [2, 0, 1]", lambda a: a.transpose(2, 0, 1),
        variant="cube")  # fmt: skip
    add("linalg.broadcast", [row], SHAPE, kind,
        empty + f"%r = linalg.broadcast ins(%a : {row.type}) outs(%empty : {T}) "
        f"dimensions = [0]", lambda a: numpy.broadcast_to(a, SHAPE))  # fmt: skip
    add("linalg.copy", [x], SHAPE, kind,
        empty + f"%r = linalg.copy ins(%a : {T}) outs(%empty : {T}) -> {T}",
        lambda a: a)  # fmt: skip
    packed = type_of(3, 5, 2, 4)

    def pack(a, b):
        a = numpy.pad(a, ((0, 1), (0, 2)), constant_values=b[()])
        return a.reshape(3, 2, 5, 4).transpose(0, 2, 1, 3)

    add("linalg.pack", [x, one], (3, 5, 2, 4), kind,
        scalar + f"%empty = tensor.empty() : {packed}\n"
        f"%r = linalg.pack %a padding_value(%s : {kind}) inner_dims_pos = [0, 1] "
        f"inner_tiles = [2, 4] into %empty : {T} -> {packed}", pack, variant="value")  # fmt: skip
    add("linalg.pack", [x], (3, 5, 2, 4), kind,
        constant(kind, 1) + f"\n%empty = tensor.empty() : {packed}\n"
        f"%r = linalg.pack %a padding_value(%first : {kind}) inner_dims_pos = [0, 1] "
        f"inner_tiles = [2, 4] into %empty : {T} -> {packed}",
        lambda a, pack=pack: pack(a, numpy.int64(1)), variant="one")  # fmt: skip
    tiles = Operand((3, 5, 2, 4), kind, "edges", 9)
    add("linalg.unpack", [tiles], SHAPE, kind,
        empty + f"%r = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 4] "
        f"into %empty : {packed} -> {T}",
        lambda a: a.transpose(0, 2, 1, 3).reshape(6, 20)[:5, :18])  # fmt: skip

    # By the place of each element, as torch-mlir reads what indices say.
    add("linalg.index", [x, row], SHAPE, kind,
        empty + "%r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], "
        f'iterator_types = ["parallel", "parallel"]}} outs(%empty : {T}) {{\n'
        f"^bb0(%o: {kind}):\n  %i = linalg.index 0 : index\n"
        f"  %j = linalg.index 1 : index\n  %n = arith.constant 17 : index\n"
        f"  %back = arith.subi %n, %j : index\n"
        f"  %s = tensor.extract %a[%i, %back] : {T}\n"
        f"  %t = tensor.extract %b[%j] : {row.type}\n"
        f"  %below = arith.cmpi ult, %i, %j : index\n"
        f"  %u = arith.select %below, %s, %t : {kind}\n"
        f"  linalg.yield %u : {kind}\n}} -> {T}",
        lambda a, b: numpy.where(
            numpy.arange(5)[:, None] < numpy.arange(18), a[:, ::-1], b))  # fmt: skip

# ---------------------------------------------------------------------------
# What is said of shapes, and bits
# ---------------------------------------------------------------------------

x = Operand(SHAPE, "f32", "edges", 1)
for op, text, number in (
    ("tensor.dim", "%one = arith.constant 1 : index\n%n = tensor.dim %u, %one", 18),
    ("tensor.rank", "%n = tensor.rank %u", 2),
):
    add(op, [x], (), "i64",
        f"%u = tensor.cast %a : {x.type} to tensor<?x?xf32>\n"
        f"{text} : tensor<?x?xf32>\n%m = arith.index_cast %n : index to i64\n"
        f"%r = tensor.from_elements %m : tensor<i64>",
        lambda a, number=number: numpy.int64(number))  # fmt: skip
for kind, integer in (("f64", "i64"), ("f32", "i32"), ("f16", "i16"), ("bf16", "i16")):
    # Unsigned ones are signless here: a cast between integers moves, too.
    source = Operand(SHAPE, integer, "edges", 1)
    like = {"f64": "f8", "f32": "f4", "f16": "f2"}.get(kind)

    def bits(a, integer=integer, like=like):
        a = a.astype("i" + str(values.INTEGERS[integer] // 8))
        if like:
            return a.view(like).astype(numpy.longdouble)
        return (a.view("u2").astype("u4") << 16).view("f4").astype(numpy.longdouble)

    add("tensor.bitcast", [source], SHAPE, kind,
        f"%r = tensor.bitcast %a : {source.type} to {tensor_type(SHAPE, kind)}",
        bits, has_oracle=False)  # fmt: skip
