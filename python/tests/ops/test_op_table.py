# ===- test_op_table.py - Every scalar op against a reference -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each op of arith, math and complex, in each type, on its edge values.

Program and oracle are lowered by one compiler, and could be wrong together: the
third opinion is mpmath's. On the host both run; for a GPU both are compiled and
assembled.
"""

import collections
import re
import subprocess
import sys

import numpy
import pytest
from compiled import BIN, fastk
from conftest import ROOT
from op_programs import Program, compare
from op_table import ROWS, WITHOUT_ROW

#: Dialects whose scalar ops have rows.
DIALECTS = ("arith", "math", "complex")
#: The oracle's errors: of C's functions in f64, and of sums of them.
ORACLE_ULPS = 4


def group_of(row):
    return row.operands[-1] + ("_complex" if row.is_complex else "")


GROUPS = collections.defaultdict(list)
for row in ROWS:
    GROUPS[group_of(row)].append(row)


def test_every_op_has_a_row_or_a_reason():
    listed = subprocess.run(
        [BIN / "fastk-test-codegen", "--list-ops"],
        text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip
    registered = {op for op in listed if op.partition(".")[0] in DIALECTS}
    assert len(registered) > 100
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
def test_program_on_the_host(group, tmp_path):
    program = Program(GROUPS[group])
    results = run(program, tmp_path)
    findings = map(compare, program.rows, results)
    assert [str(f) for f in findings if f.error > f.row.ulps] == []


@pytest.mark.parametrize("group", GROUPS)
def test_oracle_on_the_host(group, tmp_path):
    program = Program([row for row in GROUPS[group] if row.has_oracle])
    results = run(program, tmp_path, "--oracle")
    bad = []
    for row, parts in zip(program.rows, results, strict=True):
        finding = compare(row, parts, "f64")
        if finding.error > (row.ulps if row.is_complex else min(row.ulps, ORACLE_ULPS)):
            bad.append(str(finding))
    assert bad == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("role", ["program", "oracle"])
def test_code_for_a_gpu_is_assembled(role, group, tmp_path):
    rows = GROUPS[group]
    if role == "oracle":
        rows = [row for row in rows if row.has_oracle]
    model, _ = Program(rows).write(tmp_path)
    formed, one = tmp_path / "formed.mlir", tmp_path / "lowering.mlir"
    fastk(
        "fastk-opt", model, "--fastk-form-workloads=fusion=whole",
        "--fastk-lower-workloads=target=cuda:sm_90a", "-o", formed,
    )  # fmt: skip
    with one.open("w") as file:
        script = ROOT / "test" / "Driver" / "Inputs" / "only_lowering.py"
        subprocess.run([sys.executable, script, formed], stdout=file, check=True)
    folder = tmp_path / role
    fastk(
        "fastk-opt", one, "--target=cuda:sm_90a", "-o", folder,
        f"--compile-kernel={role}",
    )  # fmt: skip
    ptxas = next(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas"))
    subprocess.run(
        [ptxas, "-arch=sm_90a", folder / "kernel.ptx", "-o", folder / "cubin"],
        check=True,
    )
    code = (folder / "kernel.ptx").read_text()
    assert code.count(".entry") >= 1


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
