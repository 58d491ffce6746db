# ===- fields.py - Typed access to what was read -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""JSON objects whose fields have the type that is asked for, or an error says not."""

import math

from .errors import ReportError

_REMEDY = "restore the file, or report another journal"


class Fields:
    """An object of a file, and the place that an error about it names.

    Attributes:
      raw: the object itself.
      where: (file, line).
      what: what it is, for people: "event 'ideas'".
    """

    def __init__(self, raw, where, what):
        self.raw, self.where, self.what = raw, where, what
        if not isinstance(raw, dict):
            raise ReportError(f"{what} is no object", _REMEDY, where)

    def _get(self, name, kinds, kind, default):
        value = self.raw.get(name, default)
        if value is ...:
            self.fail(f"has no field '{name}'")
        # In Python, but not in JSON, a truth value is a number.
        if value is not default and (
            not isinstance(value, kinds) or (isinstance(value, bool) and bool != kinds)
        ):
            self.fail(f"its field '{name}' is no {kind}")
        return value

    def fail(self, problem):
        raise ReportError(f"{self.what}: {problem}", _REMEDY, self.where)

    def text(self, name, default=...):
        return self._get(name, str, "text", default)

    def number(self, name, default=...):
        value = self._get(name, (int, float), "number", default)
        if isinstance(value, float) and not math.isfinite(value):
            self.fail(f"its field '{name}' is no finite number")
        return value

    def integer(self, name, default=...):
        return self._get(name, int, "whole number", default)

    def flag(self, name, default=...):
        return self._get(name, bool, "truth value", default)

    def list(self, name, default=...):
        return self._get(name, list, "list", default)

    def object(self, name, default=...):
        value = self._get(name, dict, "object", default)
        return value if value is default else self.inner(value, f"'{name}'")

    def objects(self, name, default=...):
        """The objects of a list."""
        return [
            self.inner(each, f"'{name}' {number}")
            for number, each in enumerate(self.list(name, default))
        ]

    def inner(self, raw, what):
        return Fields(raw, self.where, f"{self.what}, {what}")

    def parent(self):
        """What an idea or a variant builds on: a digest, family:NAME, or empty."""
        value = self.text("parent", "")
        return value if value.startswith("family:") else self.digest("parent", "")

    def digest(self, name, default=...):
        """A SHA-256 in hex; the default, or empty, where it is left out."""
        value = self.text(name, default)
        if value and (len(value) != 64 or set(value) - set("0123456789abcdef")):
            self.fail(f"its field '{name}' is no SHA-256 in hex")
        return value
