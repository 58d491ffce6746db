# ===- test_library.py - Compiled models on torch tensors -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk.library.Library calls what --emit=so writes, for the host and for a GPU."""

import pytest
import torch
from compiled import BIN, fastk
from conftest import GOLDEN

from fastk.library import Error, Library


def compile_model(folder, name, *options):
    (folder / "bank").mkdir(exist_ok=True)
    output = folder / f"{name}.so"
    model = GOLDEN / f"{name}.mlir"
    bank = f"--bank={folder / 'bank'}"
    fastk("fastk-opt", model, bank, "--emit=so", "-o", output, *options)
    return output


def arguments(library, device="cpu"):
    torch.manual_seed(1)
    shapes = [each["shape"] for each in library.signature["inputs"]]
    return [torch.randn(shape, device=device) for shape in shapes]


def test_a_library_for_the_host(tmp_path):
    softmax = Library(compile_model(tmp_path, "softmax_small"))
    (x,) = arguments(softmax)
    (result,) = softmax(x)
    torch.testing.assert_close(result, torch.softmax(x, 1))
    out = torch.full_like(x, torch.nan)
    assert softmax(x, out=[out])[0] is out
    assert torch.equal(out, result)
    softmax.prepare()  # nothing to do


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: [], "forward has 1 inputs, not 0"),
        (lambda x: [x[1:]], "input 0 of forward is (23, 157) of f32, not (22, 157)"),
        (lambda x: [x.double()], "of f32, not (23, 157) of torch.float64"),
        (lambda x: [x.t().contiguous().t()], "is not contiguous"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, change, message):
    softmax = Library(compile_model(tmp_path, "softmax_small"))
    with pytest.raises(Error) as error:
        softmax(*change(*arguments(softmax)))
    assert message in str(error.value)


def test_an_unknown_function(tmp_path):
    with pytest.raises(Error, match="has no function 'backward'"):
        Library(compile_model(tmp_path, "softmax_small"), "backward")


def test_a_library_for_a_gpu(tmp_path, monkeypatch):
    """Where a GPU is it runs; elsewhere it loads, and refuses CPU tensors."""
    monkeypatch.setenv("FASTK_RUNTIME", str(BIN.parent / "lib/libfastk_runtime.so"))
    path = compile_model(tmp_path, "matmul_odd_small", "--target=cuda:sm_90a")
    matmul = Library(path)
    assert matmul.target == "cuda:sm_90a"
    with pytest.raises(Error, match="is on cpu, the library is compiled for cuda"):
        matmul(*arguments(matmul))
    if torch.cuda.is_available():
        a, b = arguments(matmul, "cuda")
        torch.testing.assert_close(matmul(a, b)[0], a @ b)
