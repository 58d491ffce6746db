# ===- rows.py - Results on disk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What became of each problem: one JSON file, which the next run goes on from.

A row: {"problem", "digest" of the file, "steps": {step: {"status", "reason",
"seconds", "made_by", ...}}}. A step is done again when the file, or what makes it,
is another, or a step before it was.
"""

import json

from .. import locks
from ..importer import files

FORMAT, VERSION = "fastk.kernelbench", 1
STEPS = ("import", "compile", "measure")


class RowsError(Exception):
    """A file of rows that is none."""


class Rows:
    """`rows`: {problem: row}; `versions`: {what: version}."""

    def __init__(self, path):
        self.path, self.rows, self.versions = path, {}, {}
        self._lock = locks.hold(path, "folder")
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            if (data["format"], data["version"]) != (FORMAT, VERSION):
                raise ValueError(f"{data['format']} {data['version']}")
            self.versions = data["versions"]
            self.rows = {row["problem"]: row for row in data["rows"]}
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            raise RowsError(
                f"{path} holds no results of this version ({error}): remove it, or "
                "name another folder by -o"
            ) from None

    def step(self, problem, step):
        """What there is of a step, or None."""
        return self.rows.get(problem, {}).get("steps", {}).get(step)

    def wants(self, problem, step, digest, made_by, again=()):
        """Whether a step is to be done (again)."""
        row = self.rows.get(problem.name)
        said = row and row["steps"].get(step)
        if not said or row["digest"] != digest or said["made_by"] != made_by:
            return True
        return said["status"] in again

    def add(self, problem, step, digest, said):
        """Keeps what a step said; those behind it no longer stand."""
        row = self.rows.get(problem.name)
        if not row or row["digest"] != digest:
            row = {"problem": problem.name, "digest": digest, "steps": {}}
            self.rows[problem.name] = row
        row["steps"][step] = said
        for later in STEPS[STEPS.index(step) + 1 :]:
            row["steps"].pop(later, None)

    def write(self):
        """Writes the file, whole or not at all; a problem a line."""
        head = {"format": FORMAT, "version": VERSION, "versions": self.versions}
        lines = ",\n".join("    " + json.dumps(row) for row in self.rows.values())
        text = json.dumps(head, indent=2)[:-2]
        files.write_all({self.path: f'{text},\n  "rows": [\n{lines}\n  ]\n}}\n'})
