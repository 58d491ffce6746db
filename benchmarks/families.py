# ===- families.py - Instances of families on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times what families give products of many sizes beside torch, in one run.

    python3 benchmarks/families.py make PROGRAMS [--bank=DIR] [--fastk-opt=PATH] [ROW...]
    python3 benchmarks/families.py time PROGRAMS [--rounds=30] [-o PAGE.md] [ROW...]

`make` needs no GPU: each row is compiled with --winners-from=family. Where the bank has
no winner, what is timed is the first choice of a family, which nobody has measured. It
writes PROGRAMS/ROW/{first,winner}/{plan.json,kernel.*}, the workload's operands in its
order. `make --text=DIR` writes the rows as DIR/ROW.mlir and no more, to be searched.

`time` needs a GPU, its driver, torch and NVRTC. The protocol is that of h200.py: 512 MB
are written before every call, three sets of operands, contenders in random order,
medians of CUDA events, results compared with torch in float64. A row is
MxNxK-LAYOUT-TYPE-EPILOGUE, with a batch as BxMxNxK; nt: both operands have their rows
along K. The ratio is torch's best, eager or compiled, over ours.

Exit codes: 0 done; 1 wrong use, or something could not be run; 2 a result was wrong.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

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
TYPES = ("f16", "bf16")
#: What fastk-opt says of a workload, and what is made of it.
MADE = {"1 by a family, unproved": "first", "1 workload: 1 hit,": "winner"}
GELU_SIZES = [size for size in SIZES if size[0] == 1 and size[2] >= 1024]


def rows():
    """Name -> (batch, m, n, k, layout, type, epilogue)."""
    found = {}
    for sizes, epilogue in ((SIZES, "plain"), (GELU_SIZES, "gelu")):
        for batch, m, n, k, layouts in sizes:
            for layout in layouts.split():
                for kind in TYPES:
                    size = "x".join(map(str, ([batch] if batch > 1 else []) + [m, n, k]))
                    row = (batch, m, n, k, layout, kind, epilogue)
                    found[f"{size}-{layout}-{kind}-{epilogue}"] = row
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
    body = "%h = arith.truncf %x : f32 to " + kind
    if is_gelu:
        body = f"""%ye = arith.extf %y : {kind} to f32
    %s = arith.addf %x, %ye : f32
    %t = arith.mulf %s, %r2 : f32
    %u = math.erf %t : f32
    %v = arith.addf %u, %one : f32
    %w = arith.mulf %s, %half : f32
    %q = arith.mulf %v, %w : f32
    %h = arith.truncf %q : f32 to {kind}"""
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
    %xe = arith.extf %x : {kind} to f32
    %ye = arith.extf %y : {kind} to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> {sums}
  %e = tensor.empty() : {out}
  %r = linalg.generic {maps(spaces[2], surround)} ins(%m{", %bias" if is_gelu else ""} : {sums}{", " + bias if is_gelu else ""}) outs(%e : {out}) {{
  ^bb0(%x: f32{", %y: " + kind if is_gelu else ""}, %o: {kind}):
    {body}
    linalg.yield %h : {kind}
  }} -> {out}
  return %r : {out}
}}
"""


def make(options, chosen):
    for number, (name, row) in enumerate(chosen.items(), 1):
        if options.text:
            options.text.mkdir(parents=True, exist_ok=True)
            (options.text / f"{name}.mlir").write_text(module_of(row))
            continue
        print(f"families.py: [{number}/{len(chosen)}] {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as work:
            source, applied = pathlib.Path(work, "row.mlir"), pathlib.Path(work, "applied.mlir")
            source.write_text(module_of(row))
            common = [options.fastk_opt, "--target=cuda:sm_90a"]
            said = subprocess.run(
                [*common, source, f"--bank={options.bank or work + '/bank'}"]
                + ["--winners-from=family", "--fusion=whole", "-o", applied],
                capture_output=True,
                text=True,
                check=False,
            )
            made = [what for text, what in MADE.items() if text in said.stderr]
            if said.returncode or len(made) != 1:
                print(f"families.py: error: {name}: {said.stderr}", file=sys.stderr)
                return 1
            folder = options.programs / name / made[0]
            folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [*common, applied, "--compile-kernel=program", "-o", folder], check=True
            )
    return 0


def reference_of(row):
    import torch

    layout, epilogue = row[4], row[6]

    def product(a, b, bias=None):
        a = a if layout[0] == "n" else a.mT
        b = b if layout[1] == "n" else b.mT
        y = torch.matmul(a, b)
        return torch.nn.functional.gelu(y + bias) if epilogue == "gelu" else y

    return product


def time_rows(options, chosen):
    import h200
    import torch

    kinds = {"f16": torch.float16, "bf16": torch.bfloat16}
    flush = torch.empty(h200.FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    lines, wrong, ratios = [], [], {"plain": [], "gelu": []}
    for name, row in chosen.items():
        folder = options.programs / name
        if not folder.is_dir():
            continue
        specification = h200.Specification(
            reference_of(row), shapes_of(row), dtype=kinds[row[5]]
        )
        operator = h200.Operator(name, specification, folder, row[6] == "gelu")
        errors = operator.check()
        wrong += [f"{name}: {n}" for n, e in errors.items() if not e[2]]
        times = operator.time(options.rounds, flush)
        medians = {n: values[len(values) // 2] for n, values in times.items()}
        best = min(time for n, time in medians.items() if n.startswith("torch"))
        (mine,) = (n for n in MADE.values() if n in medians)
        ratio = best / medians[mine]
        ratios[row[6]].append(ratio)
        teraflops = 2e-9 * row[0] * row[1] * row[2] * row[3] / medians[mine]
        lines.append(
            f"| {name} | {mine} | {medians[mine]:.4f} | {teraflops:.0f} | {best:.4f} "
            f"| {ratio:.2f} | {errors[mine][0]:.2g} | {errors['torch eager'][0]:.2g} |"
        )
        print(lines[-1], flush=True)
        del operator
        torch.cuda.empty_cache()
    head = [
        "| row | is | family, ms | TFLOP/s | torch's best, ms | ratio | largest error | torch's |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    means = [
        f"Geometric mean of {len(each)} ratios, {epilogue}: "
        f"{math.exp(sum(map(math.log, each)) / len(each)):.3f}; least {min(each):.2f}."
        for epilogue, each in ratios.items()
        if each
    ]
    text = "\n".join([h200.describe(options.rounds), "", *head, *lines, "", *means])
    print(text)
    if options.output:
        h200.write_page(options.output, text)
    for each in wrong:
        print(f"families.py: wrong result: {each}", file=sys.stderr)
    return 2 if wrong else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("make", "time"))
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="default: all")
    parser.add_argument("--fastk-opt", default="fastk-opt")
    parser.add_argument("--bank", help="winners of searched rows; default: none")
    parser.add_argument(
        "--text", type=pathlib.Path, metavar="DIR", help="write the rows there and no more"
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("-o", "--output", help="the page to put the table into")
    options = parser.parse_args()
    every = rows()
    for name in options.rows:
        if name not in every:
            parser.error(f"there is no row {name}; rows are {', '.join(every)}")
    chosen = {name: every[name] for name in options.rows or every}
    return (make if options.action == "make" else time_rows)(options, chosen)


if __name__ == "__main__":
    sys.exit(main())
