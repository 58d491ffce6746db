# ===- test_raising.py - Norms as torch-mlir spells them -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Norms imported by torch-mlir alone, whose variances are in f64.

fastk-raise-variances makes them f32. The reference is PyTorch in f64; the oracle,
which is f64 before and after, does not change by it.
"""

import re

import numpy
import pytest
import torch
import torch.nn.functional as F
from compiled import fastk, run_model
from torch_modules import Wrap

from fastk.importer import child, import_module


def norms():
    image, w, b = (4, 16, 12, 12), (16,), (16,)
    return {
        "layer_norm": (
            lambda x, w, b: F.layer_norm(x, [384], w, b), [(48, 384), (384,), (384,)]),
        "group_norm": (lambda x, w, b: F.group_norm(x, 4, w, b), [image, w, b]),
        "instance_norm": (F.instance_norm, [image]),
        "batch_norm": (
            lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [image, w, b]),
    }  # fmt: skip


def drawn(shapes):
    generator = torch.Generator().manual_seed(7)
    # A mean that is large beside the deviations is where rounding shows.
    return [torch.randn(shape, generator=generator) + 3 for shape in shapes]


def imported_by_torch_mlir(module, tensors):
    """The text; in a child, for torch-mlir's LLVM is not to meet another one."""

    def task(report):
        from torch_mlir import fx

        return str(fx.export_and_import(
            module, *tensors, output_type="linalg-on-tensors", func_name="forward",
        ))  # fmt: skip

    return child.run(task, "torch-mlir alone", progress=False)


def key_of(model):
    formed = fastk(
        "fastk-opt", model, "--fastk-form-workloads", "--fastk-canonicalize-workloads"
    ).stdout
    (key,) = re.findall(r'fastk\.key = "(\w+)"', formed)
    return key, formed


@pytest.mark.parametrize("name", norms())
def test_norms_of_torch_mlir_are_computed_in_f32(name, tmp_path):
    function, shapes = norms()[name]
    tensors = drawn(shapes)
    spelled = imported_by_torch_mlir(Wrap(function), tensors)
    assert "xf64>" in spelled
    model = tmp_path / "spelled.mlir"
    model.write_text(spelled)
    raised = tmp_path / "raised.mlir"
    fastk("fastk-opt", model, "--fastk-raise-variances", "--canonicalize", "-o", raised)
    assert "xf64>" not in raised.read_text()
    assert "xf64>" not in key_of(model)[1]

    want = function(*(tensor.double() for tensor in tensors)).numpy()
    arrays = [tensor.numpy() for tensor in tensors]
    (got,) = run_model(model, arrays, tmp_path)
    unit = numpy.spacing(numpy.abs(want).max().astype("f4"))
    assert numpy.abs(got - want).max() <= 64 * unit
    # Of f64 but for the order of sums.
    (oracle,) = run_model(model, arrays, tmp_path, "--oracle")
    assert numpy.abs(oracle - want).max() <= 1e-12


def test_a_layer_norm_has_the_key_of_our_importers(tmp_path):
    function, shapes = norms()["layer_norm"]
    tensors = drawn(shapes)
    (tmp_path / "spelled.mlir").write_text(
        imported_by_torch_mlir(Wrap(function), tensors)
    )
    import_module(Wrap(function), tuple(tensors)).write(str(tmp_path / "ours.mlir"))
    assert key_of(tmp_path / "spelled.mlir")[0] == key_of(tmp_path / "ours.mlir")[0]
