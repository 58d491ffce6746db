# ===- errors.py - What keeps fastk from a graph -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What keeps fastk from a graph: then Inductor has it, as without fastk."""


class Unsupported(Exception):
    """fastk does not take a graph; the message says what it has or does."""


class Failed(Exception):
    """Something of fastk's failed; the message says what, why and what to do."""
