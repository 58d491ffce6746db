# ===- store.py - What is known of graphs and regions, on disk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What was imported, compiled and measured before: a folder that processes share.

Everything in it can be made again. A file is there whole or not at all, and one that
cannot be read counts as none.
"""

import contextlib
import json
import os
import tempfile

from .errors import Failed

#: Of what is in the files: another number, and they are made again.
VERSION = 1


def default_folder():
    """$FASTK_TORCH_CACHE, else beside fastk's bank in the user's cache."""
    named = os.environ.get("FASTK_TORCH_CACHE")
    if named:
        return named
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "fastk", "torch")


class Store:
    """Files by name in a folder."""

    def __init__(self, folder=None):
        folder = os.path.abspath(folder or default_folder())
        self.folder = os.path.join(folder, f"v{VERSION}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name, *forms):
        """The JSON object in a file, or None.

        forms: keys that it must have, of one of them all; else it counts as none.
        """
        try:
            with open(self.path(name), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        return found if any(set(form) == set(found) for form in forms) else None

    def write(self, name, value):
        self.write_bytes(name, json.dumps(value, indent=1).encode() + b"\n")

    def write_bytes(self, name, data):
        """Writes a file; False where it cannot be kept, as on a full disk."""
        path = self.path(name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path))
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(scratch, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(scratch)
                raise
        except OSError:
            return False
        return True

    def keep(self, name, data):
        """The path of a file of these bytes; raises Failed where it cannot be kept."""
        path = self.path(name)
        with contextlib.suppress(OSError), open(path, "rb") as file:
            # What a crash has left is of any bytes.
            if file.read() == data:
                return path
        if not self.write_bytes(name, data):
            raise Failed(
                f"{path} cannot be written: make room, or let FASTK_TORCH_CACHE name "
                "another folder"
            )
        return path
