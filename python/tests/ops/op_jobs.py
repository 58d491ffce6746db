# ===- op_jobs.py - Rows as the programs of a job -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Compiles a program of rows as a search does: the lowering, and its oracle.

All rows become one workload. For a GPU that is machine code and a plan of its
launches, for the host a library.
"""

import dataclasses
import json
import re
import subprocess
import sys

from compiled import fastk
from conftest import ROOT

ONLY_LOWERING = ROOT / "test" / "Driver" / "Inputs" / "only_lowering.py"


@dataclasses.dataclass
class Workload:
    """The one workload of a function."""

    #: The file that holds its lowering.
    path: object
    target: str
    #: Of each of its operands, which of the function's it is.
    inputs: list
    #: Of each of the function's results, which of the workload's it is.
    results: list


def form(program, folder, target):
    """Makes one workload of the program; leaves files in `folder`."""
    model, _ = program.write(folder)
    formed = folder / "formed.mlir"
    forming = ["--fastk-form-workloads=fusion=whole"]
    if program.has_tensors:
        # What only moves elements is left out where workloads are formed.
        model.write_text(program.workload_text)
        forming = []
    fastk(
        "fastk-opt", model, *forming, f"--fastk-lower-workloads=target={target}",
        "-o", formed,
    )  # fmt: skip
    path = folder / "lowering.mlir"
    with path.open("w") as file:
        command = [sys.executable, ONLY_LOWERING, formed]
        subprocess.run(command, stdout=file, check=True)
    # Workloads order their operands and results as they like.
    text = formed.read_text()
    call = r"(?m)^ *%(\w+)\S* = fastk\.call @\w+\((.*?)\)"
    ((name, operands),) = re.findall(call, text)
    (returned,) = re.findall(r"(?m)^ *return (.*) : ", text)
    inputs = re.findall(r"%arg(\d+)", operands)
    results = re.findall(rf"%{name}(?:#(\d+))?(?=,|$)", returned)
    assert len(results) == len(program.result_rows), "a result is not the workload's"
    return Workload(path, target, [*map(int, inputs)], [int(r or 0) for r in results])


def compile_role(workload, role, output):
    """The workload's program or oracle: a library, or a folder with PTX and a plan."""
    fastk(
        "fastk-opt", workload.path, f"--target={workload.target}", "-o", output,
        f"--compile-kernel={role}",
    )  # fmt: skip


def assemble(folder, cubin):
    """Assembles the code in a folder of compile_role; returns the plan."""
    ptxas = next(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas"))
    subprocess.run(
        [ptxas, "-arch=sm_90a", folder / "kernel.ptx", "-o", cubin], check=True
    )
    return json.loads((folder / "plan.json").read_text())
