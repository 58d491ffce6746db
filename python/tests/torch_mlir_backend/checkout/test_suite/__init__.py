# ===- __init__.py - Four tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
import os
import pathlib
import time

import numpy
import torchvision.models  # noqa: F401, few tests need it
from torch_mlir_e2e_test.registry import GLOBAL_TEST_REGISTRY

RELU = pathlib.Path(__file__).parents[1] / "relu.mlir"


class Test:
    def __init__(self, body):
        self.unique_name = body.__name__
        self.body = self.program_invoker = body


def register_all_tests():
    for body in (Passes, Fails, Crashes, Hangs):
        GLOBAL_TEST_REGISTRY.append(Test(body))


def is_reference(backend):
    return "Ref" in type(backend.backend).__name__


def Passes(backend):
    x = numpy.linspace(-1, 1, 64 * 128, dtype="f4").reshape(64, 128)
    result = backend.load(backend.compile(RELU.read_text())).forward(x)
    return None if (result == x.clip(0)).all() else "ERROR: another value"


def Fails(backend):
    backend.compile(RELU.read_text())
    return "Traceback:\nERROR: 1 is not 2"


def Crashes(backend):
    if not is_reference(backend):
        os.abort()


def Hangs(backend):
    if not is_reference(backend):
        time.sleep(100)
