# ===- commandline.py - What the commands have in common -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------===#
"""What `python -m fastk.importer` and `python -m fastk.report` have in common."""

import sys


def fail(parser, message):
    """Ends with exit code 1 after naming what is wrong with the options, and the remedy."""
    print(
        f"{parser.prog}: error: {message}\nremedy: see {parser.prog} --help",
        file=sys.stderr,
    )
    sys.exit(1)


def use_exit_code_1(parser):
    """argparse leaves with 2 for wrong options; in fastk's commands that is 1."""
    parser.error = lambda message: fail(parser, message)
