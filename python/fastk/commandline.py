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


def open_streams():
    """Opens those of the standard streams that are closed, on nothing.

    Else the next file or pipe has the number of one, and what is printed to stderr goes
    to stdout. sys.stdout stays None where it was closed: write_stdout() tells it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def write_stdout(text, remedy):
    """Writes `text` to stdout and returns the exit code: 1, with the cause and `remedy`
    on stderr, where it cannot be written. A reader that had enough is no failure."""
    if sys.stdout is None:
        return _not_written("it is closed", remedy)
    code = 0
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
        return code
    except UnicodeEncodeError as error:
        # Nothing of the text is written.
        character = ascii(error.object[error.start])
        return _not_written(
            f"its encoding, {error.encoding}, has no {character}", remedy
        )
    except BrokenPipeError:
        pass
    except OSError as error:
        code = _not_written(error.strerror, remedy)
    # What is left would be tried again at the exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _not_written(cause, remedy):
    print(
        f"error: cannot write standard output: {cause}\nremedy: {remedy}",
        file=sys.stderr,
    )
    return 1
