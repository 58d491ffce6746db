# ===- test_peer_backend.py - torch-mlir's two methods -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""compile and load: what they take and return, and what they say when they cannot."""

import os
import pathlib
import pickle
import tempfile

import numpy
import pytest
import torch
from compiled import BIN
from conftest import ROOT

from fastk.torch_mlir import CompiledModel, Error, FastkLinalgOnTensorsBackend
from fastk.torch_mlir.text import pack_bools

SEVERAL = """
func.func @several(%x: tensor<2x3xf32>, %n: i64)
    -> (tensor<2x3xf32>, i64, f64, i1, tensor<i32>) {
  %one = arith.constant 1 : i64
  %m = arith.addi %n, %one : i64
  %f = arith.sitofp %n : i64 to f64
  %b = arith.cmpi slt, %n, %one : i64
  %t = arith.trunci %n : i64 to i32
  %r = tensor.from_elements %t : tensor<i32>
  %e = tensor.empty() : tensor<2x3xf32>
  %s = linalg.add ins(%x, %x : tensor<2x3xf32>, tensor<2x3xf32>)
                  outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %s, %m, %f, %b, %r : tensor<2x3xf32>, i64, f64, i1, tensor<i32>
}
func.func @other(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
"""

POSITIVE = """
func.func @positive(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %enough = arith.cmpi uge, %size, %two : index
  cf.assert %enough, "two or more are needed"
  %e = tensor.empty(%size) : tensor<?xf32>
  %a = linalg.abs ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
"""

COUNT = """
ml_program.global private mutable @count(dense<7> : tensor<i64>) : tensor<i64>
func.func @count_up() -> (tensor<i64>, i64) {
  %one = arith.constant 1 : i64
  %old = ml_program.global_load @count : tensor<i64>
  %n = tensor.extract %old[] : tensor<i64>
  %m = arith.addi %n, %one : i64
  %new = tensor.insert %m into %old[] : tensor<i64>
  ml_program.global_store @count = %new : tensor<i64>
  return %old, %m : tensor<i64>, i64
}
"""


@pytest.fixture(autouse=True)
def reproducers(monkeypatch):
    """They go where the scratch fixture says, and not where the first one went."""
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    bank = tmp_path_factory.mktemp("bank")
    return FastkLinalgOnTensorsBackend(banks=[bank], fastk_opt=BIN / "fastk-opt")


@pytest.fixture(scope="module")
def several(backend):
    return backend.load(backend.compile(SEVERAL))


@pytest.fixture(scope="module")
def positive(backend):
    return backend.load(backend.compile(POSITIVE))


def test_results_of_every_kind(several):
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    tensor, integer, real, boolean, scalar = several.several(x, 4)
    numpy.testing.assert_array_equal(tensor, x + x)
    assert (integer, real, boolean) == (5, 4.0, False)
    assert [type(each) for each in (integer, real, boolean)] == [int, float, bool]
    # A tensor of rank 0 is no number.
    assert isinstance(scalar, numpy.ndarray) and scalar.shape == ()
    assert scalar.dtype == numpy.int32 and scalar == 4


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T.copy().T,
        lambda x: x[::-1],
        lambda x: numpy.frombuffer(b"...." + x.tobytes(), "f4", offset=4).reshape(2, 3),
    ],
    ids=["strided", "backward", "unaligned, read only"],
)
def test_arrays_of_any_layout(several, view):
    x = view(numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
    before = x.copy()
    numpy.testing.assert_array_equal(several.several(x, 0)[0], before + before)
    numpy.testing.assert_array_equal(x, before)


def test_tensors_for_tensors(several):
    x = torch.tensor([1.5, -2, 3, 4], dtype=torch.bfloat16)
    result = several.other(x)
    assert result.dtype == torch.bfloat16 and torch.equal(result, x)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "several takes 2 arrays, not 0"),
        ((numpy.zeros((3, 2), "f4"), 1), r"input 0 of several is \(2, 3\) of f32"),
        ((numpy.zeros((2, 3)), 1), "f32, not .* of torch.float64"),
        ((numpy.zeros((2, 3), "f4"), 1.5), "i64, not .* of torch.float64"),
    ],
)
def test_wrong_arguments(several, arguments, message):
    with pytest.raises(Error, match=message):
        several.several(*arguments)


def test_an_unknown_function(several):
    with pytest.raises(AttributeError, match="the model has no function 'nothing'"):
        _ = several.nothing


