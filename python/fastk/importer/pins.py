# ===- pins.py - The pinned pair of wheels -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The one pair of torch and torch-mlir that the importer works with.

torch-mlir follows torch's internals closely: another pair imports some models
wrongly or not at all, so a wrong pair is refused by name. Golden inputs belong
to the pair. pyproject.toml repeats these numbers (a test compares them).
"""

import importlib.metadata

from .errors import ImporterError

TORCH = "2.13.0"
TORCH_MLIR = "20261001"

#: For graphs of torch.compile, whose regions are checked one by one: what was tested.
#: The first and the first that was not.
TORCH_RANGE = ("2.10", "2.14")

PIP = f"pip install torch=={TORCH} torch-mlir=={TORCH_MLIR}"


def _installed(name):
    try:
        # Local labels name the build (2.13.0+cpu), not the version.
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def check():
    """Raises ImporterError unless exactly the pinned pair is installed."""
    have = {"torch": _installed("torch"), "torch-mlir": _installed("torch-mlir")}
    want = {"torch": TORCH, "torch-mlir": TORCH_MLIR}
    if have == want:
        return
    wrong = ", ".join(
        f"{name} is not installed" if have[name] is None else f"{name} is {have[name]}"
        for name in want
        if have[name] != want[name]
    )
    raise ImporterError(
        f"the importer needs torch {TORCH} with torch-mlir {TORCH_MLIR}: {wrong}", PIP
    )


def _numbers(version):
    """(2, 13) of "2.13.0a0": for comparisons."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def check_range():
    """Raises ImporterError unless torch is in the tested range, torch-mlir the pinned."""
    first, end = TORCH_RANGE
    torch, torch_mlir = _installed("torch"), _installed("torch-mlir")
    if torch is None or not _numbers(first) <= _numbers(torch) < _numbers(end):
        raise ImporterError(
            f"fastk was tested with torch {first} to before {end}: "
            + ("torch is not installed" if torch is None else f"torch is {torch}"),
            PIP,
        )
    if torch_mlir != TORCH_MLIR:
        raise ImporterError(
            f"fastk needs torch-mlir {TORCH_MLIR}: torch-mlir is "
            f"{torch_mlir or 'not installed'}",
            f"pip install torch-mlir=={TORCH_MLIR}",
        )
