# ===- gpu.py - The steps for a GPU -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Tests for a GPU: compiled on one machine, run on another, compared on the first."""

import os
import sys
import time

from . import pack, recorded, workers
from .child import Outcome

STEPS = ["compile", "run", "compare"]

#: Where a test ends that was compiled: Recorder's results are zeros.
_COMPILED = ("compare", "")


def runtime_of(fastk_opt):
    """The runtime library that was built with a fastk-opt."""
    name = "libfastk_runtime.so"
    named = os.environ.get("FASTK_RUNTIME")
    here = os.path.dirname(os.path.realpath(fastk_opt))
    for path in ([named] if named else []) + [
        os.path.join(here, "..", folder, name) for folder in ("lib", "lib64", "bin")
    ]:
        if os.path.exists(path):
            return os.path.abspath(path)
    raise pack.PackError(f"{name} is not beside {fastk_opt}: FASTK_RUNTIME names it")


class Compile:
    """The step compile: packs what compiles, and notes what does not."""

    def __init__(self, packed, backend, made_by, runtime, most_bytes):
        self.packed, self.backend, self.made_by = packed, backend, made_by
        self.runtime, self.most_bytes = runtime, most_bytes

    def wants(self, name):
        return not self.packed.has(name, self.made_by)

    def backend_for(self, name):
        def finish(calls):
            self.packed.write_test(name, calls, self.made_by)

        # Nothing is left of what an earlier program made.
        self.packed.remove(name)
        return recorded.Recorder(self.backend, self.runtime, finish, self.most_bytes)

    def outcome(self, name, outcome):
        """The Outcome to keep, or None where the test is packed."""
        if outcome.phase in _COMPILED and self.packed.has(name, self.made_by):
            return None
        self.packed.remove(name)
        return outcome


class Compare:
    """The step compare: gives the framework the results that were brought back."""

    def __init__(self, packed, made_by):
        self.packed, self.made_by = packed, made_by

    def wants(self, name):
        return (
            self.packed.has(name, self.made_by)
            and self.packed.read_result(name) is not None
        )

    def early(self, name):
        """The Outcome of a test that has no results, or None."""
        result = self.packed.read_result(name)
        if result.status == "ok":
            return None
        return Outcome(result.status, "run", result.reason, result.seconds)

    def backend_for(self, name):
        result = self.packed.read_result(name)
        return recorded.Replayer(self.packed.read_test(name), result.outputs)

    def outcome(self, name, outcome):
        return outcome

    def machine(self, names):
        """The machines that results come from."""
        found = {
            result.machine
            for name in names
            if (result := self.packed.read_result(name)) and result.machine
        }
        return "; ".join(sorted(found)) or "none"


def run(packed, pattern, jobs, limit, again):
    """The step run, where the GPU is; returns how many tests have no result."""
    chosen = [name for name in packed.names() if pattern.search(name)]
    names = []
    for name in chosen:
        result = packed.read_result(name)
        if result is None or again == "all" or (again and result.status != "ok"):
            names.append(name)
    print(f"{len(chosen)} tests, {len(names)} of them to run", file=sys.stderr)
    start, lost, done = time.monotonic(), 0, 0

    def progress(name):
        nonlocal lost, done
        done += 1
        result = packed.read_result(name)
        if result.status != "ok":
            lost += 1
            print(f"{name}: {result.status}: {result.reason}", file=sys.stderr)
        if done % 100 == 0:
            seconds = time.monotonic() - start
            print(f"[{done}/{len(names)}] {seconds:.1f} s", file=sys.stderr, flush=True)

    workers.run(packed, names, jobs, limit, progress)
    seconds = time.monotonic() - start
    print(f"{done} tests ran in {seconds:.1f} s, {lost} without results", file=sys.stderr)
    return lost
