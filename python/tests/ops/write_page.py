# ===- write_page.py - Writes docs/ops.md -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures every row of the table on this machine and writes docs/ops.md.

    .venv/bin/python python/tests/ops/write_page.py
"""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from op_programs import Program, compare  # noqa: E402
from op_table import ROWS, WITHOUT_ROW  # noqa: E402
from test_op_table import GROUPS, run  # noqa: E402


PAGE = HERE.parents[2] / "docs" / "ops.md"
MARK = "<!-- table: written by python/tests/ops/write_page.py, do not edit -->"


def measure(rows, *options):
    """The worst finding of each row, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(rows)
        results = run(program, pathlib.Path(folder), *options)
    promoted = "f64" if options else None
    return {
        row.name: compare(row, parts, promoted)
        for row, parts in zip(rows, results, strict=True)
    }


def describe(findings, ops):
    errors = [findings[row.name].error for row in ops if row.name in findings]
    if not errors:
        return "refused"
    if all(row.ulps == 0 for row in ops):
        return "exact" if max(errors) == 0 else f"**{max(errors):.2g}**"
    return f"{max(errors):.2f}"


def main():
    program, oracle = {}, {}
    for rows in GROUPS.values():
        program |= measure(rows)
        oracle |= measure([row for row in rows if row.has_oracle], "--oracle")
    lines = [MARK, "", "| op | operands | variants | allowed | program | oracle |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for op in dict.fromkeys(row.op for row in ROWS):
        rows = [row for row in ROWS if row.op == op]
        types = ", ".join(dict.fromkeys("x".join(dict.fromkeys(row.operands))
                                        for row in rows))  # fmt: skip
        variants = len({row.variant for row in rows})
        limit = max(row.ulps for row in rows)
        lines.append(
            f"| `{op}` | {types} | {variants} | {limit or 'exact'} | "
            f"{describe(program, rows)} | {describe(oracle, rows)} |"
        )
    lines += ["", "Without a row:", ""]
    lines += [f"- `{op}`: {why}." for op, why in WITHOUT_ROW.items()]
    text = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
