# ===- call.py - Calls a compiled model from Python -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Calls a compiled model from Python, with nothing but ctypes.

python3 call.py ./libmodel.so
"""

import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]
libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.aligned_alloc.restype = ctypes.c_void_p


class ModelError(Exception):
    """What a function of the model returned, as a text."""


def function(name, pointers):
    """A function of the library that raises what goes wrong."""
    entry = getattr(library, name)
    entry.argtypes, entry.restype = [ctypes.c_void_p] * pointers, ctypes.c_int
    text = getattr(library, f"fastk_error_{name}")
    text.argtypes, text.restype = [ctypes.c_int], ctypes.c_char_p

    def call(*arguments):
        if code := entry(*arguments):
            raise ModelError(text(code).decode())

    return call


def constant(name):
    """A text that the library exports."""
    where = ctypes.addressof(ctypes.c_char.in_dll(library, name))
    return ctypes.string_at(where).decode()


def floats(count):
    """An array of floats in memory that is aligned as the model wants it."""
    where = libc.aligned_alloc(64, (4 * count + 63) // 64 * 64)
    return (ctypes.c_float * count).from_address(where)


print("compiled by fastk", constant("fastk_version_forward"))
assert ctypes.c_int32.in_dll(library, "fastk_interface_forward").value == 2
signature = json.loads(constant("fastk_signature_forward"))
print("forward takes", [tensor["shape"] for tensor in signature["inputs"]])

x, w, y = floats(4 * 8), floats(8 * 3), floats(4 * 3)
x[:] = range(4 * 8)
w[:] = [1] * (8 * 3)
function("forward", 3)(x, w, y)
print(f"forward: {y[0]:g} {y[11]:g}")

head = function("head", 5)
rows, n = (ctypes.c_int64 * 2)(16, 2), ctypes.c_int64(3)
result, shape = ctypes.POINTER(ctypes.c_float)(), (ctypes.c_int64 * 2)()
head(x, rows, ctypes.byref(n), ctypes.byref(result), shape)
print(f"head: {shape[0]} x {shape[1]}, last {result[shape[0] * shape[1] - 1]:g}")
libc.free(result)

n.value = 17
try:
    head(x, rows, ctypes.byref(n), ctypes.byref(result), shape)
except ModelError as error:
    print("head of 17:", error)

for tensor in (x, w, y):
    libc.free(ctypes.addressof(tensor))
