# ===- test_window_programs.py - What windows' programs compute -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Instances of window-registers compute what the default lowering does.

They run on the host, thread after thread (cuda_on_host.py).
"""

import re

import numpy
import pytest
from compiled import fastk, run_model
from cuda_on_host import DTYPES, run_program

# Along x and along channels, of one to three dimensions, with what becomes of a
# sum; none of bf16, which numpy does not have.
SAMPLES = [3, 5, 12, 25, 57]


def sample(number, folder):
    """The function, and its operands' order in the canonical form."""
    path = folder / "sample.mlir"
    draw = f"core=window seed=0 first={number} count=1"
    fastk("fastk-opt", "/dev/null", f"--fastk-sample-workloads={draw}", "-o", path)
    formed = fastk(
        "fastk-opt",
        path,
        "--fastk-form-workloads=fusion=whole",
        "--fastk-canonicalize-workloads",
    ).stdout
    operands = re.search(r'fastk\.workload "\w+"\((.*?)\) \{', formed)[1]
    order = [int(each) for each in re.findall(r"%arg(\d+)", operands)]
    types = re.search(r"@sample_\d+\((.*?)\) ->", formed)[1]
    shapes = [
        ([int(size) for size in shape.split("x")[:-1]], shape.split("x")[-1])
        for shape in re.findall(r"tensor<(.*?)>", types)
    ]
    return path, order, shapes


@pytest.mark.parametrize("number", SAMPLES)
def test_instances_compute_what_the_default_lowering_does(number, tmp_path):
    path, order, shapes = sample(number, tmp_path)
    random = numpy.random.default_rng(number)
    arrays = [
        random.standard_normal(shape).astype(DTYPES[element])
        for shape, element in shapes
    ]
    [expected] = run_model(path, arrays, tmp_path, "--fusion=whole")
    spool = tmp_path / "jobs"
    fastk(
        "fastk-opt",
        path,
        "--fusion=whole",
        "--target=cuda:sm_90a",
        f"--bank={tmp_path}/bank",
        "--search",
        "--proposer=families",
        "--ideas=1",
        "--implementations=1",
        f"--evaluator=spool:{spool}",
        "-o",
        tmp_path / "out.mlir",
        status=75,
    )
    jobs = sorted(spool.glob("job-*/candidate.cu"))
    assert jobs
    tolerance = 1e-5 if expected.dtype == numpy.float32 else 4e-3
    for candidate in jobs:
        if "combineWindows" not in candidate.read_text():
            continue
        made = run_program(candidate.parent, [arrays[n] for n in order], tmp_path)
        numpy.testing.assert_allclose(made, expected, tolerance, tolerance)
