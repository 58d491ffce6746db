# ===- test_native_ops.py - Ops that libfastk_torch calls -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What libfastk_torch refuses, and what it does in threads and in forked processes."""

import concurrent.futures
import ctypes
import os
import subprocess
import sys

import pytest
import torch
from worlds import compiled_library, own_tools, run_script  # noqa: F401

from fastk import library
from fastk.dynamo import native, ops

MODEL = """
func.func @forward(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
                     outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
"""
ONE = ((64, 64), torch.float32)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled_library(tmp_path_factory.mktemp("program"), MODEL)


pytestmark = pytest.mark.usefixtures("own_tools")


@pytest.fixture
def op(program, own_tools):  # noqa: F811
    return ops.register(program, "native" * 10, "n" * 64, "product", [ONE] * 2, [ONE])


def check(op):
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    assert torch.allclose(op(a, b), a @ b, atol=1e-4)


def test_a_library_that_comes_later_is_found(monkeypatch):
    """Who sets FASTK_OPT after the first op was made has it for the next."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(library, "installed", lambda name: "/nowhere/it.so")
        assert native._library() is None
    assert native._library() is not None


def test_it_is_called_without_python(op, monkeypatch):
    assert any(kept.name == "forward" for kept in native._kept)
    monkeypatch.setattr(torch, "empty", None)  # which Python's way uses
    check(op)


REFUSED = {
    "sizes": (torch.randn(64, 32), torch.randn(64, 64)),
    "rank": (torch.randn(64 * 64), torch.randn(64, 64)),
    "type": (torch.randn(64, 64, dtype=torch.float64), torch.randn(64, 64)),
    "second": (torch.randn(64, 64), torch.randn(32, 64)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inputs_of_another_kind(op, name):
    number = 1 if name == "second" else 0
    with pytest.raises(RuntimeError, match=f"product_.*: input {number} is not what it"):
        op(*REFUSED[name])
    check(op)


def test_many_threads(op):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(check, op) for _ in range(200)]:
            done.result()


def test_threads_are_as_many_as_torchs(op, program):
    handle, before = library.Library(program).handle, torch.get_num_threads()

    def seen(count):
        torch.set_num_threads(count)
        check(op)
        return handle.omp_get_max_threads(), handle.kmp_get_blocktime()

    try:
        assert [seen(1), seen(3)] == [(1, 0), (3, 0)]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert pool.submit(seen, 2).result() == (2, 0)
    finally:
        torch.set_num_threads(before)


def test_memory_is_given_back(op):
    """Of inputs, results and copies: a million bytes a call would show."""
    import gc
    import resource

    a = torch.randn(128, 64)[::2].t()  # copied
    for _ in range(100):
        op(a, a)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5000):
        op(a, a)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} kB"  # one of the three alone: 80,000


def test_a_forked_process(op):
    """As a DataLoader's workers are."""
    check(op)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            torch.set_num_threads(1)  # as they do: torch's own threads are gone
            check(op)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def define(**changed):
    """(code, error) of libfastk_torch for an op that is changed."""
    loaded = native._library()
    tensors = (native._Tensor * 1)(native._tensor((4,), changed.pop("type", "float32")))
    given = {
        "name": b"never", "num_inputs": 1, "num_outputs": 0, "tensors": tensors,
        "library": ctypes.CDLL(None)._handle, "host_function": b"forward", **changed,
    }  # fmt: skip
    code = loaded.fastk_torch_define(ctypes.byref(native._Op(**given)))
    return code, loaded.fastk_torch_error().decode()


WRONG = {
    "function": ({}, "the library has no function 'forward'"),
    "type": ({"type": "quint8"}, "torch's stable ABI has no type quint8"),
    "inputs": ({"num_inputs": 0}, "an op takes a tensor"),
    "cuda": ({"gpu_function": 1}, "this torch has no CUDA"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_refuses(name):
    changed, error = WRONG[name]
    if name == "cuda" and torch.version.cuda:
        error = "the library is no libfastk_runtime of this version"
    code, text = define(**changed)
    assert code == 1 and error in text


def test_an_op_without_a_schema(program):
    handle = library.Library(program).handle._handle
    code, text = define(library=handle)
    # Torch takes it, for whoever says the schema later.
    assert (code, text) == (0, "")


ALONE = """
import ctypes, sys
loaded = ctypes.CDLL(sys.argv[1])
loaded.fastk_torch_error.restype = ctypes.c_char_p
empty = (ctypes.c_uint64 * 16)()
print(loaded.fastk_torch_define(empty), loaded.fastk_torch_error().decode())
"""


def test_a_process_without_torch():
    path = library.installed("libfastk_torch.so")
    command = [sys.executable, "-c", ALONE, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1 there is no torch in this process: import torch first\n"


MANY = """
import sys
import torch
from fastk import library
from fastk.dynamo import native, ops
one = ((64, 64), torch.float32)
made = [
    ops.register(sys.argv[1], f"digest {n}", "k" * 64, "p", [one] * 2, [one])
    for n in range(1030)
]
a = torch.randn(64, 64)
for op in (made[0], made[1023], made[1024], made[-1]):
    assert torch.allclose(op(a, a), a @ a, atol=1e-4)
print(len(native._kept))
"""


def test_more_ops_than_it_has_room_for(program):
    text = MANY.replace("sys.argv[1]", repr(program))
    assert run_script(text) == "1024\n"
