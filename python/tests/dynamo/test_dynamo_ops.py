# ===- test_dynamo_ops.py - Programs as torch's ops -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""An op that calls a program takes whatever tensor torch gives it, both where
libfastk_torch calls it and where Python does."""

import gc
import threading
import types
import weakref

import pytest
import torch
from worlds import compiled_library, own_tools  # noqa: F401

from fastk import library
from fastk.dynamo import native, ops
from fastk.dynamo.errors import Unsupported

MODEL = """
func.func @forward(%a: tensor<6x8xf32>, %b: tensor<6x8xf32>)
    -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %e = tensor.empty() : tensor<6x8xf32>
  %s = linalg.sub ins(%a, %b : tensor<6x8xf32>, tensor<6x8xf32>)
                  outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %p = linalg.mul ins(%a, %b : tensor<6x8xf32>, tensor<6x8xf32>)
                  outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %s, %p : tensor<6x8xf32>, tensor<6x8xf32>
}
"""
ONE = ((6, 8), torch.float32)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled_library(tmp_path_factory.mktemp("program"), MODEL)


pytestmark = pytest.mark.usefixtures("own_tools")


@pytest.fixture(params=["native", "python"])
def op(program, request, monkeypatch):
    digest = request.param * 10
    if request.param == "python":
        monkeypatch.setattr(native, "_library", lambda: None)
    kept = len(native._kept)
    known = len(ops._registered)
    op = ops.register(program, digest, "k" * 64, "sub+mul", [ONE] * 2, [ONE] * 2)
    is_new = len(ops._registered) > known
    assert len(native._kept) == kept + (is_new and request.param == "native")
    return op


def check(op, a, b):
    difference, product = op(a, b)
    assert torch.equal(difference, a - b) and torch.equal(product, a * b)
    assert difference.is_contiguous() and product.is_contiguous()
    assert difference.data_ptr() != product.data_ptr()


def test_its_name(op, program):
    assert op.name().startswith("fastk::sub_mul_kkkkkkkk_")
    made = [
        ops.register(program, "d" * 64, "k" * 64, "sub+mul", [ONE] * 2, [ONE] * 2)
        for _ in range(2)
    ]
    assert made[0] is made[1]
    other = ops.register(program, "e" * 64, "k" * 64, "sub+mul", [ONE] * 2, [ONE] * 2)
    assert other.name() != op.name()
    check(other, torch.ones(6, 8), torch.ones(6, 8))


MEMORY = torch.arange(1000.0)

OPERANDS = {
    "plain": torch.randn(6, 8),
    "transposed": torch.randn(8, 6).t(),
    "slice": torch.randn(6, 16)[:, ::2],
    "expanded": torch.randn(1, 8).expand(6, 8),
    "scalar": torch.tensor(2.0).expand(6, 8),
    "misaligned": MEMORY[1:49].view(6, 8),
    "a row later": torch.randn(7, 8)[1:],
    "padded": torch.empty_strided((6, 8), (16, 1)).normal_(),
    "negative": torch.imag(torch.randn(6, 8, dtype=torch.complex64).conj()),
    "needs gradients": torch.randn(6, 8, requires_grad=True),
    "parameter": torch.nn.Parameter(torch.randn(6, 8)),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands(op, name):
    a, b = OPERANDS[name], torch.randn(6, 8)
    with torch.no_grad():
        before = a.clone()
        check(op, a, b)
        check(op, b, a)
        check(op, a, a)
        assert torch.equal(a, before)


def test_operands_of_inference(op):
    with torch.inference_mode():
        check(op, torch.randn(6, 8), torch.randn(6, 8))


def test_its_fake(op):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        made = op(torch.empty(8, 6).t(), torch.empty(6, 8))
    assert [(tuple(each.shape), each.dtype) for each in made] == [ONE] * 2
    assert all(each.is_contiguous() for each in made)


def test_torch_checks_it(op):
    inputs = (torch.randn(6, 8), torch.randn(6, 8))
    torch.library.opcheck(op, inputs, test_utils=("test_schema", "test_faketensor"))


def test_its_tags(op):
    assert torch.Tag.needs_exact_strides in op.tags


def test_threads(op, program):
    """As many as torch has, in each thread that calls, and none that spins."""
    model = library.Library(program)
    call, threads = model.unchecked(), torch.get_num_threads()
    handle, seen = model.handle, []
    made = [torch.empty(6, 8), torch.empty(6, 8)]

    def run():
        call([torch.ones(6, 8), torch.ones(6, 8)], made)
        seen.append(handle.omp_get_max_threads() == torch.get_num_threads())
        seen.append(handle.kmp_get_blocktime() == 0)

    for count in (1, threads + 1):
        torch.set_num_threads(count)
        run()
        check(op, torch.randn(6, 8), torch.randn(6, 8))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    torch.set_num_threads(threads)
    assert seen == [True] * 6


WRONG = [
    ([ONE], [ONE] * 2),
    ([ONE] * 3, [ONE] * 2),
    ([ONE] * 2, [ONE]),
    ([ONE, ((8, 6), torch.float32)], [ONE] * 2),
    ([ONE] * 2, [ONE, ((6, 8, 1), torch.float32)]),
    ([ONE] * 2, [ONE, ((6, 8), torch.float64)]),
    ([ONE] * 2, [ONE, ((6, 8), torch.bool)]),
    ([((6, 8), torch.float16), ONE], [ONE] * 2),
]


@pytest.mark.parametrize("inputs, outputs", WRONG, ids=range(len(WRONG)))
def test_a_program_of_another_region(program, inputs, outputs):
    """It would write over other memory."""
    with pytest.raises(Unsupported, match="its program has"):
        ops.register(program, "d" * 64, "k" * 64, "sub+mul", inputs, outputs)


def test_types_that_are_one_to_programs_are_two_ops(monkeypatch):
    def calls(inputs, outputs):
        outputs[0].copy_(inputs[0])

    want = {"shape": [4], "dtype": "i8"}
    program = types.SimpleNamespace(
        signature={"inputs": [want], "outputs": [want]}, unchecked=lambda: calls
    )
    monkeypatch.setattr(library, "Library", lambda path: program)
    monkeypatch.setattr(native, "_library", lambda: None)  # there is nothing to call
    made = [
        ops.register("", "d" * 64, "k" * 64, "same", [((4,), kind)], [((4,), kind)])
        for kind in (torch.int8, torch.uint8)
    ]
    for op, kind in zip(made, (torch.int8, torch.uint8)):
        assert op(torch.ones(4, dtype=kind)).dtype == kind


def test_who_can_call_it_has_its_file_open(program):
    model = library.Library(program)
    call = model.unchecked()
    lives = weakref.ref(model)
    del model
    gc.collect()
    assert lives() is not None
    made = [torch.empty(6, 8), torch.empty(6, 8)]
    call([torch.ones(6, 8), torch.ones(6, 8)], made)
    assert torch.equal(made[1], torch.ones(6, 8))
    del call
    gc.collect()
    assert lives() is None


def test_who_can_call_a_plan_has_its_file_open(monkeypatch):
    """The runtime would close it, and free what is called."""
    # Where torch has no CUDA.
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", None, raising=False)
    model = library.Library.__new__(library.Library)
    model.closed, model.name = False, "forward"
    model.runtime = types.SimpleNamespace(
        fastk_call_with=types.SimpleNamespace(), fastk_load=types.SimpleNamespace()
    )
    model._found, model.signature = 1, {"workspace": 0}
    call = model.unchecked()
    lives = weakref.ref(model)
    del model
    gc.collect()
    assert lives() is not None
    lives().closed = True
    with pytest.raises(library.Error, match="forward is closed"):
        call([], [])
