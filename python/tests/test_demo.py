# ===- test_demo.py - The first command of the README -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scripts/demo.sh goes its whole way, on one operator for a minute.

The operator is one whose default lowering is far from the best, so that a minute
finds a winner even on a busy machine.
"""

import json
import re
import subprocess

from conftest import GOLDEN, ROOT


def test_demo(tmp_path):
    model = GOLDEN / "conv3x3.mlir"
    result = subprocess.run(
        ["scripts/demo.sh", model, "1", tmp_path],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
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
