# ===- searchreport.py - The file of fastk-opt --report -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reads the file of `fastk-opt --report` (docs/formats/report.md) beside a journal.

It knows what journals do not tell: why a search ended, and, for journals of earlier
versions, the workload's name, its shapes and its floor.
"""

import json

from .errors import ReportError
from .fields import Fields

_REMEDY = "name the file that fastk-opt --report=FILE.json wrote for this search"


def read_report(path):
    """{key: what it tells} of each workload in the file."""
    where = (path, None)
    try:
        with open(path, encoding="utf-8") as stream:
            raw = json.load(stream)
    except OSError as error:
        raise ReportError(
            f"cannot be read: {error.strerror or error}", _REMEDY, where
        ) from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not JSON: {error}", _REMEDY, where) from error
    fields = Fields(raw, where, "the report")
    if fields.integer("format") != 1:
        fields.fail(f"has format {fields.integer('format')}, and 1 is wanted")
    return {
        each.text("key"): {
            "name": each.text("name", ""),
            "shapes": each.text("shapes", ""),
            "floor_seconds": each.number("floor_seconds", 0),
            "end": each.text("end", ""),
            "end_detail": each.text("end_detail", ""),
            "no_winner_reason": each.text("no_winner_reason", ""),
        }
        for each in fields.objects("workloads")
    }
