# ===- expected.py - Failures that are expected -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The tests that are expected to fail through fastk, each with its reason.

The list lies in expected.json beside this file: {test: reason}. The reason says so
where one passes with torch-mlir's reference backend.
"""

import json
import pathlib

PATH = pathlib.Path(__file__).with_name("expected.json")


def load():
    """{test: reason}"""
    return json.loads(PATH.read_text(encoding="utf-8"))
