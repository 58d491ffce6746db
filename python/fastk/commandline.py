# ===- commandline.py - What the commands have in common -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------===#
"""What `python -m fastk.importer` and `python -m fastk.report` have in common."""

import os
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


def write_stdout(text, remedy):
    """Writes `text` to stdout and returns the exit code: 1, with the cause and `remedy`
    on stderr, where it cannot be written. A reader that had enough is no failure."""
    code = 0
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        pass
    except OSError as error:
        print(
            f"error: cannot write standard output: {error.strerror}\nremedy: {remedy}",
            file=sys.stderr,
        )
        code = 1
    # What is left would be tried again at the exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
