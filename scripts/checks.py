# ===- checks.py - What the checks of the checkout share -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command line and the report of a check: see check-layers.py, check-sizes.py."""

import argparse
import pathlib
import sys


def run(name, description, check, remedy):
    """Prints the problems that `check` finds in a checkout; the exit code."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[1],
        help="the checkout (default: this one)",
    )
    problems = check(parser.parse_args().root.resolve())
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{name}: {len(problems)} found; {remedy}", file=sys.stderr)
    return 1 if problems else 0
