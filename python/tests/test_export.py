# ===- test_export.py - Exports for models of PyTorch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What fastk-bank export reads of problems and Definitions, and what it makes of them.

No GPU is here: an extension is not compiled, and its kernel not called.
"""

import json
import subprocess
import sys
import types

import pytest
import torch
from compiled import BIN
from conftest import ROOT

from fastk import flashinfer
from fastk.importer import ImporterError
from fastk.kernelbench import reference

RELU = ROOT / "test" / "Bank" / "Inputs" / "cuda-v1"
SHIPPED = ROOT / "winners"
DEFINITION = ROOT / "test" / "Bank" / "Inputs" / "relu-definition.json"

PROBLEM = '''"""A problem; its forward pass."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 64
unused = 3

def width():
    """Of the layer."""
    return helper() * 2

def helper():
    return rows

class Base(nn.Module):
    pass

class Model(Base):
    """Doc."""

    def __init__(self):
        super(Model, self).__init__()
        self.bias = nn.Parameter(torch.randn(width()))

    def forward(self, x):
        return F.softmax(x, dim=1)

def get_inputs():
    return [torch.rand(rows * 64, 65536)]

def get_init_inputs():
    return []
'''


def export(bank, *options, status=0):
    done = subprocess.run(
        [BIN / "fastk-bank", "export", bank, *options],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "FASTK_PYTHON": sys.executable},
        timeout=600,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_reference_is_the_model_without_its_forward():
    text = reference.reference_source(PROBLEM, "p.py")
    for gone in ("forward", "pass", "unused", "math", "functional", "get_inputs", "Model)", "Doc"):
        assert gone not in text
    scope = {}
    exec(text, scope)
    torch.manual_seed(1)
    drawn = scope["Reference"]().bias
    exec(PROBLEM, scope)
    torch.manual_seed(1)
    assert torch.equal(drawn, scope["Model"]().bias)


@pytest.mark.parametrize(
    "text, what",
    [
        ("x = (", "is no Python"),
        ("class Other: ...", "has no class 'Model'"),
        ("def run(): ...\nclass Model:\n  def __init__(self): run()", "calls something run"),
    ],
)
def test_what_is_no_problem_is_named(text, what):
    with pytest.raises(ImporterError, match=what):
        reference.reference_source(text, "p.py")


def definition(**changes):
    return {**json.loads(DEFINITION.read_text()), **changes}


def test_open_axes_are_given():
    assert flashinfer.sizes_of(definition(), {"M": 64}) == {"M": 64, "N": 128}
    for given, what in (({}, "leaves the axes M open"), ({"M": 1, "N": 1}, "no open axis 'N'")):
        with pytest.raises(ImporterError, match=what):
            flashinfer.sizes_of(definition(), given)


@pytest.mark.parametrize(
    "tensor, what",
    [
        ({"shape": None, "dtype": "float32"}, "is a scalar"),
        ({"shape": ["K"], "dtype": "float32"}, "axis 'K' that is not defined"),
        ({"shape": ["N"], "dtype": "float4_e2m1"}, "float4_e2m1, which fastk has not"),
    ],
)
def test_inputs_that_no_winner_takes_are_named(tensor, what):
    with pytest.raises(ImporterError, match=what):
        flashinfer.input_specs(definition(inputs={"x": tensor}), {"N": 128})


def test_files_that_are_no_definitions_are_named(tmp_path):
    path = tmp_path / "d.json"
    for text, what in (("{", "cannot be read"), ("{}", "has no 'name'"), ("[]", "has no 'name'")):
        path.write_text(text)
        with pytest.raises(ImporterError, match=what):
            flashinfer.read(path)


@pytest.fixture
def answer(tmp_path):
    """The export for the problem, as text."""
    problem = tmp_path / "problem.py"
    problem.write_text(PROBLEM)
    out = tmp_path / "out"
    said = export(SHIPPED, "--format=kernelbench", f"--reference={problem}", f"--to={out}")
    assert "1 winner written" in said
    return (out / "softmax_8e523910.py").read_text()


def test_an_answer_to_kernelbench(answer, monkeypatch):
    built = {}

    def load_inline(**options):
        built.update(options)
        return types.SimpleNamespace(launch=None)

    monkeypatch.setattr("torch.utils.cpp_extension.load_inline", load_inline)
    # As the harness does: after the problem, in one scope.
    scope = {}
    exec(PROBLEM, scope)
    torch.manual_seed(42)
    drawn = scope["Model"]().bias
    exec(answer, scope)
    torch.manual_seed(42)
    model = scope["ModelNew"]()
    assert torch.equal(model.bias, drawn)
    assert "__global__" in built["cuda_sources"][0]
    assert "PYBIND11_MODULE" in built["cpp_sources"][0]
    for operand, what in (
        (torch.empty(4096, 65536), "is on cpu"),
        (torch.empty(64, 64), "the kernel is for"),
        (torch.empty(4096, 65536, dtype=torch.float16), "is torch.float16, not torch.float32"),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            model(operand)


def test_a_problem_with_try_is_refused(tmp_path):
    problem = tmp_path / "problem.py"
    line = "        super(Model, self).__init__()\n"
    tries = line + "        try:\n            x = 1\n        except ValueError:\n            x = 2\n"
    problem.write_text(PROBLEM.replace(line, tries))
    options = ("--format=kernelbench", f"--reference={problem}", f"--to={tmp_path / 'out'}")
    said = export(SHIPPED, *options, status=1)
    assert "static checker would refuse the file for 'try'" in said


def test_a_solution_for_flashinfer(tmp_path):
    axes = {"M": {"type": "var"}, "N": {"type": "const", "value": 65536}}
    code = "import torch\n\ndef run(x):\n    return torch.softmax(x, dim=1)\n"
    path = tmp_path / "softmax.json"
    path.write_text(json.dumps(definition(name="softmax_n65536", axes=axes, reference=code)))
    options = (SHIPPED, "--format=flashinfer", f"--definition={path}", f"--to={tmp_path}")
    said = export(*options, status=1)
    assert "leaves the axes M open" in said and "--axis=M=SIZE" in said
    export(*options, "--axis=M=4096")
    solution = json.loads((tmp_path / "softmax_8e523910.json").read_text())
    assert solution["definition"] == "softmax_n65536"
    assert [each["path"] for each in solution["sources"]] == ["kernel.cu", "binding.cpp"]
    assert 'check(in0, "x", {4096, 65536}' in solution["sources"][1]["content"]


def test_a_package_for_pytorch(tmp_path, monkeypatch):
    export(RELU, "--format=torch", f"--to={tmp_path}")
    monkeypatch.syspath_prepend(tmp_path)
    import relu_0e03df74 as package

    with pytest.raises(TypeError, match="takes 1 tensors, not 2"):
        package.relu_0e03df74(1, 2)
    with pytest.raises(TypeError, match="operand 0 is a int, not a tensor"):
        package.relu_0e03df74(1)
    with pytest.raises(ValueError, match="move it with .cuda()"):
        package.relu_0e03df74(torch.zeros(64, 128))
