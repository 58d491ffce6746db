# ===- programs.py - Where fastk's programs and libraries are -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk-opt and what lies beside it.

The wheel has them in the package, in `native`: bin, lib, share and include, as an
installation has them. A checkout has none there.
"""

import os
import shutil
import signal
import sys

__all__ = ["fastk_opt", "own"]

#: Programs that are one file, fastk-opt's, and know by which name they are called.
_IN_ONE = ("fastk-bank", "fastk-lsp-server", "fastk-run")


def own(*parts):
    """The path of a file of the package's own, or None: own("bin", "fastk-opt")."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native", *parts)
    return path if os.path.exists(path) else None


def fastk_opt(named=None):
    """The path of fastk-opt: what is named, else by FASTK_OPT, the package's own, or
    that in PATH. None where there is none."""
    named = named or os.environ.get("FASTK_OPT")
    if named:
        return shutil.which(named)
    return own("bin", "fastk-opt") or shutil.which("fastk-opt")


def launch():
    """Becomes the program by whose name this one was called."""
    name = os.path.basename(sys.argv[0])
    program = own("bin", "fastk-opt" if name in _IN_ONE else name)
    if not program:
        sys.exit(f"{name}: error: the package has no {name}: install its wheel again")
    # Python ignores them, and programs inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    # What the program starts in Python finds the package and its extras.
    os.environ.setdefault("FASTK_PYTHON", sys.executable)
    os.execv(program, sys.argv)