def test_an_artifact_can_be_kept(backend):
    artifact = pickle.loads(pickle.dumps(backend.compile(SEVERAL)))
    assert "0 hits" in artifact.summary
    first, second = backend.load(artifact), backend.load(artifact)
    x = numpy.ones((2, 3), "f4")
    assert first.several(x, 1)[1] == second.several(x, 1)[1] == 2


def test_sizes_that_a_call_decides(positive):
    for count in (2, 5, 64):
        x = numpy.linspace(-1, 1, count, dtype=numpy.float32)
        result = positive.positive(x)
        numpy.testing.assert_array_equal(result, abs(x))
        # Memory of its own, that stays as long as the array.
        x[:] = 0
        assert result[0] == 1


def test_an_error_at_run_time(positive):
    with pytest.raises(Error, match="positive: .*two or more are needed"):
        positive.positive(numpy.zeros(1, "f4"))
    assert positive.positive(-numpy.ones(2, "f4")).tolist() == [1, 1]


def test_state_goes_on_from_call_to_call(backend):
    artifact = backend.compile(COUNT)
    model = backend.load(artifact)
    assert [model.count_up() for _ in range(3)] == [(7, 8), (8, 9), (9, 10)]
    # Of a loaded model, not of the artifact.
    assert backend.load(artifact).count_up() == (7, 8)


def test_winners_are_applied():
    backend = FastkLinalgOnTensorsBackend(
        banks=[ROOT / "test/Bank/Inputs/v1"],
        fastk_opt=BIN / "fastk-opt",
        options=["--winners-from=any"],
    )
    artifact = backend.compile((ROOT / "test/Driver/Inputs/relu.mlir").read_text())
    assert "1 hit, 0 misses" in artifact.summary


def test_a_module_that_does_not_compile(backend):
    with pytest.raises(Error, match="error: .*unregistered dialect") as error:
        backend.compile('func.func @f() { "nothing.at_all"() : () -> () return }')
    reproducer = pathlib.Path(error.value.reproducer)
    assert "nothing.at_all" in reproducer.read_text()
    assert f"run: {BIN / 'fastk-opt'} {reproducer} --precision=ieee" in str(error.value)


@pytest.mark.parametrize(
    "body, timeout, message",
    [
        ("kill -SEGV $$", 60, "fastk-opt crashed with SIGSEGV"),
        ("exec sleep 60", 0.2, "takes longer than 0.2 s"),
        ("exit 3", 60, "fastk-opt left with 3"),
    ],
)
def test_a_compiler_that_ends_badly(tmp_path, body, timeout, message):
    program = tmp_path / "fastk-opt"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    backend = FastkLinalgOnTensorsBackend(fastk_opt=program, timeout=timeout)
    with pytest.raises(Error, match=message) as error:
        backend.compile("module {}")
    assert pathlib.Path(error.value.reproducer).exists()


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("FASTK_OPT", raising=False)
    with pytest.raises(Error, match="there is no fastk-opt: name it by fastk_opt="):
        FastkLinalgOnTensorsBackend().compile("module {}")
    with pytest.raises(Error, match="cannot run /nowhere/fastk-opt: No such file"):
        FastkLinalgOnTensorsBackend(fastk_opt="/nowhere/fastk-opt").compile("module {}")


def test_a_relative_name_is_of_this_folder(monkeypatch):
    monkeypatch.chdir(BIN.parent)
    monkeypatch.setenv("FASTK_OPT", f"{BIN.name}/fastk-opt")
    assert FastkLinalgOnTensorsBackend().compile(POSITIVE).library


def test_a_forked_process_leaves_the_library(backend):
    model = backend.load(backend.compile(POSITIVE))
    child = os.fork()
    if child == 0:
        model._remove()  # as at its exit
        os._exit(0)
    os.waitpid(child, 0)
    assert model.positive(-numpy.ones(2, "f4")).tolist() == [1, 1]


def test_bools_are_packed():
    text = '%0 = arith.constant dense<"0x{}"> : tensor<3x3xi1>'
    assert pack_bools(text.format("010000010101000001")) == text.format("3901")
    # In bits already, and no bools.
    assert pack_bools(text.format("3901")) == text.format("3901")
    other = 'dense<"0x0001"> : tensor<2xi8>'
    assert pack_bools(other) == other


def test_an_artifact_is_shown_in_a_line():
    model = CompiledModel(b"x" * 1000000, "warning: a\nfastk-opt: 2 workloads\n")
    shown = "CompiledModel(a library of 1000000 bytes; fastk-opt: 2 workloads)"
    assert repr(model) == shown
    assert len(repr(CompiledModel(b"", ""))) < 80
