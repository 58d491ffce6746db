# ===- test_library.py - Compiled models on torch tensors -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk.library.Library calls what --emit=so writes, for the host and for a GPU."""

import ctypes
import gc
import subprocess

import pytest
import torch
from compiled import BIN, fastk
from conftest import GOLDEN, python

from fastk.library import Error, Library


def compile_model(folder, name, *options, emit="so"):
    (folder / "bank").mkdir(exist_ok=True)
    output = folder / f"{name}.{emit}"
    model = GOLDEN / f"{name}.mlir"
    bank = f"--bank={folder / 'bank'}"
    fastk("fastk-opt", model, bank, f"--emit={emit}", "-o", output, *options)
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


#: A library for a GPU as far as opening and closing it goes.
PRETENDED = r"""
int released;
const char fastk_signature_forward[] =
    "{\"target\": \"cuda:sm_90a\", \"inputs\": [], \"outputs\": []}";
int fastk_packed_forward(void **buffers) { return 0; }
int fastk_prepare_forward(void) { return 0; }
void fastk_release_forward(void) { ++released; }
void fastk_set_stream(void *stream) {}
const char *fastk_last_error(void) { return ""; }
void fastk_clear_error(void) {}
"""


@pytest.fixture
def pretended(tmp_path):
    (tmp_path / "gpu.c").write_text(PRETENDED)
    path = tmp_path / "gpu.so"
    subprocess.run(
        ["clang-22", "-shared", "-fPIC", "-o", path, tmp_path / "gpu.c"], check=True
    )
    return path


def released(library):
    return ctypes.c_int.in_dll(library.handle, "released").value


def test_what_a_gpu_holds_is_given_back_once(pretended):
    with Library(pretended) as model:
        assert released(model) == 0
    assert released(model) == 1
    model.close()
    assert released(model) == 1
    with pytest.raises(Error, match="forward is closed: make another Library"):
        model()
    with pytest.raises(Error, match="forward is closed"):
        model.prepare()


def test_what_a_collected_library_holds_is_given_back(pretended):
    first, second = Library(pretended), Library(pretended)
    del first
    gc.collect()
    # The same function, and it is still in use.
    assert released(second) == 0
    third = Library(pretended)
    del second
    gc.collect()
    assert released(third) == 0
    handle = third.handle
    del third
    gc.collect()
    assert ctypes.c_int.in_dll(handle, "released").value == 1


def test_a_library_for_the_host_is_closed(tmp_path):
    softmax = Library(compile_model(tmp_path, "softmax_small"))
    x = arguments(softmax)
    softmax.close()
    with pytest.raises(Error, match="forward is closed"):
        softmax(*x)


OPEN = """
func.func @forward(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  %row = tensor.extract_slice %x[0, 0] [1, 3] [1, 1]
      : tensor<?x3xf32> to tensor<3xf32>
  return %x, %row : tensor<?x3xf32>, tensor<3xf32>
}
"""


def test_sizes_that_a_call_decides(tmp_path):
    (tmp_path / "open.mlir").write_text(OPEN)
    bank = f"--bank={tmp_path}"
    output = tmp_path / "open.so"
    fastk("fastk-opt", tmp_path / "open.mlir", bank, "--emit=so", "-o", output)
    library = Library(output)
    for rows in (1, 7):
        x = torch.randn(rows, 3)
        result, row = library(x)
        assert torch.equal(result, x) and torch.equal(row, x[0])
    assert [each is None for each in library.empty()] == [True, False]
    with pytest.raises(Error, match=r"input 0 of forward is \(\?, 3\) of f32, not"):
        library(torch.randn(2, 4))
    with pytest.raises(Error, match="has results of any size: leave out= out"):
        library(x, out=[x, x[0]])


def test_it_is_no_command():
    result = python("-m", "fastk.library", "model.so")
    assert result.returncode == 1
    assert "is no command" in result.stderr and "remedy:" in result.stderr


def test_a_plan_file(tmp_path, monkeypatch):
    """Where a GPU is it runs; elsewhere it is read, and refuses CPU tensors."""
    monkeypatch.setenv("FASTK_RUNTIME", str(BIN.parent / "lib/libfastk_runtime.so"))
    path = compile_model(
        tmp_path, "matmul_odd_small", "--target=cuda:sm_90a", emit="plan"
    )
    with Library(path) as matmul:
        assert matmul.target == "cuda:sm_90a"
        assert [len(matmul.signature[key]) for key in ("inputs", "outputs")] == [2, 1]
        with pytest.raises(Error, match="is on cpu, the library is compiled for cuda"):
            matmul(*arguments(matmul))
        if torch.cuda.is_available():
            a, b = arguments(matmul, "cuda")
            torch.testing.assert_close(matmul(a, b)[0], a @ b)
    with pytest.raises(Error, match="forward is closed"):
        matmul.prepare()


def test_plan_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTK_RUNTIME", str(BIN.parent / "lib/libfastk_runtime.so"))
    path = compile_model(
        tmp_path, "matmul_odd_small", "--target=cuda:sm_90a", emit="plan"
    )
    with pytest.raises(Error, match="there is no function 'backward': the model has"):
        Library(path, "backward")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(Error, match="is cut short; write it again with fastk-opt"):
        Library(path)
    path.unlink()
    with pytest.raises(Error, match="No such file or directory"):
        Library(path)
