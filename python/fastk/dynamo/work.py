# ===- work.py - Work on another thread, which can be ended -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What one thread does for another one, which may end it: a thread cannot be, processes can."""

import concurrent.futures
import contextlib
import os
import signal
import threading

_own = threading.local()


def end(process):
    """Ends a process that began a session of its own, with all that it has started."""
    # Not waited for, its number is nobody else's, though it may have ended.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Work:
    """A call on a thread; cancel() ends what it waits for.

    Processes of the call are known where it waits for them within watched().
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._process = None
        self._is_cancelled = False

    def run(self, call, *arguments):
        """Makes the call, on the thread that this is called on."""
        _own.work = self
        try:
            return call(*arguments)
        finally:
            _own.work = None

    def cancel(self):
        """Ends the process that is waited for, and each that comes later."""
        with self._lock:
            self._is_cancelled = True
            self._end_if_cancelled()

    def watch(self, process):
        with self._lock:
            self._process = process
            self._end_if_cancelled()

    def _end_if_cancelled(self):
        if self._is_cancelled and self._process is not None:
            end(self._process)


@contextlib.contextmanager
def watched(process):
    """Within it, cancelling the work of this thread ends the process."""
    work = getattr(_own, "work", None)
    if work is None:
        yield
        return
    work.watch(process)
    try:
        yield
    finally:
        work.watch(None)


def beside(call, meanwhile):
    """What `call` returns, made on another thread while `meanwhile` is called on this one.

    Whatever `meanwhile` raises, or comes while the other thread is waited for, as Ctrl-C
    does, ends the call's processes and is raised at once.
    """
    work = Work()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        made = pool.submit(work.run, call)
        meanwhile()
        return made.result()
    except BaseException:
        work.cancel()
        raise
    finally:
        pool.shutdown(wait=False)
