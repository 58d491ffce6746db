# ===- test_op_table.py - Every op against a reference -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each op of the dialects of tensors, in each type, on its edge values.

Program and oracle are lowered by one compiler, and could be wrong together: the
third opinion is mpmath's. On the host both run; for a GPU both are compiled and
assembled.
"""

import os
import re
import subprocess

import gpu_results
import numpy
import op_jobs
import op_launch
import pytest
from compiled import BIN, fastk
from conftest import ROOT
from all_rows import DIALECTS, GROUPS, REFUSED, ROWS, WITHOUT_ROW, rows_of
from op_programs import Program, compare


#: Set FASTK_ALL_ROWS to run every row: five minutes of two cores.
SAMPLE = not os.environ.get("FASTK_ALL_ROWS")


def test_every_op_has_a_row_or_a_reason():
    listed = subprocess.run(
        [BIN / "fastk-test-codegen", "--list-ops"],
        text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip
    registered = {op for op in listed if op.partition(".")[0] in DIALECTS}
    assert len(registered) > 200
    have = {row.op for row in ROWS}
    assert have & set(WITHOUT_ROW) == set()
    assert have | set(WITHOUT_ROW) == registered


def test_rows_have_names_of_their_own():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


def test_the_page_lists_every_op():
    page = (ROOT / "docs" / "ops.md").read_text()
    listed = set(re.findall(r"(?m)^(?:\| |- )`([a-z]+\.\w+)`", page))
    assert listed == {row.op for row in ROWS} | set(WITHOUT_ROW)


def run(program, folder, *options):
    model, inputs = program.write(folder)
    fastk("fastk-run", model, inputs, "--outputs", folder / "out", *options)
    return program.read(folder / "out")


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("role", ["program", "oracle"])
def test_results_on_the_host(role, group, tmp_path):
    program = Program(rows_of(group, role, sample=SAMPLE))
    results = run(program, tmp_path, *(["--oracle"] if role == "oracle" else []))
    findings = [
        compare(row, parts, role)
        for row, parts in zip(program.rows, results, strict=True)
    ]
    assert [str(finding) for finding in findings if finding.deviates] == []


@pytest.mark.parametrize("group", GROUPS)
def test_results_of_jobs_on_the_host(group, tmp_path):
    """What a search judges, and the oracle that it judges by."""
    gpu_results.pack(tmp_path, "host", [group], SAMPLE)
    results = tmp_path / "results.npz"
    assert op_launch.run(tmp_path, results, 2, seconds=300, timeout=300) == 0
    _, found = gpu_results.findings(tmp_path, results)
    findings = [*found["program"].values(), *found["oracle"].values()]
    rows = [
        row
        for role in ("program", "oracle")
        for row in rows_of(group, role, "host", SAMPLE)
    ]
    assert len(findings) == len(rows)
    assert [str(finding) for finding in findings if finding.deviates] == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("role", ["program", "oracle"])
def test_code_for_a_gpu_is_assembled(role, group, tmp_path):
    target = "cuda:sm_90a"
    program = Program(rows_of(group, role, target, SAMPLE))
    workload = op_jobs.form(program, tmp_path, target)
    op_jobs.compile_role(workload, role, tmp_path / role)
    plan = op_jobs.assemble(tmp_path / role, tmp_path / "cubin")
    code = (tmp_path / role / "kernel.ptx").read_text()
    assert code.count(".entry") == len(plan["steps"]) >= 1


@pytest.mark.parametrize("op", REFUSED)
def test_what_has_no_lowering_is_refused(op, tmp_path):
    model = tmp_path / "refused.mlir"
    model.write_text(REFUSED[op])
    for target in ("host", "cuda:sm_90a"):
        options = [f"--target={target}", "--emit=so", "-o", tmp_path / "out.so"]
        said = fastk("fastk-opt", model, *options, status=1).stderr
        assert f"refused.mlir:" in said
        assert f"error: '{op}' op has no lowering: " in said
        assert "(required by 'fastk.default_lowering')" in said


def one_of_each(field):
    """A row of each op and variant that is refused, with f32 where there is one."""
    found = {}
    for row in ROWS:
        if getattr(row, field):
            found.setdefault((row.op, row.variant), []).append(row)
    return [
        next((row for row in rows if "f32" in row.operands), rows[0])
        for rows in found.values()
    ]


@pytest.mark.parametrize(
    "row", [*one_of_each("refused_on_gpu"), *one_of_each("refused_in_workloads")],
    ids=lambda row: row.name,
)  # fmt: skip
def test_what_has_no_kernel_is_refused(row, tmp_path):
    model = tmp_path / "refused.mlir"
    model.write_text(Program([row]).workload_text)
    lowered = tmp_path / "lowered.mlir"
    lower = ["fastk-opt", model, "--fastk-lower-workloads=target=cuda:sm_90a", "-o"]
    if row.refused_in_workloads:
        said = fastk(*lower, lowered, status=1).stderr
        assert row.refused_in_workloads in said
        return
    fastk(*lower, lowered)
    compile = ["--target=cuda:sm_90a", "--emit=so", "-o", tmp_path / "out.so"]
    said = fastk("fastk-opt", lowered, *compile, status=1).stderr
    assert f"error: {row.refused_on_gpu}" in said


def test_scalars_outside_of_loops(tmp_path):
    """What a model does to single numbers is lowered elsewhere."""
    (tmp_path / "scalars.mlir").write_text(
        """
func.func @f(%x: tensor<f64>, %n: tensor<i64>) -> (tensor<f64>, tensor<i64>) {
  %a = tensor.extract %x[] : tensor<f64>
  %b = tensor.extract %n[] : tensor<i64>
  %p = math.fpowi %a, %b : f64, i64
  %q = math.ipowi %b, %b : i64
  %0 = tensor.from_elements %p : tensor<f64>
  %1 = tensor.from_elements %q : tensor<i64>
  return %0, %1 : tensor<f64>, tensor<i64>
}"""
    )
    numpy.save(tmp_path / "x.npy", numpy.array(-1.5))
    numpy.save(tmp_path / "n.npy", numpy.array(7))
    inputs = f"--inputs={tmp_path}/x.npy,{tmp_path}/n.npy"
    for option in ([], ["--oracle"]):
        fastk("fastk-run", tmp_path / "scalars.mlir", inputs, "--outputs",
              tmp_path / "out", *option)  # fmt: skip
        assert numpy.load(tmp_path / "out/out0.npy") == (-1.5) ** 7
        assert numpy.load(tmp_path / "out/out1.npy") == 7**7
