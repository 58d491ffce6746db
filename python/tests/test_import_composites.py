# ===- test_import_composites.py - Ops that PyTorch writes with others -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What torch-mlir cannot lower is taken apart as PyTorch does it, where that can be."""

import numpy
import pytest
from compiled import run_model
from conftest import python

#: A norm of a whole matrix, of its entries and of its columns.
NORM = """
class Norm(nn.Module):
    def forward(self, x):
        return x / torch.linalg.norm(x{})


def build():
    return Norm(), (torch.randn(6, 10),)
"""
#: LAPACK's, which nobody writes with simpler ops.
FACTORS = """
class Factors(nn.Module):
    def forward(self, x):
        return torch.linalg.svdvals(x)


def build():
    return Factors(), (torch.randn(6, 10),)
"""


@pytest.mark.parametrize("arguments", ["", ", 1, dim=(0, 1)"], ids=["entries", "columns"])
def test_a_norm_of_all(importer, model, tmp_path, arguments):
    source, out = model(NORM.format(arguments)), tmp_path / "norm.mlir"
    result = importer(source, "-o", out)
    assert result.returncode == 0, result.stderr
    result = python("-m", "fastk.importer.reference", source, "--outdir", tmp_path)
    assert result.returncode == 0, result.stderr
    (tmp_path / "got").mkdir()
    (got,) = run_model(out, [numpy.load(tmp_path / "in0.npy")], tmp_path / "got")
    numpy.testing.assert_allclose(got, numpy.load(tmp_path / "out0.npy"), rtol=1e-5)


def test_what_nobody_takes_apart_is_named(importer, model, tmp_path):
    result = importer(model(FACTORS), "-o", tmp_path / "factors.mlir")
    assert result.returncode == 1
    assert "torch-mlir cannot lower aten." in result.stderr and "svd" in result.stderr
