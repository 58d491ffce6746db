# ===- native.py - Programs as torch's ops, without Python -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""libfastk_torch (include/fastk/Torch/fastk_torch.h), by ctypes.

A call of an op goes from torch to the program without Python. Where the library cannot
be used, the reason is logged once and ops call programs from Python.
"""

import ctypes
import functools
import logging

from .. import library

log = logging.getLogger(__name__)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_char_p),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_uint32),
    ]


class _Op(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("num_inputs", ctypes.c_uint32),
        ("num_outputs", ctypes.c_uint32),
        ("tensors", ctypes.POINTER(_Tensor)),
        ("library", ctypes.c_void_p),
        ("host_function", ctypes.c_char_p),
        ("gpu_function", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
    ]


def _library():
    """libfastk_torch, or None."""
    return _load(library.installed("libfastk_torch.so") or "libfastk_torch.so")


@functools.cache
def _load(path):
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        log.info("ops are called from Python: %s", error)
        return None
    loaded.fastk_torch_define.argtypes = [ctypes.POINTER(_Op)]
    loaded.fastk_torch_error.restype = ctypes.c_char_p
    return loaded


#: What ops call is open for as long as the process.
_kept = []


def define(op, function, inputs, outputs):
    """Lets torch call `function`, a Library, for fastk::`op`, whose schema it knows.

    Args:
      inputs, outputs: [(sizes, type)].

    Returns whether it does.
    """
    if (loaded := _library()) is None:
        return False
    tensors = [_tensor(sizes, dtype) for sizes, dtype in (*inputs, *outputs)]
    handle, host, found, workspace = function.addresses()
    given = _Op(
        op.encode(),
        len(inputs),
        len(outputs),
        (_Tensor * len(tensors))(*tensors),
        handle,
        host and host.encode(),
        found,
        workspace,
    )
    if loaded.fastk_torch_define(ctypes.byref(given)):
        error = loaded.fastk_torch_error().decode(errors="replace")
        log.info("%s is called from Python: %s", op, error)
        return False
    _kept.append(function)
    return True


def _tensor(sizes, dtype):
    name = str(dtype).removeprefix("torch.").encode()
    return _Tensor(name, (ctypes.c_int64 * len(sizes))(*sizes), len(sizes))
