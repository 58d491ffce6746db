# ===- test_gpu_results.py - The table of ops taken elsewhere -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""gpu_results.py: what it packs, what it runs, and what it reports.

The host's libraries go the way that those for a GPU go.
"""

import contextlib
import io
import json

import gpu_results
import numpy
import op_launch
import pytest
from conftest import python
from all_rows import rows_of

SCRIPT = gpu_results.__file__
GROUP = "f32_complex"


def command(name, folder, *options, status=0, **more):
    result = python(SCRIPT, name, folder, *options, **more)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    command("pack", folder, "--target=host", f"--group={GROUP}")
    # No other machine has these.
    absent = tmp_path_factory.mktemp("absent")
    for module in ("mpmath", "pytest", "torch"):
        (absent / f"{module}.py").write_text("raise ImportError('not here')")
    assert "ran, 0 did not" in command("run", folder, path=[absent])
    return folder


def changed(packed, tmp_path, change):
    """A file of the results after `change`."""
    with numpy.load(packed / "results.npz") as file:
        arrays = dict(file)
    change(arrays)
    numpy.savez(tmp_path / "results.npz", **arrays)
    return tmp_path / "results.npz"


def report(folder, results, status):
    """What the command `report` prints; here, where references are computed once."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert gpu_results.report(folder, results) == status
    return said.getvalue()


def key_of(packed, row, role):
    manifest = json.loads((packed / "manifest.json").read_text())
    (program,) = (p for p in manifest["programs"] if p["role"] == role)
    return f"{program['name']}/{program['results'][program['rows'].index(row)]}"


def test_what_is_right_is_reported_right(packed):
    count = len(rows_of(GROUP)) + len(rows_of(GROUP, "oracle"))
    text = command("report", packed)
    assert text == f"{count} rows on the host: 0 deviate, 0 without a result\n"


@pytest.mark.parametrize("role", gpu_results.ROLES)
def test_one_wrong_bit_is_found(role, packed, tmp_path):
    def change(arrays):
        bits = arrays[key_of(packed, "complex.abs.f32", role)].view("u1")
        bits[-1] ^= 0x80  # a sign

    results = changed(packed, tmp_path, change)
    text = report(packed, results, status=2)
    assert f"| complex.abs.f32 | {role} |" in text
    assert "1 deviate, 0 without a result" in text


def test_a_row_without_a_result_is_reported(packed, tmp_path):
    def change(arrays):
        del arrays[key_of(packed, "complex.exp.f32", "program")]

    results = changed(packed, tmp_path, change)
    text = report(packed, results, status=1)
    assert "| complex.exp.f32 | program | | | | no result |" in text


def test_another_table_is_refused(packed, tmp_path):
    manifest = json.loads((packed / "manifest.json").read_text())
    manifest["programs"][0]["digest"] = "0"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    results = f"--results={packed / 'results.npz'}"
    result = python(SCRIPT, "report", tmp_path, results)
    assert result.returncode == 1
    assert "is of another table: pack it again" in result.stderr


def test_what_cannot_run_is_said(packed, tmp_path):
    manifest = json.loads((packed / "manifest.json").read_text())
    for program in manifest["programs"]:
        program["code"] = program["role"] + ".so"
        program["inputs"] = [str(packed / file) for file in program["inputs"]]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "program.so").symlink_to(packed / GROUP / "program" / "kernel.so")
    text = command("run", tmp_path, status=1)
    rows = len(rows_of(GROUP, "oracle"))
    assert f"{GROUP}.oracle, all {rows} rows: " in text
    assert f"{len(rows_of(GROUP))} rows ran, {rows} did not" in text
    text = report(tmp_path, tmp_path / "results.npz", status=1)
    assert f"0 deviate, {rows} without a result" in text


def test_code_for_a_gpu_is_packed(tmp_path):
    command("pack", tmp_path, f"--group={GROUP}")
    assert (tmp_path / "libfastk_runtime.so").exists()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [p["name"] for p in manifest["programs"]] == [
        f"{GROUP}.{role}" for role in gpu_results.ROLES
    ]
    for program in manifest["programs"]:
        assert (tmp_path / program["code"]).read_bytes()[:4] == b"\x7fELF"
        plan, outputs = program["plan"], range(len(program["outputs"]))
        if program["whole"]:
            assert program["role"] == "oracle"
            continue
        assert op_launch.steps_for(plan, outputs) == plan["steps"]
        for output in outputs:
            steps = op_launch.steps_for(plan, [output])
            assert steps[-1]["arguments"][-1] == f"out{output}"
            assert len(steps) <= 6


def test_a_result_waits_for_what_it_reads():
    steps = [
        {"launch": "a", "arguments": ["in0", "ws0"]},
        {"launch": "b", "arguments": ["in1", "out0"]},
        {"launch": "c", "arguments": ["ws0", "out0", "out1"]},
        {"memset": "ws0+256", "bytes": 8},
        {"launch": "d", "arguments": ["out1", "ws0+256", "out2"]},
        {"launch": "e", "arguments": ["in1", "out0"]},
    ]
    plan = {"steps": steps}
    assert op_launch.steps_for(plan, [0]) == steps[5:]
    assert op_launch.steps_for(plan, [1]) == steps[:3]
    assert op_launch.steps_for(plan, [2]) == steps[:5]
    with pytest.raises(op_launch.Unusable, match="makes out3"):
        op_launch.steps_for(plan, [3])


def test_what_fails_is_isolated():
    made = []

    def attempt(outputs):
        if 5 in outputs:
            raise op_launch.Failure("fault")
        if 9 in outputs:
            raise op_launch.Unusable("no time")
        made.extend(outputs)

    parts = op_launch.halves([*range(10)])
    assert op_launch.isolate(parts, attempt) == {
        5: "fault", 7: "no time", 8: "no time", 9: "no time",
    }  # fmt: skip
    assert made == [0, 1, 2, 3, 4, 6]
