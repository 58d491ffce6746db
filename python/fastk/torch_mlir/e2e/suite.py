# ===- suite.py - Finds torch-mlir's tests in a checkout -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Loads the tests of a checkout of torch-mlir, which no wheel of it has."""

import importlib
import os
import subprocess
import sys
import types

#: Where the tests' package is, in a checkout.
_FOLDER = os.path.join("projects", "pt1", "python")
_PACKAGE = "torch_mlir_e2e_test"


class SuiteError(Exception):
    """The checkout is none, or its tests do not load."""


class _Missing(types.ModuleType):
    """Stands for a package that few tests need: they fail by its name, when run."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if inner := sys.modules.get(f"{self.__name__}.{name}"):
            return inner

        def fail(*_, **__):
            raise ModuleNotFoundError(f"{self.__name__}, which the test needs, is missing")

        return fail


def load(checkout):
    """The tests of `checkout`, by name: torch-mlir's framework.Test."""
    folder = os.path.join(checkout, _FOLDER)
    if not os.path.isdir(os.path.join(folder, _PACKAGE, "test_suite")):
        raise SuiteError(
            f"{checkout} is no checkout of torch-mlir: there is no "
            f"{os.path.join(_FOLDER, _PACKAGE, 'test_suite')}"
        )
    sys.path.insert(0, folder)
    # The framework's own pool of processes, which is not used here.
    pool = types.ModuleType("multiprocess")
    pool.set_start_method = lambda method: None
    sys.modules.setdefault(pool.__name__, pool)
    for name in ("torchvision", "torchvision.models", "torchvision.ops"):
        try:
            importlib.import_module(name)
        except Exception:  # torchvision of another torch raises anything
            sys.modules[name] = _Missing(name)
    # The package's own __init__ imports every configuration, and with them onnx
    # and the TorchScript importer.
    configs = types.ModuleType(f"{_PACKAGE}.configs")
    configs.__path__ = [os.path.join(folder, _PACKAGE, "configs")]
    sys.modules[configs.__name__] = configs
    try:
        importlib.import_module(f"{_PACKAGE}.test_suite").register_all_tests()
        registry = importlib.import_module(f"{_PACKAGE}.registry")
        importlib.import_module(f"{_PACKAGE}.reporting")
        importlib.import_module(f"{_PACKAGE}.configs.fx_importer_backend")
    except Exception as error:
        raise SuiteError(
            f"the tests of {checkout} do not load: {type(error).__name__}: {error}: "
            "take a checkout of about the date of the installed torch-mlir"
        ) from error
    return {test.unique_name: test for test in registry.GLOBAL_TEST_REGISTRY}


def warm_up(tests):
    """Lets torch read the files of `tests`, which takes it a second for each."""
    try:
        from torch._dynamo.funcname_cache import get_funcname
    except ImportError:  # no part of torch's interface
        return
    for path in {test.program_invoker.__code__.co_filename for test in tests}:
        get_funcname(path, 1)


def commit(checkout):
    """The commit that `checkout` is at, or why it is not known."""
    process = subprocess.run(
        ["git", "-C", checkout, "log", "-1", "--format=%h, %cs"],
        text=True,
        capture_output=True,
        check=False,
    )
    return process.stdout.strip() or "of an unknown commit"


def run(test, backend):
    """Runs `test` through `backend`; returns None, or why it failed.

    By torch-mlir's own framework: the FX importer, and its comparison with torch.
    """
    framework = importlib.import_module(f"{_PACKAGE}.framework")
    reporting = importlib.import_module(f"{_PACKAGE}.reporting")
    configs = importlib.import_module(f"{_PACKAGE}.configs.fx_importer_backend")
    result = framework.compile_and_run_test(test, configs.FxImporterTestConfig(backend))
    report = reporting.SingleTestReport(result, reporting.ErrorContext.empty())
    return report.error_str() if report.failed else None


def reference_backend():
    """torch-mlir's own backend, of the checkout and the wheel's passes."""
    folder = f"{_PACKAGE}.linalg_on_tensors_backends"
    module = importlib.import_module(f"{folder}.refbackend")
    return module.RefBackendLinalgOnTensorsBackend()
