# ===- family_folders.py - Folders of families that are sent -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Folders of families, and fastk-bank sync --families of them."""

import shutil

from banks import ROOT

FAMILIES = ROOT / "families"


def copied(folder, *names):
    """A folder of families with some of those that fastk brings."""
    for name in names:
        shutil.copytree(FAMILIES / name, folder / name)
    return folder


def sync(user, *arguments, expect=0):
    return user.bank("sync", "--families", *arguments, expect=expect)


def texts(folder):
    """What a family's folder holds."""
    return {file.name: file.read_text() for file in folder.iterdir()}
