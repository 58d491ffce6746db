# ===- cuda_on_host.py - Programs of families, on the host -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs a program of one launch, in CUDA-C, without a GPU: thread after thread.

It must have no shared memory. Where it reads or writes beyond its operands and
its result, or at an address that is no multiple of an access, it fails.
"""

import json
import pathlib
import re
import subprocess

import numpy

HEADER = pathlib.Path(__file__).with_suffix(".h")
DTYPES = {"f32": "f4", "f16": "f2"}


def without_assembly(program):
    """The program with C++ in place of the header's inline assembly."""
    for name, call in (("max", "largest"), ("min", "smallest")):
        program = re.sub(
            rf"(float fk_{name}s_f32\(float a, float b\)) {{.*}}",
            rf"\1 {{ return {call}(a, b); }}",
            program,
        )
    load = re.compile(r'asm volatile\("ld\.global\.nc\.L1.*?\);\n', re.S)
    program = load.sub("to = *from;\n", program)
    assert not re.search(r"\basm\b", program)
    return program


def run_program(job, arrays, folder):
    """The result of a job's candidate on arrays in its operands' order."""
    description = json.loads((job / "job.json").read_text())
    [step] = description["programs"]["candidate"]["plan"]["steps"]
    [result] = description["outputs"]
    dtype = numpy.dtype(DTYPES[result["type"]])
    sizes = [array.nbytes for array in arrays]
    sizes.append(int(numpy.prod(result["shape"])) * dtype.itemsize)
    files = [f"in{number}.bin" for number in range(len(arrays))]
    for array, name in zip(arrays, files, strict=True):
        array.tofile(folder / name)
    last = len(arrays)
    places = [
        last if name == "out0" else int(name.removeprefix("in"))
        for name in step["arguments"]
    ]
    lines = [
        f'#include "{HEADER}"',
        without_assembly((job / "candidate.cu").read_text()),
        f"static Memory buffers[{last + 1}];",
        "static void thread() {",
        f"  {step['launch']}({', '.join(f'buffers[{n}]' for n in places)});",
        "}",
        "int main() {",
        *(f"  buffers[{n}].make({size});" for n, size in enumerate(sizes)),
        *(f'  buffers[{n}].read("{name}");' for n, name in enumerate(files)),
        f"  runGrid({step['grid'][0]}, {step['block'][0]}, thread);",
        f'  buffers[{last}].write("out.bin");',
        "}",
    ]
    source = folder / "program.cpp"
    source.write_text("\n".join(lines))
    command = ["clang++-22", "-std=c++20", "-O1", "-w", "-fsanitize=alignment,bounds"]
    command += ["-fno-sanitize-recover=all", source, "-o", folder / "program"]
    for each in (command, [folder / "program"]):
        done = subprocess.run(
            each, cwd=folder, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr[:4000]
    return numpy.fromfile(folder / "out.bin", dtype).reshape(result["shape"])
