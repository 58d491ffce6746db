# ===- errors.py - What the backend raises -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The one exception of the backend."""


class Error(Exception):
    """A module that was not compiled, or a call that was not made: what, why, remedy.

    Attributes:
      reproducer: the file with the module that does not compile, or None.
    """

    def __init__(self, message, reproducer=None):
        super().__init__(message)
        self.reproducer = reproducer
