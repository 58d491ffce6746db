# ===- test_import_conversions.py - module.half() and its like -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Functions that convert their module, which torch cannot do with fake tensors."""

import json

import pytest

TIED = """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.back = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
        self.back.weight = self.words.weight
        self.norm = nn.BatchNorm1d(11)

    def forward(self, x):
        return self.norm(self.back(self.words(x)))


def build():
    return Tied().eval().to(torch.float16), (torch.zeros(3, dtype=torch.int64),)
"""
#: 4 TB of weights: only fake tensors can hold them.
HUGE = """
def build():
    size = 1 << 20
    return nn.Linear(size, size).half(), (torch.randn(2, size).half(),)
"""
RECURRENT = """
def build():
    return nn.LSTM(4, 5).double(), (torch.randn(3, 2, 4).double(),)
"""
TWICE = """
def build():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval()
    return model.double().to(torch.bfloat16), (torch.randn(2, 3, 8, 8).bfloat16(),)
"""


@pytest.mark.parametrize(
    ("text", "dtype", "weights"),
    [(TIED, "f16", 6), (HUGE, "f16", 2), (RECURRENT, "f64", 4), (TWICE, "bf16", 7)],
    ids=["tied", "huge", "recurrent", "twice"],
)
def test_a_converted_module(importer, model, tmp_path, parses, text, dtype, weights):
    out = tmp_path / "out.mlir"
    result = importer(model(text), "-o", out, "--quiet")
    assert result.returncode == 0, result.stderr
    parses(out.read_text())
    arguments = json.loads((tmp_path / "out.mlir.json").read_text())["arguments"]
    own = [each for each in arguments if each["role"] != "input"]
    # One of the weights that are tied.
    assert len(own) == weights
    floats = {each["dtype"] for each in own if each["dtype"] != "i64"}
    assert floats == {dtype}
