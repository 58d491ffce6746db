# ===- test_demo.py - The first command of the README -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scripts/demo.sh goes its whole way, on one operator.

The operator is one whose default lowering is far from the best, 3.8 times in
docs/benchmarks/golden.md: a minute finds a winner. On a busy machine it may not, then the
demo says what to do.
"""

import json
import re
import subprocess

import pytest

from conftest import GOLDEN, ROOT

MODEL = GOLDEN / "attention_f16_small.mlir"


def demo(folder, minutes, model=MODEL):
    return subprocess.run(
        ["scripts/demo.sh", model, minutes, folder],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


def test_too_little_time_says_so(tmp_path):
    # No winner of this one is found so soon.
    model = GOLDEN / "conv3x3.mlir"
    result = demo(tmp_path, "0.01", model)
    assert result.returncode == 2, result.stdout + result.stderr
    assert f"scripts/demo.sh {model} 0.03 {tmp_path}" in result.stderr
    assert "What was found" not in result.stdout


@pytest.mark.measures
def test_demo(tmp_path):
    # What it was told to do, until the machine is quiet enough for a second measurement.
    minutes = 1
    for _ in range(3):
        result = demo(tmp_path, str(minutes))
        if result.returncode != 2:
            break
        minutes *= 3
        assert f"{MODEL} {minutes} {tmp_path}" in result.stderr
    output = result.stdout
    assert result.returncode == 0, output + result.stderr
    assert "again.mlir equals" in output
    assert "fastk-opt: 1 workload: 1 hit, 0 misses, 0 stale" in result.stderr
    assert re.search(r"check: result 0: .* \(ieee\): ok", output)
    speed = re.search(r"in the same run: ([0-9.]+)x as fast", output)
    assert float(speed.group(1)) > 1
    assert (tmp_path / "report.json").exists()
    (workload,) = json.loads((tmp_path / "report.json").read_text())["workloads"]
    assert workload["name"]
