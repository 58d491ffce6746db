# ===- child.py - Runs the import in a child process -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs one import in a forked child and reports its progress.

The child alone loads torch-mlir: its private LLVM never meets another one in
the caller's process, and its crash or hang at exit costs one import only. A
fork, not a fresh interpreter, because a live torch.nn.Module has to get there
and need not be picklable.
"""

import contextlib
import io
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback

from .errors import ImporterError

#: Seconds before the first progress line, and between later ones.
QUIET_SECONDS = 2.0
REPEAT_SECONDS = 10.0


def run(task, label, progress=True):
    """Runs `task(report)` in a child; returns its JSON-able result.

    Args:
      task: called in the child; `report(line)` names the phase it is in, and
        `report(line, True)` one that is worth a line however soon it is over.
      label: what is imported, for progress lines and errors.
      progress: write progress to stderr once the import takes long.
    """
    scratch = tempfile.mkdtemp(prefix="fastk-import-")
    keep = False
    reader, writer = os.pipe()
    try:
        for stream in (sys.stdout, sys.stderr):
            # None where the caller has closed it.
            if stream is not None:
                stream.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _child(task, writer, scratch)  # does not return
        os.close(writer)
        try:
            answer = _collect(reader, label, progress)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            _, status = os.waitpid(pid, 0)
        if answer is None:
            keep = True
            raise _crash(status, label, scratch)
        if "error" in answer:
            message, remedy, where = answer["error"]
            reproducer = _reproducer(scratch)
            if reproducer:
                keep = True
                message += f"\nreproducer for torch-mlir-opt: {reproducer}"
            raise ImporterError(message, remedy, where)
        return answer["result"]
    finally:
        os.close(reader)
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)


class _Log(io.TextIOBase):
    """What is said on the way. On a full disk it is lost, and no import with it."""

    def writable(self):
        return True

    def write(self, text):
        with contextlib.suppress(OSError):
            os.write(2, text.encode(errors="replace"))
        return len(text)


def _child(task, writer, scratch):
    """The child's life: answers on `writer`, then leaves without any exit hook."""
    status = 1
    try:
        log = os.open(os.path.join(scratch, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout = sys.stderr = _Log()
        # torch-mlir leaves reproducers of one fixed name in the temp folder.
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        signal.signal(signal.SIGINT, signal.SIG_DFL)

        def send(message):
            data = json.dumps(message).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        try:
            answer = {
                "result": task(
                    lambda line, note=False: send({"phase": line, "note": note})
                )
            }
        except ImporterError as error:
            answer = {"error": [error.message, error.remedy, error.where]}
        except MemoryError:
            answer = {"error": ["out of memory", "import a smaller model", None]}
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            answer = {"error": [f"internal error of the importer:\n{text}", None, None]}
        send(answer)
        status = 0
    finally:
        # Not sys.exit: torch-mlir can hang in the interpreter's exit, and the
        # caller's exit hooks are not the child's to run.
        os._exit(status)


def _collect(reader, label, progress):
    """Reads the child's lines; returns its answer, or None if it died."""
    start = time.monotonic()
    next_line = start + QUIET_SECONDS
    phase, shown, buffered = "starting", None, b""
    while True:
        ready, _, _ = select.select([reader], [], [], 0.25)
        if ready:
            data = os.read(reader, 1 << 20)
            if not data:
                return None
            *lines, buffered = (buffered + data).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "phase" not in message:
                    return message
                phase = message["phase"]
                if message["note"] and progress:
                    _say(label, phase, start)
                    shown, next_line = phase, time.monotonic() + REPEAT_SECONDS
        now = time.monotonic()
        changed = shown is not None and phase != shown
        if progress and (now >= next_line or changed):
            _say(label, phase, start)
            shown, next_line = phase, now + REPEAT_SECONDS


def _say(label, phase, start):
    seconds = time.monotonic() - start
    print(
        f"fastk.importer: {label}: {phase}, {seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def _reproducer(scratch):
    for name in sorted(os.listdir(scratch)):
        if name.endswith(".mlir"):
            return os.path.join(scratch, name)
    return None


def _crash(status, label, scratch):
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        how = "was killed (out of memory?)"
    elif code < 0:
        how = f"crashed with {signal.Signals(-code).name}"
    else:
        how = f"left with exit code {code}"
    log = os.path.join(scratch, "log")
    return ImporterError(
        f"{label}: the importing process {how}; its last output is in {log}",
        "import parts of the module one by one to find the op",
    )
