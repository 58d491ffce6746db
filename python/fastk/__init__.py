# ===- __init__.py - The fastk package -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk: a compiler that makes the kernels of PyTorch models faster by search."""

from .triton_kernels import from_triton

__all__ = ["from_triton"]
