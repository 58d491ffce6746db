# ===- test_golden_numerics.py - Golden inputs against torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every small golden input, promoted to f64, computes what torch does in f64.

This checks the imports themselves, before any of fastk: stock MLIR lowers the
promoted text to plain loops, clang compiles it, and the result is compared with
torch in float64 to 1e-12. It fails when an import loses a constant's digits.
"""

import ctypes
import json
import re
import subprocess

import numpy
import pytest
from conftest import GOLDEN, tool

from fastk.importer import golden, reference, source

SMALL = [name for name in golden.NAMES if name.endswith("_small")]

PIPELINE = (
    "builtin.module("
    "func.func(llvm-request-c-wrappers,linalg-generalize-named-ops),"
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},"
    "func.func(convert-linalg-to-loops),"
    "expand-strided-metadata,lower-affine,convert-scf-to-cf,"
    "func.func(math-expand-ops{ops=rsqrt}),convert-math-to-libm,"
    "convert-to-llvm,reconcile-unrealized-casts)"
)


def promote(text):
    """The text with every float type made f64, by editing the text alone."""
    # Casts between float types vanish: their result becomes their operand.
    # maximumf(x, x) is x.
    text = re.sub(
        r"arith\.(?:extf|truncf) (%[\w#]+) : \w+ to \w+",
        r"arith.maximumf \1, \1 : f64",
        text,
    )
    text = text.replace("0xFF800000", "0xFFF0000000000000")
    assert not re.search(r"0x[0-9A-F]{8}\b", text), "a hex constant of f32 is left"
    return re.sub(r"(?<![\w%])((?:\d+x)*)f(?:16|32)\b", r"\1f64", text)


def compile_text(text, folder):
    """Compiles to a shared library; returns the function's C interface."""
    lowered = subprocess.run(
        [tool("mlir-opt"), f"--pass-pipeline={PIPELINE}"],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    assert lowered.returncode == 0, lowered.stderr
    ir = subprocess.run(
        [tool("mlir-translate"), "--mlir-to-llvmir"],
        input=lowered.stdout,
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    (folder / "f.ll").write_text(ir)
    # No fast-math and no contraction: the arithmetic is the text's.
    subprocess.run(
        [tool("clang"), "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
        + ["f.ll", "-o", "f.so", "-lm", *runner_utils()],
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(folder / "f.so"))._mlir_ciface_forward


def runner_utils():
    """Linker flags for MLIR's memrefCopy."""
    folder = "/usr/lib/llvm-22/lib"
    return [f"-L{folder}", "-lmlir_c_runner_utils", f"-Wl,-rpath,{folder}"]


def descriptor(rank):
    """The struct of a memref of `rank`: pointers, offset, sizes, strides."""

    class Memref(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

    return Memref


def pass_array(array):
    memref = descriptor(array.ndim)()
    memref.allocated = memref.aligned = array.ctypes.data
    memref.sizes[:] = array.shape
    memref.strides[:] = [stride // array.itemsize for stride in array.strides]
    return memref


@pytest.mark.parametrize("name", SMALL)
def test_golden_agrees_with_torch_in_f64(name, tmp_path):
    text = (GOLDEN / f"{name}.mlir").read_text()
    sidecar = json.loads((GOLDEN / f"{name}.mlir.json").read_text())
    assert len(sidecar["results"]) == 1
    build = getattr(golden, name)
    arrays, (expected,) = reference.compute(lambda: source.call(build), seed=7)
    arrays = [
        numpy.ascontiguousarray(a, dtype="f8" if a.dtype.kind == "f" else a.dtype)
        for a in arrays
    ]
    function = compile_text(promote(text), tmp_path)
    result = descriptor(expected.ndim)()
    arguments = [pass_array(array) for array in arrays]
    function(ctypes.byref(result), *map(ctypes.byref, arguments))
    flat = (ctypes.c_double * expected.size).from_address(
        result.aligned + 8 * result.offset
    )
    got = numpy.array(flat).reshape(expected.shape)
    scale = numpy.abs(expected).max()
    assert scale > 0.01, "the data is too weak to tell"
    error = numpy.abs(got - expected).max() / scale
    print(f"{name}: {error:.1e} of the largest element")
    assert error < 1e-12
