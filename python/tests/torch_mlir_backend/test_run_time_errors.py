# ===- test_run_time_errors.py - Models that refuse their inputs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What torch-mlir checks while a model runs is an exception, and no end of Python."""

import pytest
import torch
import torch.nn.functional as F
from compiled import BIN
from torch.export import Dim

from fastk.importer import child
from fastk.torch_mlir import FastkLinalgOnTensorsBackend
from fastk.torch_mlir.errors import Error
from fastk.torch_mlir.text import module_text

ROWS = {0: Dim("rows", min=2, max=1000)}
MORE = {0: Dim("more", min=2, max=1000)}


def embedding(table, places):
    return F.embedding(places, table)


def put(x, places, values):
    return x.index_put((places,), values)


def sums(x, y):
    return x + y


#: function: (inputs it takes, dynamic shapes, inputs it refuses, what it says)
PROGRAMS = {
    embedding: (
        (torch.randn(10, 4), torch.tensor([[1, 9], [0, 3]])),
        None,
        (torch.randn(10, 4), torch.tensor([[1, 10], [0, 3]])),
        "embedding: index must be smaller than dim size",
    ),
    put: (
        (torch.randn(4, 3), torch.tensor([0, -4]), torch.randn(2, 3)),
        None,
        (torch.randn(4, 3), torch.tensor([0, 4]), torch.randn(2, 3)),
        "put: scatter: an index is out of bounds of dimension 0",
    ),
    sums: (
        (torch.randn(5, 3), torch.randn(5, 3)),
        (ROWS, ROWS),
        (torch.randn(5, 3), torch.randn(6, 3)),
        "sums: mismatched size for broadcast",
    ),
}


def import_all(report):
    from torch_mlir import fx

    texts = []
    for function, (inputs, dynamic, _, _) in PROGRAMS.items():
        report(function.__name__)

        class Module(torch.nn.Module):
            def forward(self, *arguments, function=function):
                return function(*arguments)

        program = torch.export.export(
            Module(), inputs, dynamic_shapes=dynamic and (dynamic,), strict=False
        )
        texts.append(
            module_text(
                fx.export_and_import(
                    program,
                    output_type="linalg-on-tensors",
                    func_name=function.__name__,
                )
            )
        )
    return texts


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{function: the loaded model}"""
    bank = tmp_path_factory.mktemp("bank")
    backend = FastkLinalgOnTensorsBackend(banks=[bank], fastk_opt=BIN / "fastk-opt")
    texts = child.run(import_all, "programs", progress=False)
    return {
        function: backend.load(backend.compile(text))
        for function, text in zip(PROGRAMS, texts)
    }


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda each: each.__name__)
def test_refused_inputs(function, models):
    good, _, bad, message = PROGRAMS[function]
    call = getattr(models[function], function.__name__)
    for _ in range(3):
        torch.testing.assert_close(call(*good), function(*good))
        with pytest.raises(Error) as error:
            call(*bad)
        assert message in str(error.value)
