# ===- families.py - Instances of families on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times what families give products of many sizes beside torch, in one run.

    python3 benchmarks/families.py make PROGRAMS [--bank=DIR] [--fastk-opt=PATH] [ROW...]
    python3 benchmarks/families.py time PROGRAMS [--rounds=30] [-o PAGE.md] [ROW...]

A row is MxNxK-LAYOUT-TYPE-EPILOGUE, with a batch as BxMxNxK; nt: both operands have
their rows along K.
"""

import sys

import family_rows

#: Batch, M, N, K, layouts, as ../docs/benchmarks/families.md lists them.
SIZES = [
    (1, 1024, 1024, 1024, "nt"),
    (1, 2048, 2048, 2048, "nt"),
    (1, 4096, 4096, 4096, "nn nt tn"),
    (1, 8192, 8192, 8192, "nt"),
    (1, 4096, 14336, 4096, "nn nt tn"),
    (1, 4096, 4096, 14336, "nt"),
    (1, 512, 4096, 4096, "nn nt tn"),
    (1, 128, 4096, 4096, "nt"),
    (1, 16, 4096, 4096, "nt"),
    (1, 1, 4096, 4096, "nt"),
    (1, 4096, 4096, 128, "nt"),
    (1, 128, 128, 65536, "nt"),
    (1, 3000, 3000, 3000, "nt"),
    (1, 1001, 2049, 513, "nt"),
    (32, 512, 512, 512, "nt"),
    (32, 4096, 64, 4096, "nt"),
    (32, 4096, 4096, 64, "nt"),
]
#: Few rows, as a decoding model has, or few results of long sums.
FEW_SIZES = [
    (1, 2, 4096, 4096, "nt"),
    (1, 8, 4096, 4096, "nt nn"),
    (1, 32, 4096, 4096, "nt nn"),
    (1, 16, 14336, 4096, "nt"),
    (1, 16, 4096, 14336, "nt"),
    (1, 8, 1000, 2048, "nt"),
    (1, 4096, 5, 1000, "nt"),
    (1, 100, 1000, 3000, "nt"),
    (1, 64, 64, 16384, "nt"),
    (1, 256, 256, 16384, "nt tn"),
    (1, 512, 512, 32768, "nt"),
]
TYPES = ("f16", "bf16", "f32")
GELU_SIZES = [size for size in SIZES if size[0] == 1 and size[2] >= 1024]


def rows():
    """Name -> row."""
    found = {}
    for sizes, epilogue, group in (
        (SIZES, "plain", "plain"),
        (GELU_SIZES, "gelu", "gelu"),
        (FEW_SIZES, "plain", "few rows or results"),
    ):
        for batch, m, n, k, layouts in sizes:
            for layout in layouts.split():
                for kind in TYPES:
                    size = "x".join(map(str, ([batch] if batch > 1 else []) + [m, n, k]))
                    row = (batch, m, n, k, layout, kind, epilogue)
                    found[f"{size}-{layout}-{kind}-{epilogue}"] = family_rows.Row(
                        text=lambda row=row: module_of(row),
                        reference=reference_of(row),
                        shapes=shapes_of(row),
                        kind=kind,
                        group=group + (", f32" if kind == "f32" else ""),
                        work=2e-12 * batch * m * n * k,
                        unit="TFLOP/s",
                        is_compiled=epilogue == "gelu",
                    )
    return found


def shapes_of(row):
    batch, m, n, k, layout, _, epilogue = row
    a = (m, k) if layout[0] == "n" else (k, m)
    b = (k, n) if layout[1] == "n" else (n, k)
    lead = (batch,) if batch > 1 else ()
    return [(*lead, *a), (*lead, *b)] + ([(n,)] if epilogue == "gelu" else [])


def module_of(row):
    """The workload: sums in f32, bias and exact GELU before the one rounding."""
    batch, m, n, k, layout, kind, epilogue = row
    lead = ["b"] if batch > 1 else []
    spaces = [
        lead + (["m", "k"] if layout[0] == "n" else ["k", "m"]),
        lead + (["k", "n"] if layout[1] == "n" else ["n", "k"]),
        lead + ["m", "n"],
    ]
    sizes = {"b": batch, "m": m, "n": n, "k": k}

    def tensor(dims, element):
        return "tensor<" + "".join(f"{sizes[d]}x" for d in dims) + element + ">"

    def maps(all_dims, spaces):
        inner = ", ".join(
            f"affine_map<({', '.join(all_dims)}) -> ({', '.join(dims)})>" for dims in spaces
        )
        kinds = ", ".join(f'"{"reduction" if d == "k" else "parallel"}"' for d in all_dims)
        return f"{{indexing_maps = [{inner}], iterator_types = [{kinds}]}}"

    a, b = tensor(spaces[0], kind), tensor(spaces[1], kind)
    sums, out, bias = tensor(spaces[2], "f32"), tensor(spaces[2], kind), f"tensor<{n}x{kind}>"
    is_gelu = epilogue == "gelu"
    more = f", %bias: {bias}" if is_gelu else ""
    is_wide = kind == "f32"

    def cast(name, operation, value, types):
        """A line that makes `name`; of f32 there is nothing to cast."""
        return f"%{name} = arith.{operation} %{value} : {types}" if not is_wide else ""

    xe, ye = ("x", "y") if is_wide else ("xe", "ye")
    h = ("q" if is_gelu else "x") if is_wide else "h"
    body = cast("h", "truncf", "x", f"f32 to {kind}")
    if is_gelu:
        body = f"""{cast("ye", "extf", "y", f"{kind} to f32")}
    %s = arith.addf %x, %{ye} : f32
    %t = arith.mulf %s, %r2 : f32
    %u = math.erf %t : f32
    %v = arith.addf %u, %one : f32
    %w = arith.mulf %s, %half : f32
    %q = arith.mulf %v, %w : f32
    {cast("h", "truncf", "q", f"f32 to {kind}")}"""
    surround = [spaces[2], ["n"], spaces[2]] if is_gelu else [spaces[2], spaces[2]]
    return f"""func.func @product(%a: {a}, %b: {b}{more}) -> {out} {{
  %c0 = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %r2 = arith.constant 0.70710678 : f32
  %i = tensor.empty() : {sums}
  %z = linalg.fill ins(%c0 : f32) outs(%i : {sums}) -> {sums}
  %m = linalg.generic {maps([*lead, "m", "n", "k"], spaces)} ins(%a, %b : {a}, {b}) outs(%z : {sums}) {{
  ^bb0(%x: {kind}, %y: {kind}, %o: f32):
    {cast("xe", "extf", "x", f"{kind} to f32")}
    {cast("ye", "extf", "y", f"{kind} to f32")}
    %p = arith.mulf %{xe}, %{ye} : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> {sums}
  %e = tensor.empty() : {out}
  %r = linalg.generic {maps(spaces[2], surround)} ins(%m{", %bias" if is_gelu else ""} : {sums}{", " + bias if is_gelu else ""}) outs(%e : {out}) {{
  ^bb0(%x: f32{", %y: " + kind if is_gelu else ""}, %o: {kind}):
    {body}
    linalg.yield %{h} : {kind}
  }} -> {out}
  return %r : {out}
}}
"""


def reference_of(row):
    layout, epilogue = row[4], row[6]

    def product(a, b, bias=None):
        import torch

        a = a if layout[0] == "n" else a.mT
        b = b if layout[1] == "n" else b.mT
        y = torch.matmul(a, b)
        return torch.nn.functional.gelu(y + bias) if epilogue == "gelu" else y

    return product


if __name__ == "__main__":
    sys.exit(family_rows.main(__doc__, rows()))
