# ===- problems.py - Problems of a checkout -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Finds problems and builds them as KernelBench's own harness does.

A problem is a file KernelBench/levelL/N_name.py with a class Model, get_init_inputs()
and get_inputs().
"""

import contextlib
import dataclasses
import os
import re
import subprocess
import sys

from ..importer import files, source
from ..importer.errors import ImporterError

#: The harness's own seed: weights and inputs are drawn after it.
SEED = 42


class CheckoutError(Exception):
    """There is no KernelBench at a path."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """One file of the checkout: `name` as in "2/52_Conv2d_Activation"."""

    name: str
    level: int
    path: str

    def digest(self):
        """Twelve digits for what the file says."""
        return files.digest(self.path)


def find(checkout):
    """The problems of all levels, in the order of their numbers."""
    root = os.path.join(checkout, "KernelBench")
    if not os.path.isdir(root):
        raise CheckoutError(
            f"{checkout} has no folder KernelBench: name a checkout of "
            "https://github.com/ScalingIntelligence/KernelBench"
        )
    found = []
    for folder in os.listdir(root):
        level = re.fullmatch(r"level(\d+)", folder)
        if not level:
            continue
        for file in os.listdir(os.path.join(root, folder)):
            number = re.fullmatch(r"(\d+)_.*\.py", file)
            if number:
                key = (int(level[1]), int(number[1]), file)
                path = os.path.join(os.path.abspath(root), folder, file)
                found.append((key, path))
    if not found:
        raise CheckoutError(f"{root} has no problem levelL/N_name.py")
    return [
        Problem(f"{level}/{file.removesuffix('.py')}", level, path)
        for (level, _, file), path in sorted(found)
    ]


def commit(folder):
    """The commit of a folder of a checkout, or "unknown"."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def build(problem):
    """(module, inputs), drawn as the harness draws them, in the module's own mode."""
    file = load(problem)
    inputs = draw_inputs(file)
    return make_module(file), inputs


def load(problem):
    """The module of Python that a problem is."""
    file = sys.modules[source.load(f"{problem.path}:Model").__module__]
    for name in ("get_init_inputs", "get_inputs"):
        if not callable(getattr(file, name, None)):
            raise ImporterError(
                f"'{problem.path}' has no function '{name}'",
                "a problem has a class Model, get_init_inputs() and get_inputs()",
            )
    return file


def draw_inputs(file, device=None):
    """The inputs of a problem; on a `device` they are drawn there, by its own generator."""
    import torch

    with torch.device(device) if device else contextlib.nullcontext():
        # Of other numbers than the weights.
        torch.manual_seed(SEED + 1)
        return tuple(file.get_inputs())


def make_module(file):
    """The module of a problem, with its weights."""
    import torch

    torch.manual_seed(SEED)
    settings = file.get_init_inputs()
    torch.manual_seed(SEED)
    with torch.no_grad():
        return file.Model(*settings)
