# ===- triton_folders.py - Folders that fastk.from_triton writes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes the folder of a variant again, unless a person has had a hand in it.

The last line of kernel.ptx has the digest of all that was written: a folder without it, or
with another, is somebody's work.
"""

import hashlib
import pathlib
import shutil
import tempfile

#: How a kernel.ptx of ours begins, and its last line.
HEAD = "// Made by fastk.from_triton, "
DIGEST = "// sha256 of this folder as it was written: "


class Error(Exception):
    """A kernel cannot be a variant; the message says why and what to do."""


def write_variant(folder, files):
    """The whole folder or nothing. `files` are texts by name, kernel.ptx among them."""
    contents = {name: text.encode() for name, text in files.items()}
    contents["kernel.ptx"] = contents["kernel.ptx"].rstrip() + b"\n"
    contents["kernel.ptx"] += f"{DIGEST}{_digest(contents)}\n".encode()
    if folder.is_symlink() or folder.exists():
        _check_is_ours(folder, files)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside it: a folder is renamed within one file system.
    scratch = pathlib.Path(
        tempfile.mkdtemp(prefix=f".{folder.name[:40]}.", dir=folder.parent)
    )
    fresh, old = scratch / "new", scratch / "old"
    try:
        fresh.mkdir()
        for name, content in contents.items():
            (fresh / name).write_bytes(content)
        try:
            if folder.exists():
                folder.rename(old)
            fresh.rename(folder)
        except BaseException:
            if old.exists() and not folder.exists():
                old.rename(folder)
            raise
    finally:
        # What could not be moved back stays where it is.
        if folder.exists() or not old.exists():
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _check_is_ours(folder, names):
    remedy = "name another folder, or remove it"
    if folder.is_symlink() or not folder.is_dir():
        raise Error(f"{folder} is there and is no folder of a variant: {remedy}")
    found = {each.name: each for each in folder.iterdir()}
    if any(name not in names or not each.is_file() for name, each in found.items()):
        raise Error(f"{folder} is there and holds something else: {remedy}")
    if not found:
        return
    contents = {name: each.read_bytes() for name, each in found.items()}
    kernel = contents.get("kernel.ptx", b"")
    if not kernel.startswith(HEAD.encode()):
        raise Error(
            f"{folder} is there, and fastk.from_triton did not write it: {remedy}"
        )
    contents["kernel.ptx"], _, digest = kernel.rpartition(DIGEST.encode())
    if digest.decode(errors="replace") != _digest(contents) + "\n":
        raise Error(
            f"{folder} was edited since fastk.from_triton wrote it: {remedy}; a copy under "
            "another name is a variant of its own"
        )


def _digest(contents):
    """Of the names and bytes of files."""
    everything = hashlib.sha256()
    for name, content in sorted(contents.items()):
        everything.update(f"{name} {len(content)}\n".encode())
        everything.update(content)
    return everything.hexdigest()
