# ===- results.py - Results on disk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The results of a run: one JSON file, which the next run goes on from.

A result stands with what made it: of fastk's the digest of fastk-opt, of the
reference's the version of torch-mlir. Another one's is made again.
"""

import dataclasses
import json
import os
import tempfile

from ... import locks
from .child import Outcome

FORMAT = "fastk.torch-mlir-e2e"
VERSION = 1


class ResultsError(Exception):
    """A file of results that is none."""


@dataclasses.dataclass
class Result:
    """One test with one backend: `made_by` names the program that compiled."""

    outcome: Outcome
    made_by: str


class Results:
    """`tests`: {test: {backend: Result}}; `versions`: {what: version}."""

    def __init__(self, path):
        self.path, self.tests, self.versions = path, {}, {}
        self._lock = locks.hold(path, "one")
        try:
            with open(path, encoding="utf-8") as file:
                self._read(json.load(file))
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultsError(
                f"{path} holds no results of this version ({error}): remove it, or "
                "name another one by -o"
            ) from None

    def _read(self, data):
        if data["format"] != FORMAT or data["version"] != VERSION:
            raise ValueError(f"{data['format']} {data['version']}")
        self.versions = data["versions"]
        for test, backends in data["tests"].items():
            self.tests[test] = {
                name: Result(Outcome(**fields), made_by)
                for name, fields in backends.items()
                for made_by in [fields.pop("made_by")]
            }

    def close(self):
        """Lets others have the file."""
        os.unlink(self.path + ".lock")
        self._lock.close()

    def get(self, test, backend):
        """The Outcome, or None."""
        result = self.tests.get(test, {}).get(backend)
        return result and result.outcome

    def has(self, test, backend, made_by):
        """Whether there is a result by this very program."""
        result = self.tests.get(test, {}).get(backend)
        return result is not None and result.made_by == made_by

    def add(self, test, backend, outcome, made_by):
        self.tests.setdefault(test, {})[backend] = Result(outcome, made_by)

    def write(self):
        """Writes the file, whole or not at all; a test a line."""
        tests = []
        for test, backends in sorted(self.tests.items()):
            fields = {}
            for name, result in backends.items():
                outcome = dataclasses.asdict(result.outcome)
                fields[name] = {key: value for key, value in outcome.items() if value}
                fields[name]["made_by"] = result.made_by
            tests.append(f"    {json.dumps(test)}: {json.dumps(fields)}")
        fields = {"format": FORMAT, "version": VERSION, "versions": self.versions}
        text = json.dumps(fields, indent=2)[:-2] + ',\n  "tests": {\n'
        write_whole(self.path, text + ",\n".join(tests) + "\n  }\n}\n")


def write_whole(path, text):
    """Writes a file under another name and renames it."""
    folder, name = os.path.split(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
