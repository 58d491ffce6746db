# ===- host_places.py - Pointwise work and windows for host_stages.py -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Elementwise work, transposes, pads, lookups and poolings of any size as MLIR.

Names are "KIND:SIZES", with what else there is behind it: "gelu:1024x3072",
"maxpool:4x64x112x112:3:2:1" with window, stride and pad along each of its axes.
"""

KINDS = (
    "gelu",
    "addrelu",
    "bias",
    "widen",
    "turn",
    "heads",
    "pad",
    "join",
    "lookup",
    "maxpool",
    "avgpool",
    "lastpool",
)


def tensor(sizes, element="f32"):
    return "tensor<" + "".join(f"{size}x" for size in sizes) + element + ">"


def mapped(rank, results=None):
    dims = [f"d{d}" for d in range(rank)]
    chosen = dims if results is None else [dims[d] for d in results]
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(chosen)})>"


def elementwise(sizes, operands, body, result="f32"):
    """`operands`: (dimensions in the result's order, element type)."""
    rank = len(sizes)
    shapes = [([sizes[d] for d in dims], element) for dims, element in operands]
    types = [tensor(*each) for each in shapes]
    out = tensor(sizes, result)
    arguments = ", ".join(f"%x{i}: {each}" for i, each in enumerate(types))
    maps = ", ".join([mapped(rank, dims) for dims, _ in operands] + [mapped(rank)])
    loops = ", ".join(['"parallel"'] * rank)
    names = ", ".join(f"%x{i}" for i in range(len(types)))
    elements = ", ".join(f"%a{i}: {each}" for i, (_, each) in enumerate(operands))
    lines = "".join(f"    {line}\n" for line in body)
    return f"""func.func @f({arguments}) -> {out} {{
  %e = tensor.empty() : {out}
  %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}} ins({names} : {", ".join(types)}) outs(%e : {out}) {{
  ^bb0({elements}, %o: {result}):
{lines}    linalg.yield %v : {result}
  }} -> {out}
  return %y : {out}
}}
"""


GELU = [
    "%half = arith.constant 0.5 : f32",
    "%one = arith.constant 1.0 : f32",
    "%root = arith.constant 0.70710678 : f32",
    "%s = arith.mulf %a0, %root : f32",
    "%t = math.erf %s : f32",
    "%u = arith.addf %t, %one : f32",
    "%w = arith.mulf %a0, %half : f32",
    "%v = arith.mulf %w, %u : f32",
]
ADD_RELU = [
    "%zero = arith.constant 0.0 : f32",
    "%s = arith.addf %a0, %a1 : f32",
    "%v = arith.maximumf %s, %zero : f32",
]
COPY = ["%zero = arith.constant 0.0 : f32", "%v = arith.addf %a0, %zero : f32"]


def padded(sizes, width, value, name="x0", to="p"):
    """The last two dimensions, or all of those that `width` lists."""
    around = [0] * (len(sizes) - len(width)) + list(width)
    out = [size + 2 * each for size, each in zip(sizes, around, strict=True)]
    indices = ", ".join(f"%i{d}: index" for d in range(len(sizes)))
    return (
        f"""  %filler = arith.constant {value} : f32
  %{to} = tensor.pad %{name} low{around} high{around} {{
  ^bb0({indices}):
    tensor.yield %filler : f32
  }} : {tensor(sizes)} to {tensor(out)}
""",
        out,
    )


def pool(kind, sizes, window, stride, pad):
    """Of all dimensions but the first two, or but the first and the last one."""
    rank = len(sizes)
    axes = list(range(1, rank - 1)) if kind == "lastpool" else list(range(2, rank))
    around = [pad if d in axes else 0 for d in range(rank)]
    text, shape = ("", sizes)
    combiner, start = ("addf", "0.0") if kind == "avgpool" else ("maximumf", "0xFF800000")
    name = "x0"
    if pad:
        text, shape = padded(sizes, around, start)
        name = "p"
    out = [(s - window) // stride + 1 if d in axes else s for d, s in enumerate(shape)]
    dims = [f"d{d}" for d in range(rank + len(axes))]
    places = [
        f"d{d} * {stride} + d{rank + axes.index(d)}" if d in axes else f"d{d}" for d in range(rank)
    ]
    loops = ", ".join(['"parallel"'] * rank + ['"reduction"'] * len(axes))
    head = f"({', '.join(dims)}) -> "
    maps = ", ".join(
        f"affine_map<{head}({', '.join(each)})>" for each in (places, dims[rank:], dims[:rank])
    )
    sizes_of_window = tensor([window] * len(axes))
    done = "  return %s : " + tensor(out) + "\n"
    if kind == "avgpool":
        whole = mapped(rank)
        parallel = ", ".join(['"parallel"'] * rank)
        done = f"""  %y = linalg.generic {{indexing_maps = [{whole}, {whole}], iterator_types = [{parallel}]}} ins(%s : {tensor(out)}) outs(%e : {tensor(out)}) {{
  ^bb0(%a: f32, %o: f32):
    %n = arith.constant {float(window ** len(axes))} : f32
    %v = arith.divf %a, %n : f32
    linalg.yield %v : f32
  }} -> {tensor(out)}
  return %y : {tensor(out)}
"""
    return f"""func.func @f(%x0: {tensor(sizes)}) -> {tensor(out)} {{
{text}  %start = arith.constant {start} : f32
  %e = tensor.empty() : {tensor(out)}
  %w = tensor.empty() : {sizes_of_window}
  %i = linalg.fill ins(%start : f32) outs(%e : {tensor(out)}) -> {tensor(out)}
  %s = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}} ins(%{name}, %w : {tensor(shape)}, {sizes_of_window}) outs(%i : {tensor(out)}) {{
  ^bb0(%a: f32, %k: f32, %o: f32):
    %v = arith.{combiner} %o, %a : f32
    linalg.yield %v : f32
  }} -> {tensor(out)}
{done}}}
"""


def lookup(sizes):
    """Rows of a table of SIZES[0] by SIZES[1], at SIZES[2] indices."""
    table, columns, rows = sizes
    out = tensor([rows, columns])
    return f"""func.func @f(%t: {tensor([table, columns])}, %i: {tensor([rows], "i64")}) -> {out} {{
  %e = tensor.empty() : {out}
  %y = linalg.generic {{indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}} ins(%i : {tensor([rows], "i64")}) outs(%e : {out}) {{
  ^bb0(%n: i64, %o: f32):
    %p = arith.index_cast %n : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %t[%p, %c] : {tensor([table, columns])}
    linalg.yield %v : f32
  }} -> {out}
  return %y : {out}
}}
"""


def text(kind, sizes, rest):
    """The MLIR of one function."""
    rank = len(sizes)
    all_dims = list(range(rank))
    if kind == "gelu":
        return elementwise(sizes, [(all_dims, "f32")], GELU)
    if kind == "addrelu":
        return elementwise(sizes, [(all_dims, "f32")] * 2, ADD_RELU)
    if kind == "bias":
        return elementwise(
            sizes, [(all_dims, "f32"), ([rank - 1], "f32")], ["%v = arith.addf %a0, %a1 : f32"]
        )
    if kind == "widen":
        return elementwise(sizes, [(all_dims, "f16")], ["%v = arith.extf %a0 : f16 to f32"])
    if kind == "turn":
        return elementwise(
            sizes, [([*all_dims[:-2], rank - 1, rank - 2], "f32")], ["%v = arith.addf %a0, %a0 : f32"]
        )
    if kind == "heads":
        return elementwise(sizes, [([0, 2, 1, 3], "f32")], ["%v = arith.addf %a0, %a0 : f32"])
    if kind == "lookup":
        return lookup(sizes)
    if kind == "pad":
        width = [int(each) for each in rest or ["1", "1"]]
        body, out = padded(sizes, width, "0.0")
        return f"func.func @f(%x0: {tensor(sizes)}) -> {tensor(out)} {{\n{body}  return %p : {tensor(out)}\n}}\n"
    if kind == "join":
        dim = int(rest[0])
        out = [2 * size if d == dim else size for d, size in enumerate(sizes)]
        one = tensor(sizes)
        return (
            f"func.func @f(%a: {one}, %b: {one}) -> {tensor(out)} {{\n"
            f"  %y = tensor.concat dim({dim}) %a, %b : ({one}, {one}) -> {tensor(out)}\n"
            f"  return %y : {tensor(out)}\n}}\n"
        )
    window, stride, pad = (int(each) for each in rest)
    return pool(kind, sizes, window, stride, pad)
