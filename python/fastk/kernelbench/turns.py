# ===- turns.py - Who works on the device -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Turns of processes that measure side by side.

What has to run on the device runs there alone, and while one process times, all others
are stopped: neither the device nor the host does anything else. All else (drawing
inputs, torch.compile) goes on side by side.

A process asks by a line of JSON, {"turn": T}, and goes on when a line comes back:

  device   the only one on the device
  alone    the only one that runs, and so on the device
  none     gives back what it has
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time

TURNS = ("device", "alone", "none")


class Asker:
    """The side of a process that measures."""

    def __init__(self, questions, answers):
        self._questions, self._answers = questions, answers

    def __call__(self, turn):
        os.write(self._questions, json.dumps({"turn": turn}).encode() + b"\n")
        if not os.read(self._answers, 1):
            raise EOFError("the runner is gone")


class Turns:
    """The side of the runner: a thread serves each process."""

    def __init__(self):
        self._device = threading.Lock()
        self._changed = threading.Condition()
        self._members, self._alone = [], None

    def start(self, start):
        """Calls `start`, which starts a process, when none is timed; returns it."""
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None)
            process = start()
            if process:
                self._members.append(_Member(process))
            return process

    def serve(self, process, limit):
        """Gives turns until the process answers: a dict, or None where it ends without.

        Raises TimeoutError after `limit` seconds, in which those do not count that it
        waits or is stopped for others.
        """
        member = next(each for each in self._members if each.process is process)
        try:
            for message in _lines(process.stdout, lambda: limit - member.seconds()):
                if message.get("turn") not in TURNS:
                    return message
                member.hold()
                self._give(member, message["turn"])
                member.let_go()
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(b"\n")
                    process.stdin.flush()
            return None
        finally:
            self._give(member, "none")
            with self._changed:
                self._members.remove(member)

    def _give(self, member, turn):
        if turn != "none" and not member.has_device:
            self._device.acquire()
            member.has_device = True
        if turn == "alone":
            with self._changed:
                self._alone = member
                for other in self._others(member):
                    other.hold()
                    _signal(other.process, signal.SIGSTOP)
        if turn != "none":
            return
        with self._changed:
            if self._alone is member:
                self._alone = None
                for other in self._others(member):
                    _signal(other.process, signal.SIGCONT)
                    other.let_go()
                self._changed.notify_all()
        if member.has_device:
            member.has_device = False
            self._device.release()

    def _others(self, member):
        return [each for each in self._members if each is not member]


class _Member:
    """A process, and the seconds that it had for itself."""

    def __init__(self, process):
        self.process, self.has_device = process, False
        self._lock, self._holds = threading.Lock(), 0
        self._spent, self._since = 0.0, time.monotonic()

    def hold(self):
        with self._lock:
            if not self._holds:
                self._spent += time.monotonic() - self._since
            self._holds += 1

    def let_go(self):
        with self._lock:
            self._holds -= 1
            if not self._holds:
                self._since = time.monotonic()

    def seconds(self):
        with self._lock:
            return self._spent + (0 if self._holds else time.monotonic() - self._since)


def _lines(stream, left):
    """JSON of the lines of a pipe; raises TimeoutError when nothing is `left`."""
    buffered = b""
    while True:
        if left() <= 0:
            raise TimeoutError
        # Seconds that are left stand still while the process is stopped.
        if not select.select([stream], [], [], min(1.0, max(left(), 0.0)))[0]:
            continue
        data = os.read(stream.fileno(), 1 << 16)
        if not data:
            return
        *lines, buffered = (buffered + data).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _signal(process, number):
    """To the process and all that it started: it leads a group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


#: How a process to serve is started, besides its command.
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
