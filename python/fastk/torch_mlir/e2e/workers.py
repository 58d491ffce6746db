# ===- workers.py - Processes that run packed tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs packed tests in worker processes, which are started again after a crash."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from ...reasons import shorten
from .pack import Result


#: Seconds that a new process has besides: it makes the GPU's context.
START = 30.0


def command(folder):
    """What runs the tests of a pack."""
    return [sys.executable, "-m", "fastk.torch_mlir.e2e.device", folder]


class Worker:
    """A process that runs one test after the other."""

    def __init__(self, pack, limit):
        self.pack, self.limit = pack, limit
        self.process, self.name = None, None

    def give(self, name):
        if self.process is None:
            self.log = tempfile.TemporaryFile()
            self.process = subprocess.Popen(
                command(self.pack.folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                start_new_session=True,
            )
            self.end = time.monotonic() + self.limit + START
        else:
            self.end = time.monotonic() + self.limit
        self.name, self.start = name, time.monotonic()
        try:
            self.process.stdin.write(name.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended, which reading tells.

    def fileno(self):
        return self.process.stdout.fileno()

    def finish(self):
        """Takes in that the test is done, or that the process has ended."""
        if not self.process.stdout.readline():
            self.process.wait()
            if self.pack.read_result(self.name) is None:
                code = self.process.returncode
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                self._lost("crash", f"{how} {self._last_words()}".strip())
            self.process = None
        self.name = None

    def expire(self):
        self.stop()
        self._lost("timeout", f"no end after {self.limit:.0f} s")
        self.name = None

    def stop(self):
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None

    def _lost(self, status, reason):
        result = Result(status, reason, round(time.monotonic() - self.start, 3))
        result.pack = self.pack.digest(self.name)
        self.pack.write_result(self.name, result)

    def _last_words(self):
        data = os.pread(self.log.fileno(), 1 << 20, 0)
        return shorten(data.decode(errors="replace")[-4000:])


def run(pack, names, count, limit, progress):
    """Runs the tests `names` in `count` processes, `limit` seconds each.

    `progress(name)` is called when a test has its result.
    """
    waiting = list(reversed(names))
    workers = [Worker(pack, limit) for _ in range(max(1, min(count, len(names))))]
    try:
        while waiting or any(each.name for each in workers):
            for each in workers:
                if each.name is None and waiting:
                    each.give(waiting.pop())
            busy = [each for each in workers if each.name]
            left = min(each.end for each in busy) - time.monotonic()
            ready, _, _ = select.select(busy, [], [], max(left, 0))
            for each in busy:
                name = each.name
                if each in ready:
                    each.finish()
                elif each.end < time.monotonic():
                    each.expire()
                else:
                    continue
                progress(name)
    finally:
        for each in workers:
            each.stop()
