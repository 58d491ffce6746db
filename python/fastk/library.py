# ===- library.py - Compiled models, called from Python -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Calls a library of `fastk-opt --emit=so` on torch tensors, without copies.

    model = fastk.library.Library("model.so")
    result, = model(x, weight)

A library for the host takes CPU tensors, one for a GPU takes CUDA tensors and works
on torch's current stream: it is ordered with what torch does, and may be captured
into a CUDA graph after `model.prepare()` on that stream.

Needs libfastk_runtime.so for a library for a GPU: the loader's folders, or
FASTK_RUNTIME names the file.
"""

import ctypes
import json
import os

__all__ = ["Error", "Library"]


class Error(Exception):
    """A call failed; the message says what, why and what to do."""


def _dtypes():
    import torch

    return {
        "f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
        "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
        "i16": torch.int16, "i8": torch.int8, "i1": torch.bool,
        "complex<f64>": torch.complex128, "complex<f32>": torch.complex64,
    }  # fmt: skip


class Library:
    """One function of a compiled model."""

    def __init__(self, path, function="forward"):
        self.name = function
        self.runtime = None
        if runtime := os.environ.get("FASTK_RUNTIME"):
            # Under its own name the model finds it loaded.
            ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
        self.handle = ctypes.CDLL(os.path.abspath(path))
        try:
            text = ctypes.c_char.in_dll(self.handle, f"fastk_signature_{function}")
        except ValueError:
            raise Error(f"{path} has no function '{function}'") from None
        self.signature = json.loads(ctypes.string_at(ctypes.addressof(text)))
        try:
            self.entry = getattr(self.handle, f"fastk_packed_{function}")
        except AttributeError:
            self.entry = getattr(self.handle, f"{function}_packed")
        self.entry.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.target = self.signature.get("target", "host")
        if self.target == "host":
            self.entry.restype = None
            return
        self.entry.restype = ctypes.c_int
        # Of the runtime that this library is linked with.
        self.runtime = self.handle
        self.runtime.fastk_set_stream.argtypes = [ctypes.c_void_p]
        self.runtime.fastk_set_stream.restype = None
        self.runtime.fastk_last_error.restype = ctypes.c_char_p
        self.runtime.fastk_clear_error.restype = None

    def _on_stream(self, call):
        import torch

        self.runtime.fastk_set_stream(torch.cuda.current_stream().cuda_stream)
        self.runtime.fastk_clear_error()
        if call():
            raise Error(self.runtime.fastk_last_error().decode())

    def prepare(self):
        """Loads the code and makes the workspace of the current stream: before a
        capture, or to pay for it early."""
        if self.runtime:
            self._on_stream(getattr(self.handle, f"fastk_prepare_{self.name}"))

    def empty(self, device=None):
        """Results to write into."""
        import torch

        dtypes = _dtypes()
        device = device or ("cuda" if self.runtime else "cpu")
        return [
            torch.empty(want["shape"], dtype=dtypes[want["dtype"]], device=device)
            for want in self.signature["outputs"]
        ]

    def check(self, tensors, wants, what):
        dtypes = _dtypes()
        if len(tensors) != len(wants):
            raise Error(f"{self.name} has {len(wants)} {what}s, not {len(tensors)}")
        for index, (tensor, want) in enumerate(zip(tensors, wants)):
            if (
                list(tensor.shape) != want["shape"]
                or tensor.dtype != dtypes[want["dtype"]]
            ):
                raise Error(
                    f"{what} {index} of {self.name} is {tuple(want['shape'])} of "
                    f"{want['dtype']}, not {tuple(tensor.shape)} of {tensor.dtype}"
                )
            if not tensor.is_contiguous():
                raise Error(
                    f"{what} {index} of {self.name} is not contiguous: pass "
                    "tensor.contiguous()"
                )
            if tensor.is_cuda != bool(self.runtime):
                raise Error(
                    f"{what} {index} of {self.name} is on {tensor.device}, the "
                    f"library is compiled for {self.target}"
                )

    def __call__(self, *inputs, out=None):
        """Returns the list of results, `out` where given."""
        self.check(inputs, self.signature["inputs"], "input")
        if out is None:
            out = self.empty(inputs[0].device if inputs else None)
        else:
            self.check(out, self.signature["outputs"], "output")
        tensors = [*inputs, *out]
        pointers = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))
        if self.runtime:
            self._on_stream(lambda: self.entry(pointers))
        else:
            self.entry(pointers)
        return out
