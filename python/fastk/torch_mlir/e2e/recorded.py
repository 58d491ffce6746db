# ===- recorded.py - Calls that are made elsewhere -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Two backends: one packs what torch-mlir's framework calls, one gives it the results.

Both run under the framework: it exports and imports the program and makes the inputs;
with the second its own comparison decides.
"""

import ctypes
import json
import tempfile

from ..errors import Error
from ..invoker import invoke
from . import pack

class Recorder:
    """Compiles for another machine, and keeps what is called with what.

    A call returns zeros. `finish()` is told the calls of the test so far.
    """

    def __init__(self, backend, runtime, finish, most_bytes):
        self.backend, self.runtime, self.finish = backend, runtime, finish
        self.most_bytes = most_bytes
        self.calls = []

    def compile(self, module):
        return self.backend.compile(module)

    def load(self, artifact):
        return _Loaded(lambda name: self._function(artifact.library, name))

    def _function(self, library, name):
        signature = signature_of(library, name, self.runtime)
        return _Recorded(self, name, signature, library)

    def add(self, call):
        self.calls.append(call)
        size = sum(len(data) for each in self.calls for data in each.inputs)
        size += sum(size_of(want) for want in call.signature["outputs"])
        if size > self.most_bytes:
            raise Error(
                f"its operands are {size / 2**20:.0f} MiB, more than is packed: raise "
                "--most-mib"
            )
        self.finish(self.calls)


class Replayer:
    """Compiles nothing: each call gets the outputs that were brought back."""

    def __init__(self, calls, outputs):
        self.waiting = list(zip(calls, outputs))

    def compile(self, module):
        return module

    def load(self, artifact):
        call, outputs = self.waiting.pop(0)
        return _Loaded(lambda name: _Replayed(name, call, outputs))


class _Loaded:
    """A method for each function, as an Invoker has."""

    def __init__(self, function):
        self._function = function

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._function(name)
        return lambda *arguments: invoke(function, arguments)


class _Recorded:
    def __init__(self, recorder, name, signature, library):
        self.recorder, self.name, self.signature = recorder, name, signature
        self.library = library

    def __call__(self, *tensors):
        import torch

        inputs = []
        for index, (tensor, want) in enumerate(zip(tensors, self.signature["inputs"])):
            if list(tensor.shape) != want["shape"] or tensor.dtype != dtype_of(want):
                raise Error(
                    f"input {index} of {self.name} is {want['shape']} of "
                    f"{want['dtype']}, not {list(tensor.shape)} of {tensor.dtype}"
                )
            inputs.append(to_bytes(tensor))
        self.recorder.add(pack.Call(self.name, self.signature, self.library, inputs))
        return [
            torch.zeros(want["shape"], dtype=dtype_of(want))
            for want in self.signature["outputs"]
        ]


class _Replayed:
    def __init__(self, name, call, outputs):
        self.name, self.call, self.outputs = name, call, outputs
        self.signature = call.signature

    def __call__(self, *tensors):
        if self.name != self.call.function or self.call.inputs != [
            to_bytes(tensor) for tensor in tensors
        ]:
            raise Error(f"{self.name} was compiled for other inputs: pack it again")
        return [
            from_bytes(data, want)
            for data, want in zip(self.outputs, self.signature["outputs"])
        ]


def signature_of(library, name, runtime):
    """What a library says of its function; nothing of it is called."""
    ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        handle = ctypes.CDLL(file.name)
        try:
            text = ctypes.c_char.in_dll(handle, f"fastk_signature_{name}")
        except ValueError:
            raise AttributeError(f"the model has no function '{name}'") from None
        return json.loads(ctypes.string_at(ctypes.addressof(text)))


def dtype_of(want):
    from ...library import dtypes

    return dtypes()[want["dtype"]]


def size_of(want):
    """The bytes of a tensor of the signature."""
    count = dtype_of(want).itemsize
    for size in want["shape"]:
        count *= size
    return count


def to_bytes(tensor):
    import torch

    if tensor.numel() == 0:
        return b""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def from_bytes(data, want):
    import torch

    if not data:
        return torch.zeros(want["shape"], dtype=dtype_of(want))
    flat = torch.frombuffer(bytearray(data), dtype=dtype_of(want))
    return flat.reshape(want["shape"])
