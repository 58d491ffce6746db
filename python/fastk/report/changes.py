# ===- changes.py - What differs between two programs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Line differences, as the few numbers that the page needs to show them."""

import difflib

# Beyond this many pairs of lines the middle counts as replaced: a page must come.
_PAIRS = 4_000_000


def changes(before, after):
    """How to make the lines of `after` from those of `before`.

    Returns [tag, i1, i2, j1, j2] as difflib's opcodes, with tags "=", "-", "+" and
    "~" (replaced). Lines are those between newlines.
    """
    a, b = before.split("\n"), after.split("\n")
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    result = [["=", 0, start, 0, start]] if start else []
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    if len(middle_a) * len(middle_b) > _PAIRS:
        codes = [("replace", 0, len(middle_a), 0, len(middle_b))]
    else:
        matcher = difflib.SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        codes = matcher.get_opcodes()
    tags = {"equal": "=", "delete": "-", "insert": "+", "replace": "~"}
    for tag, i1, i2, j1, j2 in codes:
        result.append([tags[tag], *(x + start for x in (i1, i2, j1, j2))])
    if end:
        result.append(["=", len(a) - end, len(a), len(b) - end, len(b)])
    return result
