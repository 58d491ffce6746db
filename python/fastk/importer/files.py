# ===- files.py - Atomic file writes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes files whole or not at all, and names their contents."""

import contextlib
import hashlib
import os
import tempfile

from .errors import ImporterError


def write_all(contents):
    """Writes {path: text or bytes}: temporary files first, then renames.

    A failure before the renames leaves every target as it was. A link stays, and
    what it names is written. Raises ImporterError with the path and the system's
    reason.
    """
    staged = []
    path = None
    try:
        for path, data in contents.items():
            if os.path.isdir(path):
                raise ImporterError(f"'{path}' is a folder", "name a file with -o")
            # A rename would replace the link, or the device.
            place = os.path.realpath(path)
            if os.path.exists(place) and not os.path.isfile(place):
                raise ImporterError(f"'{path}' is no file", "name a file with -o")
            handle, temporary = tempfile.mkstemp(
                prefix=f".{os.path.basename(place)}.", dir=os.path.dirname(place)
            )
            staged.append((temporary, place))
            with os.fdopen(handle, "wb") as stream:
                stream.write(data.encode() if isinstance(data, str) else data)
                stream.flush()
                os.fsync(stream.fileno())
            # mkstemp makes files private; the result is an ordinary file.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        while staged:
            temporary, place = staged[0]
            os.replace(temporary, place)
            staged.pop(0)
    except OSError as error:
        raise ImporterError(
            f"cannot write '{path}': {error.strerror or error}",
            "name a file in an existing folder that you may write, with free space",
        ) from error
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def digest(path):
    """Twelve digits for the contents of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
