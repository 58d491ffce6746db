# ===- host_stages.py - The catalog's C programs, two versions -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times the C programs that two versions of the catalog write for files.

    .venv/bin/python benchmarks/host_stages.py --before=OLD --after=NEW FILE...

OLD and NEW are programs fastk-test-catalog of two builds. Both programs of a
file run in one process on the same buffers, in turns: blocks of calls of about
--block milliseconds, --rounds times, each first in every second round. What is
compared is the 10th percentile of each, as other work on the machine makes
blocks longer and none shorter. Results have to agree. Exit codes: 0 done; 1
wrong use, or something does not compile; 2 results differ.

A FILE may also be "product:MxNxK", of f32 matrices; "product:MxNxK:nk", whose
second one lies by columns; "product:MxNxK:f16", of f16 with an f32 result; or
"norm:MxKxN", two products with a norm of MxK rows between; or
"softmax:ROWSxCOLUMNS", of f32, "softmax:ROWSxCOLUMNS:f16", or
"softmax:ROWSxCOLUMNSxROWS", whose columns lie apart, likewise logsoftmax,
layernorm, rmsnorm, sum and max; or what host_places.py and host_attention.py
have. NAME=VALUE, a parameter of the catalog, is for the files behind it; "after:NAME=VALUE" for
NEW alone.
"""

import argparse
import ctypes
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import host_attention
import host_places
import host_rows
import numpy

#: As lib/Conversion/C/CProgram.cpp compiles.
FLAGS = (
    "-std=gnu17 -O3 -march=native -fopenmp -ffp-contract=fast-honor-pragmas -fno-math-errno "
    "-fno-trapping-math -fPIC -shared"
).split()

TIMER = """
#include <time.h>
typedef void *p;
void call(void (*f)(p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p), p *a) {
  f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19]);
}
double seconds(void *f, p *a, long calls) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < calls; ++i)
    call(f, a);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9) / calls;
}
"""

TYPES = {
    "f64": numpy.float64,
    "f32": numpy.float32,
    "f16": numpy.float16,
    "i64": numpy.int64,
    "i32": numpy.int32,
    "i8": numpy.int8,
    "i1": numpy.uint8,
}
#: Of the largest element: what two orders of summing may differ by.
DIFFERENT = {"f4": 2e-5, "f2": 4e-3, "f8": 1e-12}


PRODUCT = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> ({layout})>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @f(%a: tensor<{m}x{k}x{type}>, %b: tensor<{columns}x{type}>) -> tensor<{m}x{n}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %p = linalg.generic {{indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}} ins(%a, %b : tensor<{m}x{k}x{type}>, tensor<{columns}x{type}>) outs(%i : tensor<{m}x{n}xf32>) {{
  ^bb0(%{x}: {type}, %{y}: {type}, %acc: f32):
{wide}    %t = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  }} -> tensor<{m}x{n}xf32>
  return %p : tensor<{m}x{n}xf32>
}}
"""

WIDEN = """    %x = arith.extf %x0 : f16 to f32
    %y = arith.extf %y0 : f16 to f32
"""

NORM = """
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: tensor<{m}x{n}xf32>, %b: tensor<{n}x{k}xf32>, %c: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{k}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{m}x{k}xf32>) -> tensor<{m}x{k}xf32>
  %p = linalg.matmul ins(%a, %b : tensor<{m}x{n}xf32>, tensor<{n}x{k}xf32>) outs(%i : tensor<{m}x{k}xf32>) -> tensor<{m}x{k}xf32>
  %er = tensor.empty() : tensor<{m}xf32>
  %ir = linalg.fill ins(%z : f32) outs(%er : tensor<{m}xf32>) -> tensor<{m}xf32>
  %s = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}} ins(%p : tensor<{m}x{k}xf32>) outs(%ir : tensor<{m}xf32>) {{
  ^bb0(%x: f32, %acc: f32):
    %q = arith.mulf %x, %x : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  }} -> tensor<{m}xf32>
  %n = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}} ins(%p, %s : tensor<{m}x{k}xf32>, tensor<{m}xf32>) outs(%e : tensor<{m}x{k}xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = math.rsqrt %y : f32
    %t = arith.mulf %x, %r : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{k}xf32>
  %e2 = tensor.empty() : tensor<{m}x{n}xf32>
  %i2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %p2 = linalg.matmul ins(%n, %c : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%i2 : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %p2 : tensor<{m}x{n}xf32>
}}
"""


def written(name, folder):
    """The file, or one with what the name describes."""
    kind, *parts = name.split(":")
    if kind not in ("product", "norm", *host_rows.KINDS, *host_places.KINDS, *host_attention.KINDS):
        return name
    sizes = [int(size) for size in parts[0].split("x")]
    if kind in host_attention.KINDS:
        text = host_attention.text(name, sizes, parts[1:])
    elif kind in host_places.KINDS:
        text = host_places.text(kind, sizes, parts[1:])
    elif kind in host_rows.KINDS:
        text = host_rows.text(kind, sizes, "f16" if "f16" in parts else "f32")
    elif kind == "norm":
        m, k, n = sizes
        text = NORM.format(m=m, k=k, n=n)
    else:
        m, n, k = sizes
        element = "f16" if "f16" in parts else "f32"
        by_columns = "nk" in parts
        text = PRODUCT.format(
            m=m,
            n=n,
            k=k,
            type=element,
            layout="n, k" if by_columns else "k, n",
            columns=f"{n}x{k}" if by_columns else f"{k}x{n}",
            x="x0" if element == "f16" else "x",
            y="y0" if element == "f16" else "y",
            wide=WIDEN if element == "f16" else "",
        )
    path = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".mlir")
    path.write_text(text)
    return str(path)


