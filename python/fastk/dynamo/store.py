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
        self.folder = os.path.join(folder or default_folder(), f"v{VERSION}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        """The JSON in a file, or None."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def write(self, name, value):
        self.write_bytes(name, json.dumps(value, indent=1).encode() + b"\n")

    def write_bytes(self, name, data):
        """Writes a file; on a full disk it is not kept, and that is no error."""
        path = self.path(name)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path))
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(scratch, path)
            except OSError:
                os.unlink(scratch)
                raise
