# ===- reasons.py - What failed, in a line -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Finds the line that says most in what a failed program printed."""

import re


def shorten(said, log=""):
    """The line that says most, without places: of a report, or of what was logged."""
    # Torch-mlir says that it failed; what failed is on its stderr.
    if "TorchMlirCompilerError" in said:
        said = "\n".join(re.findall(r"\berror: .*", log)) or said
    lines = [line.strip() for line in said.strip().split("\n") if line.strip()]
    for pattern in (
        r".*(?<!Compilation )(?<!Runtime )\b(error|ERROR): ",
        r"[\w.]+(Error|Exception|Unsupported|Violation)\b",
    ):
        found = [line for line in lines if re.match(pattern, line)]
        if found:
            text = found[0]
            break
    else:
        text = lines[-1] if lines else ""
    text = re.sub(r"^.*?\b(?=error: )", "", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    # Where it was made is nobody's business.
    text = re.sub(r"(?<![\w.-])/[^\s\"']*/(?=[^\s/\"']*\.(?:py|mlir|so)\b)", "", text)
    return text[:400]
