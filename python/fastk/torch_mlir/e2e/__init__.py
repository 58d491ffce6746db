# ===- __init__.py - torch-mlir's own tests, through fastk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs torch-mlir's end-to-end tests through fastk: python -m fastk.torch_mlir.e2e."""
