# ===- digests.py - Names of variants -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The digests by which a journal names variants."""

import hashlib
import re

# Comments, literals, white space, and runs of all else.
_PIECES = re.compile(
    rb"(?P<comment>//[^\n]*|/\*(?:.*?\*/|.*))"
    rb"|(?P<literal>\"(?:\\.|[^\"\\\n])*.?|'(?:\\.|[^'\\\n])*.?)"
    rb"|(?P<space>[ \t\n\v\f\r]+)"
    rb"|(?P<rest>[^ \t\n\v\f\r/\"']+|/)",
    re.DOTALL,
)


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


def without_comments(program):
    """A program (bytes) as the search compares it: no comments, white space short.

    A run of white space is one newline where it holds one, for lines count for
    the preprocessor, and one space elsewhere.
    """
    result, gap = [], b""
    for piece in _PIECES.finditer(program):
        if piece["comment"] is not None:
            gap = gap or b" "
        elif piece["space"] is not None:
            gap = b"\n" if b"\n" in piece["space"] else gap or b" "
        else:
            if result and gap:
                result.append(gap)
            gap = b""
            result.append(piece[0])
    return b"".join(result)


def novelty_digest(variant):
    """What two variants share that differ in nothing that counts."""
    return variant_digest(
        variant.language,
        variant.workspace_bytes,
        variant.plan,
        without_comments(variant.program),
        variant.problem,
    )
