# ===- condition_program.py - Conditions as the compiler derives -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Definitions through fastk-derive-condition, compiled and called."""

import ctypes
import re

import torch
from compiled import aligned, fastk


class ConditionProgram:
    """What --compile-kernel=condition makes of a definition, called."""

    def __init__(self, definition, folder):
        self.definition = definition
        source = folder / "definition.mlir"
        source.write_text(definition.mlir())
        lowered, library = folder / "lowered.mlir", folder / "condition.so"
        form = "--fastk-form-workloads=fusion=whole"
        fastk("fastk-opt", source, form, "--fastk-lower-workloads", "-o", lowered)
        fastk("fastk-opt", lowered, "--compile-kernel=condition", "-o", library)
        # The workload takes its operands, and gives results, in its own order.
        text = lowered.read_text()
        (call,) = re.findall(r"(%\S+) = fastk.call @\w+\((.*?)\)", text)
        self.order = [int(i) for i in re.findall(r"%arg(\d+)", call[1])]
        returned = re.search(r"return (.*) :", text)[1]
        self.results = [int(i or 0) for i in re.findall(r"%\d+(?:#(\d+))?", returned)]
        self.kernel = ctypes.CDLL(str(library)).fastk_kernel
        self.kernel.restype = None

    def __call__(self, arrays):
        tensors = []
        for i in self.order:
            tensors.append(aligned(arrays[i].shape, arrays[i].dtype))
            tensors[-1][...] = arrays[i]
        count, made = len(self.definition.results), {}
        for node, place in zip(self.definition.results, self.results, strict=True):
            shape = [self.definition.sizes[dim] for dim in node.dims]
            made[place] = aligned(shape, "f8")
        tensors += [made[place] for place in range(count)]
        pointers = [ctypes.c_void_p(tensor.ctypes.data) for tensor in tensors]
        self.kernel(*pointers, None)
        return [torch.from_numpy(made[place].copy()) for place in self.results]
