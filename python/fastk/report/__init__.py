# ===- __init__.py - The report's Python API -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reports searches from their journals: text, a page to explore, a dataset.

    from fastk.report import read_searches
    (search,) = read_searches("journal")
    search.winner.idea.title

On the command line: python -m fastk.report JOURNAL -o report.html (docs/report.md).
Neither needs more than Python itself.
"""

from .errors import ReportError
from .search import read_searches

__all__ = ["ReportError", "read_searches"]
