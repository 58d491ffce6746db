# ===- compiled.py - Running fastk's programs from the tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The programs of the dev build, and libraries that they made, called by ctypes.

FASTK_BIN names another folder of programs than build/dev/bin.
"""

import ctypes
import json
import os
import pathlib
import subprocess

import numpy
from conftest import ROOT

BIN = pathlib.Path(os.environ.get("FASTK_BIN", ROOT / "build" / "dev" / "bin"))

#: numpy's name of an element type of MLIR.
DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i1": "?"}


def fastk(name, *arguments, status=0, **options):
    """Runs one of fastk's programs, which must exit with `status`.

    No bank of the user's has a say: without --bank the tests see none.
    """
    program = BIN / name
    assert program.exists(), f"{program} is missing: run scripts/build.sh"
    environment = dict(os.environ, FASTK_BANK="", XDG_CACHE_HOME=os.devnull)
    result = subprocess.run(
        [program, *map(str, arguments)],
        text=True,
        capture_output=True,
        check=False,
        env=environment,
        **options,
    )
    assert result.returncode == status, f"{result.args}\n{result.stderr}"
    return result


def run_model(model, arrays, folder, *options):
    """The results of fastk-run on arrays; its files are in `folder`."""
    for i, array in enumerate(arrays):
        numpy.save(folder / f"in{i}.npy", array)
    files = ",".join(str(folder / f"in{i}.npy") for i in range(len(arrays)))
    fastk("fastk-run", model, f"--inputs={files}", "--outputs", folder, *options)
    count = len(list(folder.glob("out*.npy")))
    return [numpy.load(folder / f"out{i}.npy") for i in range(count)]


def aligned(shape, dtype):
    """An uninitialised array whose memory is 64-byte aligned, as the ABI wants."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape)) * dtype.itemsize
    memory = numpy.empty(count + 64, numpy.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + count].view(dtype).reshape(shape)


def compile_and_bind(folder, module, *args):
    """(what was imported, a fastk.library.BoundLibrary)"""
    # Tests that run a program do not need torch.
    from fastk.importer import import_module
    from fastk.library import Library

    imported = import_module(module, args)
    imported.write(str(folder / "model.mlir"))
    (folder / "bank").mkdir()
    fastk("fastk-opt", folder / "model.mlir", f"--bank={folder / 'bank'}", "--emit=so",
          "-o", folder / "model.so")  # fmt: skip
    return imported, Library(folder / "model.so").bind(module)


class Library:
    """A library of `fastk-opt --emit=so`, called as a user would."""

    def __init__(self, path, function="forward"):
        self.handle = ctypes.CDLL(str(path))
        self.entry = getattr(self.handle, f"{function}_packed")
        self.entry.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.entry.restype = None
        address = ctypes.addressof(
            ctypes.c_char.in_dll(self.handle, f"fastk_signature_{function}")
        )
        self.signature = json.loads(ctypes.string_at(address))

    def __call__(self, *arrays):
        """Calls it on numpy arrays; returns the list of results."""
        tensors = []
        for array, want in zip(arrays, self.signature["inputs"], strict=True):
            assert array.dtype == DTYPES[want["dtype"]]
            assert list(array.shape) == want["shape"]
            tensors.append(aligned(array.shape, array.dtype))
            tensors[-1][...] = array
        results = [
            aligned(want["shape"], DTYPES[want["dtype"]])
            for want in self.signature["outputs"]
        ]
        for result in results:
            result.view(numpy.uint8)[...] = 0xFF  # NaN where nothing is written
        tensors += results
        self.entry((ctypes.c_void_p * len(tensors))(*(t.ctypes.data for t in tensors)))
        return results
