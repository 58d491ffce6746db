# ===- cuda_on_host.py - Programs for GPUs, on the host -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs a program and its plan, in CUDA-C, without a GPU: launch after launch, thread after
thread.

It must have no shared memory. Where it reads or writes beyond its operands, its results
or its workspaces, or at an address that is no multiple of an access, it fails.
"""

import json
import pathlib
import re
import subprocess

import numpy

HEADER = pathlib.Path(__file__).with_suffix(".h")
DTYPES = {
    "f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i8": "i1",
    "i1": "?",
}  # fmt: skip


def without_assembly(program):
    """The program with C++ in place of the header's inline assembly, and of includes."""
    for name, value in (
        ("maxs_f32", "largest(a, b)"), ("mins_f32", "smallest(a, b)"), ("divide", "a / b"),
    ):  # fmt: skip
        program = re.sub(
            rf"(float fk_{name}\(float a, float b\)) {{.*}}", rf"\1 {{ return {value}; }}", program
        )
    load = re.compile(r'asm volatile\("ld\.global\.nc\.L1.*?\);\n', re.S)
    program = load.sub("to = *from;\n", program)
    program = re.sub(r"#include <cuda_(fp16|bf16)\.h>\n", "", program)
    assert not re.search(r"\basm\b", program)
    return program


def run_program(job, arrays, folder):
    """The one result of a job's candidate on arrays in its operands' order."""
    description = json.loads((job / "job.json").read_text())
    plan = description["programs"]["candidate"]["plan"]
    outputs = [(each["shape"], DTYPES[each["type"]]) for each in description["outputs"]]
    [result] = run_plan((job / "candidate.cu").read_text(), plan, arrays, outputs, folder)
    return result


def run_plan(program, plan, arrays, outputs, folder):
    """The results of a program on arrays in its operands' order; of each output a shape
    and an element type of numpy."""
    sizes = {f"in{number}": array.nbytes for number, array in enumerate(arrays)}
    for number, array in enumerate(arrays):
        array.tofile(folder / f"in{number}.bin")
    for number, (shape, dtype) in enumerate(outputs):
        size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        sizes[f"out{number}"] = size
    for number, each in enumerate(plan.get("workspaces", [])):
        sizes[f"ws{number}"] = each["bytes"]
    places = {name: number for number, name in enumerate(sizes)}
    lines = [
        f'#include "{HEADER}"',
        without_assembly(program),
        f"static Memory buffers[{len(sizes)}];",
    ]
    for number, step in enumerate(plan["steps"]):
        arguments = ", ".join(f"buffers[{places[each]}]" for each in step["arguments"])
        lines.append(f"static void thread{number}() {{ {step['launch']}({arguments}); }}")
    lines.append("int main() {")
    lines += [f"  buffers[{places[each]}].make({sizes[each]});" for each in sizes]
    for number in range(len(arrays)):
        lines.append(f'  buffers[{places[f"in{number}"]}].read("in{number}.bin");')
    for number, step in enumerate(plan["steps"]):
        lines.append(f"  runGrid({step['grid'][0]}, {step['block'][0]}, thread{number});")
    for number in range(len(outputs)):
        lines.append(f'  buffers[{places[f"out{number}"]}].write("out{number}.bin");')
    lines.append("}")
    source = folder / "program.cpp"
    source.write_text("\n".join(lines))
    command = ["clang++-22", "-std=c++20", "-O1", "-w", "-fsanitize=alignment,bounds"]
    command += ["-fno-sanitize-recover=all", source, "-o", folder / "program"]
    for each in (command, [folder / "program"]):
        done = subprocess.run(
            each, cwd=folder, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr[:4000]
    return [
        numpy.fromfile(folder / f"out{number}.bin", dtype).reshape(shape)
        for number, (shape, dtype) in enumerate(outputs)
    ]
