# ===- test_exported_kernelbench.py - Its steps without a GPU -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""benchmarks/exported_kernelbench.py: export and check on a checkout of the tests' own, with a
checker of their own in the place of KernelBench's; the table."""

import importlib.util
import json

import pytest
from compiled import BIN
from conftest import ROOT

SOFTMAX = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.{}(x, dim=1)


def get_inputs():
    return [torch.rand(4096, 65536)]


def get_init_inputs():
    return []
"""
CHECKER = """def validate_kernel_static(code, backend, precision):
    assert (backend, precision) == ("cuda", "fp32")
    return "ModelNew" in code, [], ["said"]
"""


@pytest.fixture(scope="module")
def script():
    path = ROOT / "benchmarks" / "exported_kernelbench.py"
    spec = importlib.util.spec_from_file_location("exported_kernelbench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    level = tmp_path / "kb" / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "23_Softmax.py").write_text(SOFTMAX.format("softmax"))
    (level / "3_Other.py").write_text(SOFTMAX.format("cumsum"))
    source = tmp_path / "kb" / "src" / "kernelbench"
    source.mkdir(parents=True)
    (source / "kernel_static_checker.py").write_text(CHECKER)
    return tmp_path / "kb"


def test_exports_and_checks(script, checkout, tmp_path, capsys):
    out = tmp_path / "out"
    options = [str(checkout), f"--output={out}", f"--bank={ROOT / 'winners'}"]
    options += ["--steps=export,check", f"--fastk-bank={BIN / 'fastk-bank'}"]
    assert script.main(options) == 0
    rows = json.loads((out / "rows.json").read_text())
    assert rows["1/23_Softmax"] == {
        "answer": "1-23_Softmax/softmax_8e523910.py",
        "checker": "valid",
        "said": ["said"],
    }
    assert "no winner for this key" in rows["1/3_Other"]["reason"]
    assert "2 problems, 1 exported, 0 right" in capsys.readouterr().out


def test_options_that_are_wrong(script, checkout, tmp_path, capsys):
    out = f"--output={tmp_path / 'out'}"
    for options, what in (
        ([str(tmp_path), out], "has no folder KernelBench"),
        ([str(checkout), out, "--problems=4"], "level 1 has no problem 4"),
        ([str(checkout), out, "--problems=x"], "write numbers"),
        ([str(checkout), out, "--steps=time"], "there is no step time"),
    ):
        assert script.main(options) == 1
        assert what in capsys.readouterr().err


def test_the_table_counts_what_has_no_answer(script):
    right = {"answer": "a/k.py", "status": "correct", "ms": 1.0}
    text = script.table(
        {
            "1/1_A": {**right, "eager_ms": 8.0, "compile_ms": 4.0},
            "1/2_B": {**right, "status": "wrong", "eager_ms": 2.0},
            "1/3_C": {"reason": "a | b"},
        }
    )
    assert "| 1/1_A | k |  | correct | 1 | 8 | 4 | 4 |  |" in text
    assert "a \\| b" in text
    assert "3 problems, 2 exported, 1 right" in text and "faster" in text
    # 4 and twice 1.
    assert "geometric mean of those 4, of all with 1.0 where there is no answer 1.59" in text


def test_a_child_that_says_nothing(script, tmp_path):
    assert script.run_child("import sys; sys.exit('no GPU')", [], tmp_path, 60) == {
        "status": "failed: no GPU"
    }
    assert script.run_child("while True: ...", [], tmp_path, 1) == {
        "status": "no end within 1 s"
    }
