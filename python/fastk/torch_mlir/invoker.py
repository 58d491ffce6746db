# ===- invoker.py - Calls a compiled model on numpy arrays -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The loaded model: a method for each of its functions, on numpy arrays."""

import os
import tempfile
import weakref

from .. import library
from .errors import Error

__all__ = ["Invoker", "invoke"]

#: Inputs of a compiled function begin at a multiple of this many bytes.
_ALIGNMENT = 64

#: Types that MLIR has no signs for, as torch-mlir passes them.
_SIGNLESS = {"uint8": "int8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


class Invoker:
    """`invoker.NAME(*arrays)` calls the function NAME.

    Arrays of any layout are taken; one that is not contiguous and aligned is copied.
    Torch tensors are taken as well, and if one is given the results are tensors: the
    way to bfloat16, which numpy has not.

    A call returns an array, or a tuple of them where the function has several
    results; Python's bool, int or float for a result that is a number and no tensor.
    """

    def __init__(self, image):
        # dlopen takes files only.
        handle, self._path = tempfile.mkstemp(prefix="fastk-", suffix=".so")
        self._remove = weakref.finalize(self, _remove, self._path, os.getpid())
        with os.fdopen(handle, "wb") as file:
            file.write(image)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = library.Library(self._path, name)
        except library.Error as error:
            raise AttributeError(str(error).replace(self._path, "the model")) from None

        def method(*arguments):
            return invoke(function, arguments)

        # The next time it is found without this method.
        setattr(self, name, method)
        return method


def _remove(path, maker):
    # A forked process that ends has the file in common with its parent.
    if os.getpid() == maker:
        os.unlink(path)


def invoke(function, arguments):
    """Calls `function`, a library.Library or the like, on arrays: see Invoker."""
    import torch

    wants = function.signature["inputs"]
    if len(arguments) != len(wants):
        raise Error(f"{function.name} takes {len(wants)} arrays, not {len(arguments)}")
    takes_tensors = any(isinstance(each, torch.Tensor) for each in arguments)
    tensors = [_tensor(each) for each in arguments]
    try:
        results = function(*tensors)
    except library.Error as error:
        raise Error(str(error)) from None
    values = []
    for index, (result, want) in enumerate(zip(results, function.signature["outputs"])):
        if want.get("scalar"):
            values.append(result.item())
        elif takes_tensors:
            values.append(result)
        else:
            values.append(_array(result, f"result {index} of {function.name}"))
    return values[0] if len(values) == 1 else tuple(values)


def _tensor(value):
    """`value` as a tensor that a compiled function takes; a copy only if need be."""
    import numpy
    import torch

    if not isinstance(value, torch.Tensor):
        array = numpy.asarray(value)
        # An array that is read only would become a tensor that is not.
        array = array if array.flags.writeable else array.copy()
        # Torch has no strides below 0.
        tensor = torch.from_numpy(numpy.ascontiguousarray(array).reshape(array.shape))
    else:
        tensor = value.detach().contiguous()
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind in _SIGNLESS:
        tensor = tensor.view(getattr(torch, _SIGNLESS[kind]))
    if tensor.data_ptr() % _ALIGNMENT:
        tensor = tensor.clone()  # torch aligns what it allocates
    return tensor


def _array(tensor, what):
    import torch

    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise Error(
            f"{what} is bfloat16, which numpy has not: install ml_dtypes, or pass "
            "torch tensors and get such"
        ) from None
    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
