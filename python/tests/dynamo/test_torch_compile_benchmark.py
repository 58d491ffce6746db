# ===- test_torch_compile_benchmark.py - benchmarks/torch_compile.py -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the tables of docs/benchmarks/torch-compile.md are made by follows the backend."""

import json
import os
import subprocess
import sys

import pytest
from compiled import BIN
from conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "torch_compile.py"

MODEL = """import torch

def model():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()), (torch.ones(4, 8),)
"""


@pytest.fixture
def run(tmp_path):
    """Runs the script as a user with empty caches; what it printed."""
    environment = {
        "FASTK_OPT": str(BIN / "fastk-opt"),
        "FASTK_TORCH_CACHE": str(tmp_path / "store"),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
    }

    def call(*arguments):
        return subprocess.run(
            [sys.executable, SCRIPT, *arguments], env=os.environ | environment,
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    return call


def test_a_row_is_of_graphs_that_fastk_took(run, tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    rows = tmp_path / "rows.jsonl"
    run("run", f"{tmp_path}/model.py:model", "--device=cpu", "--rounds=1", f"--out={rows}")
    (row,) = map(json.loads, rows.read_text().splitlines())
    assert "failed" not in row and row["told"] == []
    assert row["workloads"] > 0
    assert "1 models: geometric mean" in run("table", str(rows))


def test_the_table_says_what_was_left_to_inductor(run, tmp_path):
    row = {
        "model": "m.py:f", "dtype": "f32", "batch": 1, "mode": "default", "workloads": 0,
        "hits": 0, "ops": [], "inductor": 1e-3, "fastk": 1e-3, "ratio": 1.0, "low": 0.9,
        "high": 1.1, "noise": 0.01, "inductor_error": 0, "fastk_error": 0,
        "told": ["fastk failed and leaves a graph to Inductor: TypeError"],
    }  # fmt: skip
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(row) + "\n")
    assert "m.py:f: fastk failed and leaves" in run("table", str(rows))
