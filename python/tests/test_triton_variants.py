# ===- test_triton_variants.py - Around from_triton, without Triton -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What of fastk.from_triton and its benchmark needs no Triton."""

import json
import re
import subprocess
import sys

import pytest
import tomllib
from conftest import PYTHON, ROOT

import fastk
from fastk.triton_kernels import NEWEST, OLDEST, Error

BENCHMARK = ROOT / "benchmarks" / "triton_variants.py"


def test_without_triton_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(Error, match=r"pip install 'fastk\[triton\]'"):
        fastk.from_triton(print, (1,), [], to=tmp_path)


def test_one_range_of_versions_and_one_pin():
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    first, behind = ".".join(map(str, OLDEST)), f"{NEWEST[0]}.{NEWEST[1] + 1}"
    assert project["optional-dependencies"]["triton"] == [f"triton>={first},<{behind}"]
    recorded = re.search(
        r'TRITON = "([\d.]+)"', (ROOT / "scripts" / "regenerate-triton.py").read_text()
    )[1]
    assert f"triton=={recorded}" in (ROOT / "scripts" / "install-deps.sh").read_text()
    heads = [
        path.read_text().split("\n")[0]
        for path in (ROOT / "test/Inputs/triton").rglob("kernel.ptx")
    ]
    assert len(heads) == 4 and all(f"Triton {recorded}: " in head for head in heads)


def verdict(idea, status="ok", seconds=0.0, reason="", title="", language="ptx"):
    return {
        "idea": idea, "title": title or idea, "language": language, "status": status,
        "reason": reason, "seconds": seconds, "baseline_seconds": 4e-5 if seconds else 0.0,
    }  # fmt: skip


def table(folder, workload):
    (folder / "softmax").mkdir()
    (folder / "softmax" / "report.json").write_text(
        json.dumps({"workloads": [workload]})
    )
    result = subprocess.run(
        [sys.executable, BENCHMARK, "table", folder], capture_output=True, text=True, check=True
    )  # fmt: skip
    return result.stdout.splitlines()


def test_the_table_says_who_won(tmp_path):
    lines = table(
        tmp_path,
        {
            "name": "softmax", "shapes": "8x8xf32", "baseline_seconds": 4e-5,
            "winner": {"idea": "families/reduction-rows-0"},
            "verdicts": [
                verdict("files/a", seconds=2e-5, title="Triton's a"),
                verdict("files/b", seconds=3e-5),
                verdict("files/c", status="refused", reason="why"),
                verdict("families/reduction-rows-0", seconds=1e-5, title="rows", language="cuda"),
                verdict("catalog/x", status="wrong", reason="off | by one"),
            ],
        },
    )  # fmt: skip
    assert lines[2:] == [
        "| softmax: softmax 8x8xf32 | default lowering |  | 40.00 | 1.00 |  |  |",
        "|  | Triton | Triton's a (ptx) | 20.00 | 2.00 | 2 of 3 |  |",
        "|  | catalog | none: off \\| by one | - | - | 0 of 1 |  |",
        "|  | families | rows (cuda) | 10.00 | 4.00 | 1 of 1 | stored |",
    ]


def test_without_reports_the_error_says_what_to_do(tmp_path):
    result = subprocess.run(
        [sys.executable, BENCHMARK, "table", tmp_path], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert result.returncode == 1
    assert "has no */report.json: run search first" in result.stderr
