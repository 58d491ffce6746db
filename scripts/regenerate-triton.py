#!/usr/bin/env python3
# ===- regenerate-triton.py - Variants that Triton compiled -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Regenerates test/Inputs/triton by fastk.from_triton.

    python scripts/regenerate-triton.py            writes what changed
    python scripts/regenerate-triton.py --check    writes nothing, fails on drift

The kernels are those of benchmarks/triton_kernels.py. Tests of the language ptx read what
Triton made of them, since Triton itself, a wheel of 286 MB, is not installed for tests. It needs the
version that is pinned here, and no GPU: scripts/install-deps.sh --triton installs it.
"""

import argparse
import filecmp
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benchmarks")]

#: As scripts/install-deps.sh --triton installs it.
TRITON = "3.9.0"
RECORDED = ROOT / "test" / "Inputs" / "triton"


def generate(folder):
    import triton_kernels

    import fastk

    def record(name, entry, count):
        configs = entry["configs"][:count]
        fastk.from_triton(**{**entry, "configs": configs}, to=folder / name)

    record("relu", triton_kernels.RELU, 1)
    record("softmax_small", triton_kernels.WORKLOADS["softmax_small"][0], 2)
    record("matmul_f16", triton_kernels.WORKLOADS["matmul_f16"][0], 1)


def differences(one, other):
    """What is not the same in both folders."""
    names = {
        p.relative_to(f) for f in (one, other) for p in f.rglob("*") if p.is_file()
    }
    return sorted(
        str(name)
        for name in names
        if not (one / name).is_file()
        or not (other / name).is_file()
        or not filecmp.cmp(one / name, other / name, shallow=False)
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail on drift"
    )
    arguments = parser.parse_args()
    import triton

    if triton.__version__ != TRITON:
        return f"regenerate-triton: triton is {triton.__version__}; install {TRITON}"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        fresh = pathlib.Path(folder) / "triton"
        generate(fresh)
        changed = differences(fresh, RECORDED)
        print("\n".join(changed) or "regenerate-triton: nothing has changed")
        if changed and arguments.check:
            return 1
        if changed:
            shutil.rmtree(RECORDED, ignore_errors=True)
            shutil.copytree(fresh, RECORDED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
