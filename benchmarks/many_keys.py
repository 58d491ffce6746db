# ===- many_keys.py - A model of many workloads -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Prints a model of so many products with a ReLU behind them, each of another size.

    python3 benchmarks/many_keys.py 64 > many.mlir

For benchmarks of the search itself: any number of keys, none of which is anybody's.
"""

import argparse
import random


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("keys", type=int)
    keys = parser.parse_args().keys
    draw = random.Random(1)
    arguments, results, body = [], [], []
    for i in range(keys):
        m, n, k = (8 * draw.randint(8, 256) for _ in range(3))
        a, b, c = (f"tensor<{rows}x{columns}xf16>" for rows, columns in ((m, k), (k, n), (m, n)))
        arguments += [f"%a{i}: {a}", f"%b{i}: {b}"]
        results.append((f"%r{i}", c))
        body.append(f"""
  %e{i} = tensor.empty() : {c}
  %f{i} = linalg.fill ins(%zero : f16) outs(%e{i} : {c}) -> {c}
  %m{i} = linalg.matmul ins(%a{i}, %b{i} : {a}, {b}) outs(%f{i} : {c}) -> {c}
  %r{i} = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%m{i} : {c}) outs(%e{i} : {c}) {{
  ^bb0(%in: f16, %out: f16):
    %max{i} = arith.maximumf %in, %zero : f16
    linalg.yield %max{i} : f16
  }} -> {c}""")
    types = ", ".join(kind for _, kind in results)
    print("#id = affine_map<(i, j) -> (i, j)>")
    print(f"func.func @forward({', '.join(arguments)}) -> ({types}) {{\n  %zero = arith.constant 0.0 : f16", end="")
    print("".join(body))
    print(f"  return {', '.join(name for name, _ in results)} : {types}\n}}")


if __name__ == "__main__":
    main()
