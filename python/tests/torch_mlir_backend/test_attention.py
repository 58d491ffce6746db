# ===- test_attention.py - Attention that torch-mlir keeps whole -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""tm_tensor.attention, which needs an import that decomposes nothing."""

import functools

import pytest
import torch
import torch.nn.functional as F
from compiled import BIN

from fastk.importer import child
from fastk.torch_mlir import FastkLinalgOnTensorsBackend
from fastk.torch_mlir.text import module_text


def inputs(*more, dtype=torch.float32):
    torch.manual_seed(1)
    shapes = (2, 4, 6, 8), (2, 4, 5, 8), (2, 4, 5, 8)
    return (*(torch.randn(shape, dtype=dtype) for shape in shapes), *more)


#: name: (inputs, options)
PROGRAMS = {
    "plain": (inputs(), {}),
    "scaled": (inputs(), {"scale": 0.5}),
    "added_mask": (inputs(torch.linspace(-2, 2, 240).reshape(2, 4, 6, 5)), {}),
    "causal": (tuple(x[:, :, :5] for x in inputs()), {"is_causal": True}),
    "double": (inputs(dtype=torch.float64), {}),
    "half": (inputs(dtype=torch.float16), {}),
    "brain": (inputs(dtype=torch.bfloat16), {"scale": 0.25}),
}


class Attention(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options = options

    def forward(self, *arguments):
        return F.scaled_dot_product_attention(*arguments, **self.options)


@functools.cache
def imported():
    def task(report):
        from torch_mlir import fx

        texts = {}
        for name, (arguments, options) in PROGRAMS.items():
            report(name)
            texts[name] = module_text(
                fx.export_and_import(
                    torch.export.export(Attention(options), arguments),
                    output_type="linalg-on-tensors",
                    func_name=name,
                    decomposition_table={},
                    backend_legal_ops=["aten.scaled_dot_product_attention"],
                )
            )
        return texts

    return child.run(task, "attention", progress=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_attention(name, tmp_path):
    text = imported()[name]
    assert "tm_tensor.attention" in text
    backend = FastkLinalgOnTensorsBackend(banks=[tmp_path], fastk_opt=BIN / "fastk-opt")
    model = backend.load(backend.compile(text))
    arguments, options = PROGRAMS[name]
    got = getattr(model, name)(*arguments)
    # Rounded once, to the type of the result.
    exact = Attention(options)(*(x.double() for x in arguments))
    eps = torch.finfo(got.dtype).eps
    assert got.dtype == arguments[0].dtype
    torch.testing.assert_close(got.double(), exact, rtol=4 * eps, atol=16 * eps)
