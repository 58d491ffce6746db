# ===- expected.py - Failures that are expected -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The tests that are expected to fail through fastk, each with its reason.

The list lies in expected.json beside this file: {test: reason}. The reason says so
where one passes with torch-mlir's reference backend. What fails for a GPU besides is
in expected_gpu.json.
"""

import json
import pathlib

_HERE = pathlib.Path(__file__).parent


def load(target="host"):
    """{test: reason}"""
    names = ["expected.json"] + (["expected_gpu.json"] if target != "host" else [])
    return {
        test: reason
        for name in names
        for test, reason in json.loads((_HERE / name).read_text(encoding="utf-8")).items()
    }
