# ===- host_attention.py - Attention for host_stages.py -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Attention of any size as MLIR.

Names are "attention:BATCHxROWSxKEYSxCOLUMNS", with "causal", "bias" (one for each score), "rows"
(a batch's rows are those of several heads beside each other: "rows12" has heads of 12) and "f16"
behind it, in any order: "attention:12x512x512x64:causal".
"""

import re

KINDS = ("attention",)


def text(name, sizes, rest):
    """The text of a `func.func`."""
    batch, rows, keys, columns = sizes
    element = "f16" if "f16" in rest else "f32"
    heads = next((int(m[1]) for m in (re.fullmatch(r"rows(\d+)", r) for r in rest) if m), 0)
    if heads and batch % heads:
        raise ValueError(f"{name}: {batch} batches are no multiple of {heads} heads")

    # Batches are one dimension, or an outer one and heads behind the rows.
    b = f"{batch // heads}x" if heads else f"{batch}x"
    h = f"{heads}x" if heads else ""

    def matrix(length, type=element):
        return f"tensor<{b}{length}x{h}{columns}x{type}>"

    names = "b, h" if heads else "b"
    scores = f"tensor<{b}{h}{rows}x{keys}xf32>"
    statistics = f"tensor<{b}{h}{rows}xf32>"
    at = lambda row, column: f"(b, {row}, h, {column})" if heads else f"(b, {row}, {column})"

    def maps(loops, *results, reduced=""):
        each = [f"affine_map<({names}, {loops}) -> {result}>" for result in results]
        kinds = ['"reduction"' if loop == reduced else '"parallel"' for loop in loops.split(", ")]
        kinds = ['"parallel"'] * len(names.split(", ")) + kinds
        return f"indexing_maps = [{', '.join(each)}], iterator_types = [{', '.join(kinds)}]"

    score_at, row_at = f"({names}, m, n)", f"({names}, m)"
    row_maps = maps("m, n", score_at, row_at, reduced="n")
    wide = lambda value: "" if element == "f32" else f"    %{value} = arith.extf %{value}0 : f16 to f32\n"
    argument = lambda value: f"%{value}: f32" if element == "f32" else f"%{value}0: f16"
    hidden = ""
    score = "%s0"
    if "bias" in rest:
        hidden += f"    %s1 = arith.addf {score}, %mask : f32\n"
        score = "%s1"
    if "causal" in rest:
        row, key = (2, 3) if heads else (1, 2)
        hidden += (
            f"    %row = linalg.index {row} : index\n    %key = linalg.index {key} : index\n"
            f"    %isSeen = arith.cmpi sle, %key, %row : index\n"
            f"    %s2 = arith.select %isSeen, {score}, %least : f32\n"
        )
        score = "%s2"
    bias = ("bias" in rest) * f", %bias: tensor<{rows}x{keys}xf32>"
    score_maps = [score_at] + ["(m, n)"] * ("bias" in rest) + [score_at]
    bias_in = ("bias" in rest) * ", %bias"
    bias_type = ("bias" in rest) * f", tensor<{rows}x{keys}xf32>"
    bias_argument = ("bias" in rest) * "%mask: f32, "
    sums = matrix(rows, "f32")
    return f"""func.func @f(%q: {matrix(rows)}, %k: {matrix(keys)}, %v: {matrix(keys)}{bias}) -> {matrix(rows)} {{
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %scale = arith.constant {columns**-0.5:.9f} : f32
  %se = tensor.empty() : {scores}
  %re = tensor.empty() : {statistics}
  %oe = tensor.empty() : {sums}
  %si = linalg.fill ins(%zero : f32) outs(%se : {scores}) -> {scores}
  %sums = linalg.generic {{{maps("m, n, d", at("m", "d"), at("n", "d"), score_at, reduced="d")}}} ins(%q, %k : {matrix(rows)}, {matrix(keys)}) outs(%si : {scores}) {{
  ^bb0({argument("x")}, {argument("z")}, %o: f32):
{wide("x")}{wide("z")}    %p = arith.mulf %x, %z : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> {scores}
  %scores = linalg.generic {{{maps("m, n", *score_maps)}}} ins(%sums{bias_in} : {scores}{bias_type}) outs(%se : {scores}) {{
  ^bb0(%x: f32, {bias_argument}%o: f32):
    %s0 = arith.mulf %x, %scale : f32
{hidden}    linalg.yield {score} : f32
  }} -> {scores}
  %mi = linalg.fill ins(%least : f32) outs(%re : {statistics}) -> {statistics}
  %most = linalg.generic {{{row_maps}}} ins(%scores : {scores}) outs(%mi : {statistics}) {{
  ^bb0(%x: f32, %o: f32):
    %t = arith.maximumf %o, %x : f32
    linalg.yield %t : f32
  }} -> {statistics}
  %powers = linalg.generic {{{maps("m, n", score_at, row_at, score_at)}}} ins(%scores, %most : {scores}, {statistics}) outs(%se : {scores}) {{
  ^bb0(%x: f32, %z: f32, %o: f32):
    %t = arith.subf %x, %z : f32
    %u = math.exp %t : f32
    linalg.yield %u : f32
  }} -> {scores}
  %li = linalg.fill ins(%zero : f32) outs(%re : {statistics}) -> {statistics}
  %sum = linalg.generic {{{row_maps}}} ins(%powers : {scores}) outs(%li : {statistics}) {{
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %o, %x : f32
    linalg.yield %t : f32
  }} -> {statistics}
  %weights = linalg.generic {{{maps("m, n", score_at, row_at, score_at)}}} ins(%powers, %sum : {scores}, {statistics}) outs(%se : {scores}) {{
  ^bb0(%x: f32, %z: f32, %o: f32):
    %t = arith.divf %x, %z : f32
    linalg.yield %t : f32
  }} -> {scores}
  %oi = linalg.fill ins(%zero : f32) outs(%oe : {sums}) -> {sums}
  %products = linalg.generic {{{maps("m, d, n", score_at, at("n", "d"), at("m", "d"), reduced="n")}}} ins(%weights, %v : {scores}, {matrix(keys)}) outs(%oi : {sums}) {{
  ^bb0(%x: f32, {argument("z")}, %o: f32):
{wide("z")}    %p = arith.mulf %x, %z : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }} -> {sums}
""" + (
        f"  return %products : {sums}\n}}\n"
        if element == "f32"
        else f"""  %e = tensor.empty() : {matrix(rows)}
  %out = linalg.generic {{{maps("m, d", at("m", "d"), at("m", "d"))}}} ins(%products : {sums}) outs(%e : {matrix(rows)}) {{
  ^bb0(%y: f32, %o: f16):
    %y0 = arith.truncf %y : f32 to f16
    linalg.yield %y0 : f16
  }} -> {matrix(rows)}
  return %out : {matrix(rows)}
}}
"""
    )
