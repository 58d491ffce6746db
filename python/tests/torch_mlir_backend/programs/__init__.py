# ===- __init__.py - The sample of programs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Programs over all families of ops, which torch-mlir imports and fastk compiles."""

import importlib

#: {family: {name: Program}}
FAMILIES = {
    family: importlib.import_module(f".{family}", __name__).PROGRAMS
    for family in (
        "contractions",
        "control",
        "convolutions",
        "dynamic",
        "elementwise",
        "hard",
        "indexing",
        "networks",
        "numbers",
        "reductions",
        "shapes",
        "writing",
    )
}
