# ===- errors.py - What the importer raises -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The one exception of the importer."""


class ImporterError(Exception):
    """An import that could not be done: what failed, where, and the remedy.

    Attributes:
      message: what failed; the first line is a whole sentence's worth.
      remedy: what the user can do, or None.
      where: (file, line) in the user's code, or None.
    """

    def __init__(self, message, remedy=None, where=None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.where = tuple(where) if where else None

    def __str__(self):
        place = f"{self.where[0]}:{self.where[1]}: " if self.where else ""
        hint = f"\nremedy: {self.remedy}" if self.remedy else ""
        return f"{place}error: {self.message}{hint}"
