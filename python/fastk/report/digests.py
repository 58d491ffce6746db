# ===- digests.py - Names of variants -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The digests by which a journal names variants."""

import hashlib


def variant_digest(language, workspace_bytes, plan, program, problem=""):
    """The DIGEST of `evaluate/DIGEST`: digestOf(Variant) of the search.

    `program` is bytes; `plan` the text that the journal holds, or None.
    """
    text = f"{language} {workspace_bytes}\n".encode()
    if plan is not None:
        text += plan.encode() + b"\n"
    text += program
    if problem:
        text += b"\n" + problem.encode()
    return hashlib.sha256(text).hexdigest()
