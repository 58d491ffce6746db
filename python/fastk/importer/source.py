# ===- source.py - FILE.py:NAME to module and inputs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Finds the function that FILE.py:NAME names, and checks what it returns."""

import difflib
import importlib.util
import os
import sys
import traceback

from . import containers
from .errors import ImporterError

WANTED = "a function that returns (module, example_inputs)"


class BuildError(ImporterError):
    """What builds the module raised __cause__; fake tensors may be the reason."""


def split(spec):
    """Splits "FILE.py:NAME"; raises ImporterError if it has another form."""
    path, colon, name = spec.rpartition(":")
    if not colon or not path or not name.isidentifier():
        raise ImporterError(
            f"'{spec}' is not FILE.py:NAME",
            f"name a Python file and {WANTED}, as in models.py:mlp",
        )
    return path, name


def user_line(error):
    """The innermost (file, line) of `error`'s traceback outside of libraries."""
    found = None
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_library(frame.filename):
            found = (frame.filename, frame.lineno)
    return found


def is_library(path):
    """True for installed packages, the importer, and code without a file."""
    folder, name = os.path.split(os.path.abspath(path))
    if folder == os.path.dirname(os.path.abspath(__file__)):
        return name != "golden.py"  # its models are user code
    return (
        path.startswith("<")
        or f"{os.sep}site-packages{os.sep}" in path
        or f"{os.sep}dist-packages{os.sep}" in path
        or path.startswith(os.path.dirname(os.__file__) + os.sep)
    )


def first_line(error):
    """'Type: message' of an exception, one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def load(spec):
    """Returns the function that `spec` ("FILE.py:NAME") names."""
    path, name = split(spec)
    if not os.path.isfile(path):
        raise ImporterError(f"no file '{path}'", "check the path before the colon")
    path = os.path.abspath(path)
    module_name = os.path.splitext(os.path.basename(path))[0]
    loader_spec = importlib.util.spec_from_file_location(module_name, path)
    if loader_spec is None:
        raise ImporterError(
            f"'{path}' is not a Python file", "name a file ending in .py"
        )
    loaded = importlib.util.module_from_spec(loader_spec)
    # As `python FILE.py` would: its neighbours can be imported, and pickling or
    # dataclasses find the module by its name.
    sys.path.insert(0, os.path.dirname(path))
    sys.modules[module_name] = loaded
    try:
        loader_spec.loader.exec_module(loaded)
    except SyntaxError as error:
        raise ImporterError(
            f"cannot read the file: {error.msg}",
            where=(error.filename or path, error.lineno or 0),
        ) from error
    except (Exception, SystemExit) as error:
        raise ImporterError(
            f"the file fails when it is loaded: {first_line(error)}",
            "it must load on its own: try python " + path,
            user_line(error),
        ) from error
    function = getattr(loaded, name, None)
    if function is None:
        public = [
            key
            for key, value in vars(loaded).items()
            if callable(value)
            and not key.startswith("_")
            and getattr(value, "__module__", None) == module_name
        ]
        close = difflib.get_close_matches(name, public, n=1)
        remedy = f"did you mean '{close[0]}'?" if close else f"write '{name}': {WANTED}"
        if public and not close:
            remedy += f"; the file has: {', '.join(sorted(public)[:12])}"
        raise ImporterError(f"'{path}' has no function '{name}'", remedy)
    if not callable(function):
        raise ImporterError(
            f"'{name}' in '{path}' is not a function but {type(function).__name__}",
            f"'{name}' must be {WANTED}",
        )
    return function


def call(function):
    """Calls the user's function and checks the form of its result.

    Returns (module, args tuple, kwargs dict). Tensors may be fake or real. Raises
    BuildError for what the function raises, ImporterError for what it returns.
    """
    label = getattr(function, "__name__", str(function))
    try:
        result = function()
    except (Exception, SystemExit) as error:
        raise BuildError(
            f"'{label}' raises {first_line(error)}",
            f"'{label}' is called without arguments and must be {WANTED}",
            user_line(error),
        ) from error
    if not isinstance(result, tuple) or len(result) != 2:
        raise ImporterError(
            f"'{label}' returns {_describe(result)}",
            f"it must be {WANTED}: a torch.nn.Module and a tuple of tensors",
        )
    module, inputs = result
    return (module, *check_example(module, inputs, f"'{label}' returns"))


def check_example(module, inputs, who):
    """Checks a module and its example inputs; returns (args, kwargs)."""
    import torch

    if not isinstance(module, torch.nn.Module):
        got = _describe(module)
        if isinstance(module, type):
            got = f"the class {module.__name__}, not an instance"
        raise ImporterError(
            f"{who} as module {got}",
            "the module must be a torch.nn.Module; wrap a function in one",
        )
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if isinstance(inputs, dict):
        args, kwargs = (), inputs
    elif isinstance(inputs, (tuple, list)):
        args, kwargs = tuple(inputs), {}
    else:
        raise ImporterError(
            f"{who} as example inputs {_describe(inputs)}",
            "give a tuple of tensors, or a dict of them by argument name",
        )
    for _, leaf in containers.leaves((args, kwargs)):
        if not isinstance(leaf, (torch.Tensor, int, float, bool, str, type(None))):
            raise ImporterError(
                f"{who} among the example inputs {_describe(leaf)}",
                "inputs are tensors, numbers, strings or None, "
                "or tuples, lists, dicts and dataclasses of them; use torch.from_numpy for arrays",
            )
    return args, kwargs


def is_fake_tensor_failure(error):
    """True if `error` comes from fake tensors, not from the model itself.

    Fake tensors have shapes but no values: a model that reads a value, or that
    makes tensors in a fake mode of its own, fails with them only.
    """
    if type(error).__name__ in (
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "GuardOnDataDependentSymNode",
        "UnsupportedFakeTensorException",
    ):
        return True
    text = str(error)
    return "FakeTensor" in text or "fake mode" in text or "fake tensor" in text.lower()


def _describe(value):
    if value is None:
        return "None (is a return missing?)"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(type(item).__name__ for item in value[:6])
        return f"a {type(value).__name__} of {len(value)}: ({inner})"
    return f"an object of type {type(value).__name__}"
