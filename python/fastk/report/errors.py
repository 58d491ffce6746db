# ===- errors.py - What the report raises -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The one exception of the report."""


class ReportError(Exception):
    """A report that could not be made: what failed, where, and the remedy.

    Attributes:
      message: what failed; the first line is a whole sentence's worth.
      remedy: what the user can do, or None.
      where: (file, line) of the journal, line None for the whole file, or None.
    """

    def __init__(self, message, remedy=None, where=None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.where = tuple(where) if where else None

    def __str__(self):
        place = ""
        if self.where:
            file, line = self.where
            place = f"{file}:{line}: " if line else f"{file}: "
        hint = f"\nremedy: {self.remedy}" if self.remedy else ""
        return f"{place}error: {self.message}{hint}"
