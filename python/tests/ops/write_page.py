# ===- write_page.py - Writes docs/ops.md -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures every row of the table on this machine and writes docs/ops.md.

    .venv/bin/python python/tests/ops/write_page.py [--gpu DIR]

DIR is what gpu_results.py packed, with results of a GPU; without it the page keeps
those that it has.
"""

import argparse
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import gpu_results  # noqa: E402
from op_programs import Program, compare  # noqa: E402
from all_rows import GROUPS, ROWS, WITHOUT_ROW, rows_of  # noqa: E402
from test_op_table import run  # noqa: E402


PAGE = HERE.parents[2] / "docs" / "ops.md"
MARK = "<!-- table: written by python/tests/ops/write_page.py, do not edit -->"


def measure(group, role, *options):
    """The worst finding of each row, by its name."""
    rows = rows_of(group, role)
    with tempfile.TemporaryDirectory() as folder:
        results = run(Program(rows), pathlib.Path(folder), *options)
    return {
        row.name: compare(row, parts, role)
        for row, parts in zip(rows, results, strict=True)
    }


def describe(findings, ops):
    found = [findings[row.name] for row in ops if row.name in findings]
    if not found:
        return "refused"
    if None in found:
        return "**no result**"
    errors = [finding.error for finding in found]
    if all(row.ulps == 0 for row in ops):
        return "exact" if max(errors) == 0 else f"**{max(errors):.2g}**"
    return f"{max(errors):.2f}"


def gpu_cells(folder):
    """The GPU's name, and an op's errors there: of `folder`, or what the page has."""
    if folder:
        name, found = gpu_results.findings(folder, folder / "results.npz")
        return name, {
            op: [describe(found[role], rows) for role in gpu_results.ROLES]
            for op, rows in rows_by_op().items()
        }
    text = PAGE.read_text()
    name = re.search(r"(?m)^\| op \|.*\| program on (.*?) \|", text)
    cells = re.findall(r"(?m)^\| `([\w.]+)` (?:\|[^|]*){5}\| (.*?) \| (.*?) \|$", text)
    return name and name[1], {op: list(rest) for op, *rest in cells}


def rows_by_op():
    ops = {}
    for row in ROWS:
        ops.setdefault(row.op, []).append(row)
    return ops


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gpu", metavar="DIR", type=pathlib.Path)
    gpu, cells = gpu_cells(parser.parse_args().gpu)
    program, oracle = {}, {}
    for group in GROUPS:
        program |= measure(group, "program")
        oracle |= measure(group, "oracle", "--oracle")
    heads = ["op", "operands", "variants", "allowed", "program", "oracle"]
    if gpu:
        heads += [f"program on {gpu}", "oracle there"]
    lines = [MARK, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for op, rows in rows_by_op().items():
        types = ", ".join(dict.fromkeys("x".join(dict.fromkeys(row.operands))
                                        for row in rows))  # fmt: skip
        variants = len({row.variant for row in rows})
        limit = max(row.ulps for row in rows)
        line = [f"`{op}`", types, str(variants), str(limit or "exact")]
        line += [describe(program, rows), describe(oracle, rows)]
        if gpu:
            line += cells.get(op, ["", ""])
        lines.append(f"| {' | '.join(line)} |")
    lines += ["", "Without a row:", ""]
    lines += [f"- `{op}`: {why}." for op, why in WITHOUT_ROW.items()]
    text = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
