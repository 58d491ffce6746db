# ===- child.py - One test in a process of its own -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs a test in a forked child: its crash or hang costs one result.

The child is a fork, for torch takes seconds to import. It loads torch-mlir, and what
was compiled; the parent loads neither.
"""

import dataclasses
import json
import os
import select
import signal
import sys
import tempfile
import time

from ...reasons import shorten
from . import suite


@dataclasses.dataclass
class Outcome:
    """What became of a test with a backend.

    Attributes:
      status: pass, fail, crash or timeout.
      phase: where it ended: import (torch, torch-mlir), compile, run, compare.
      reason: what was said, short; empty for a pass.
      seconds: from the export to the comparison.
    """

    status: str
    phase: str = ""
    reason: str = ""
    seconds: float = 0.0


class _Watched:
    """A backend that remembers how far a test came."""

    def __init__(self, backend, enter):
        self.backend, self.enter = backend, enter

    def compile(self, module):
        self.enter("compile")
        return self.backend.compile(module)

    def load(self, artifact):
        self.enter("run")
        loaded = self.backend.load(artifact)
        enter = self.enter

        class Loaded:
            def __getattr__(self, name):
                function = getattr(loaded, name)

                def invoke(*arguments):
                    result = function(*arguments)
                    enter("compare")
                    return result

                return invoke

        return Loaded()


class Child:
    """A running test. `fileno()` becomes readable when there is something to read."""

    def __init__(self, test, backends, limit):
        """`backends`: {name: function that makes it}; `limit`: seconds for each."""
        self.name = test.unique_name
        self.waiting = list(backends)
        self.outcomes = {}
        self.limit = limit
        self.buffered = b""
        self.log = tempfile.TemporaryFile()
        self.scratch = tempfile.TemporaryDirectory(prefix="fastk-e2e-")
        self.reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._begin("import")
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            _run(test, backends, writer, self.log.fileno(), self.scratch.name)
        os.close(writer)

    def fileno(self):
        return self.reader

    def _begin(self, phase):
        self.phase, self.start = phase, time.monotonic()

    @property
    def left(self):
        """Seconds until the limit."""
        return self.start + self.limit - time.monotonic()

    def read(self):
        """Takes in what the child says; true when it has ended."""
        data = os.read(self.reader, 1 << 16)
        *lines, self.buffered = (self.buffered + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "entered" in message:
                self.phase = message["entered"]
            else:
                self.outcomes[self.waiting.pop(0)] = Outcome(**message)
                self._begin("import")
        if data:
            return False
        self._end(None)
        return True

    def kill(self):
        """Ends a child that is over its limit."""
        self._end(Outcome("timeout", self.phase, f"no end after {self.limit:.0f} s"))

    def _end(self, outcome):
        os.close(self.reader)
        if outcome:
            _kill_group(self.pid)
        _, status = os.waitpid(self.pid, 0)
        if self.waiting and not outcome:
            code = os.waitstatus_to_exitcode(status)
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            said = f"{how} {self._last_words()}".strip()
            outcome = Outcome("crash", self.phase, said)
        # A crash of the one says nothing of those that come after it.
        if self.waiting:
            outcome.seconds = round(time.monotonic() - self.start, 2)
            self.outcomes[self.waiting.pop(0)] = outcome
        self.log.close()
        self.scratch.cleanup()

    def _last_words(self):
        return shorten(_read(self.log.fileno())[-4000:])


def _read(log):
    return os.pread(log, 1 << 20, 0).decode(errors="replace")


def _kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def _run(test, backends, writer, log, scratch):
    """The child's life."""
    status = 1
    try:
        # A group of its own, so that what it started ends with it.
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # Reproducers of torch-mlir and of fastk are for people.
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        os.chdir(scratch)

        def send(message):
            os.write(writer, json.dumps(message).encode() + b"\n")

        for make in backends.values():
            phase = "import"

            def enter(name):
                nonlocal phase
                phase = name
                send({"entered": name})

            start = time.monotonic()
            said = suite.run(test, _Watched(make(), enter))
            seconds = round(time.monotonic() - start, 2)
            outcome = Outcome("pass", seconds=seconds)
            if said is not None:
                outcome = Outcome("fail", phase, shorten(said, _read(log)), seconds)
            send(dataclasses.asdict(outcome))
        status = 0
    finally:
        # Torch-mlir can hang in the interpreter's exit.
        os._exit(status)


def wait(children, seconds):
    """The children with something to read, within `seconds`."""
    ready, _, _ = select.select(children, [], [], max(seconds, 0))
    return ready
