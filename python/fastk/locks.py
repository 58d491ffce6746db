# ===- locks.py - One run at a time -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Files that one run writes at a time."""

import fcntl


class BusyError(Exception):
    """Another run has the file."""


def hold(path, what):
    """Locks `path`; returns the open lock, `path`.lock, which goes with the process.

    `what` is named by -o: a file or a folder. Raises BusyError.
    """
    lock = open(path + ".lock", "w")  # noqa: SIM115, for the caller's life
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise BusyError(
            f"{path} belongs to a run that goes on: wait for it, or name another "
            f"{what} by -o"
        ) from None
    return lock