class Program:
    """A C program of the catalog, compiled and loaded."""

    def __init__(self, tool, file, parameters, folder, timer):
        source = subprocess.run(
            [tool, file, *parameters], text=True, capture_output=True, check=False
        )
        if source.returncode:
            sys.exit(f"error: {tool} {file}: {source.stderr.strip()}")
        # Behind the program, which has comments of its own.
        program, _, rest = source.stdout.rpartition("\n// stages ")
        notes = [line.split() for line in ("stages " + rest).split("\n// ")]
        self.inputs = [note[1:] for note in notes if note[0] == "input"]
        self.outputs = [note[1:] for note in notes if note[0] == "output"]
        self.stages = next(note[1:] for note in notes if note[0] == "stages")
        self.parameters = dict(
            note[1:] for note in notes if note[0] == "parameter" and len(note) == 3
        )
        self.workspace = int(next(n[1] for n in notes if n[0] == "workspace"))
        path = pathlib.Path(folder) / f"{len(os.listdir(folder))}.c"
        path.write_text(program + "\n")
        library = path.with_suffix(".so")
        subprocess.run(["clang-22", *FLAGS, path, "-o", library, "-lm"], check=True)
        self.library = ctypes.CDLL(str(library))
        self.timer = timer

    def prepare(self, buffers):
        self.results = [aligned(int(count), TYPES[kind]) for count, kind in self.outputs]
        self.scratch = aligned(self.workspace + 64, numpy.uint8)
        pointers = [each.ctypes.data for each in [*buffers, *self.results, self.scratch]]
        self.arguments = (ctypes.c_void_p * 20)(*pointers)

    def run(self, calls):
        return self.timer.seconds(self.library.fastk_kernel, self.arguments, calls)


def aligned(count, kind):
    """A buffer that begins at a page, as mapped ones do."""
    size = count * numpy.dtype(kind).itemsize
    raw = numpy.zeros(size + 4096, numpy.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start : start + size].view(kind)


def draw(inputs, random):
    buffers = []
    for count, kind in inputs:
        buffer = aligned(int(count), TYPES[kind])
        if kind == "i1":
            buffer[:] = random.integers(0, 2, buffer.size)
        elif kind.startswith("i"):
            buffer[:] = random.integers(0, 4, buffer.size)
        else:
            buffer[:] = random.uniform(-0.5, 0.5, buffer.size)
        buffers.append(buffer)
    return buffers


def difference(before, after):
    """Of all results, in units of what is allowed."""
    worst = 0.0
    for x, y in zip(before.results, after.results, strict=True):
        if x.dtype.kind != "f":
            worst = max(worst, 0.0 if (x == y).all() else math.inf)
            continue
        x, y = x.astype(numpy.float64), y.astype(numpy.float64)
        if not (numpy.isnan(x) == numpy.isnan(y)).all():
            return math.inf
        scale = numpy.nanmax(numpy.abs(x)) if x.size else 0
        off = numpy.nanmax(numpy.abs(x - y)) if x.size else 0
        allowed = DIFFERENT[before.results[0].dtype.str[1:]] * max(scale, 1e-30)
        worst = max(worst, off / allowed)
    return worst


def measure(before, after, options):
    calls = max(1, int(options.block * 1e-3 / max(before.run(2), 1e-7)))
    times = {before: [], after: []}
    for number in range(options.rounds):
        order = [before, after] if number % 2 else [after, before]
        for program in order:
            program.run(1)
            times[program].append(program.run(calls))
    return [numpy.percentile(times[each], 10) for each in (before, after)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--block", type=float, default=5.0, help="milliseconds")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    helper = pathlib.Path(folder) / "timer.c"
    helper.write_text(TIMER)
    subprocess.run(
        ["clang-22", "-O2", "-fPIC", "-shared", helper, "-o", f"{folder}/timer.so"],
        check=True,
    )
    timer = ctypes.CDLL(f"{folder}/timer.so")
    timer.seconds.restype = ctypes.c_double
    random = numpy.random.default_rng(1)
    ratios, is_wrong = [], False
    parameters, of_after = [], []
    print("| file | threads | stages | before | after | speed-up |\n|---|---|---|---|---|---|")
    processors = sorted(os.sched_getaffinity(0))
    for file in options.files:
        if file.startswith("after:"):
            of_after.append(file.removeprefix("after:"))
            continue
        if "=" in file:
            parameters.append(file)
            continue
        for threads in map(int, options.threads.split(",")):
            given = [f"threads={threads}", *parameters]
            model = written(file, folder)
            before = Program(options.before, model, given, folder, timer)
            after = Program(options.after, model, [*given, *of_after], folder, timer)
            buffers = draw(before.inputs, random)
            before.prepare(buffers)
            after.prepare(buffers)
            before.run(1)
            after.run(1)
            off = difference(before, after)
            x, y = measure(before, after, options)
            ratios.append(x / y)
            name = " ".join([pathlib.Path(file).stem, *parameters])
            stages = " ".join(after.stages)
            print(
                f"| {name} | {threads} | {stages} | {x * 1e6:.1f} µs | {y * 1e6:.1f} µs "
                f"| {x / y:.3f}{' WRONG' if off > 1 else ''} |",
                flush=True,
            )
            is_wrong |= off > 1
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\nGeometric mean {mean:.3f}, least {min(ratios):.3f}; load {os.getloadavg()[0]:.1f}")
    sys.exit(2 if is_wrong else 0)


if __name__ == "__main__":
    main()
