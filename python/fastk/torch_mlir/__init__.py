# ===- __init__.py - fastk as torch-mlir's backend -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk as a backend of torch-mlir: linalg on tensors in, numpy arrays out.

    import torch
    from torch_mlir import fx
    from fastk.torch_mlir import FastkLinalgOnTensorsBackend

    module = fx.export_and_import(
        torch.nn.Linear(8, 4), torch.randn(2, 8), output_type="linalg-on-tensors",
        func_name="forward")
    backend = FastkLinalgOnTensorsBackend()
    model = backend.load(backend.compile(module))
    print(model.forward(torch.randn(2, 8).numpy()))

`fastk-opt` compiles, in a process of its own; winners of the banks are applied.
"""

from .backend import CompiledModel, FastkLinalgOnTensorsBackend
from .errors import Error
from .invoker import Invoker

__all__ = ["CompiledModel", "Error", "FastkLinalgOnTensorsBackend", "Invoker"]
