# ===- __init__.py - Stands for torch-mlir's package of tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the command uses of torch-mlir's package for tests, without torch-mlir."""
