#!/usr/bin/env python3
# ===- check-pass-examples.py - Examples of passes, run -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the examples in the generated pages of passes.

    scripts/check-pass-examples.py FASTK_OPT PAGE...

In a PAGE (docs/generated/*Passes.md) each section of a pass has at least one example: a
fence of mlir whose first line is a command, `// fastk-opt --fastk-fold-empty`. The command
must accept the rest of the fence. Where the next fence of the section follows the line
`becomes`, the command's output must be that module: both are read and printed before they
are compared, so names of values and layout do not matter.

Exit codes: 0 all is so; 1 it is not, with a line for each example.
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

COMMAND = "// fastk-opt "
#: What prints a module as it is: with a pipeline fastk-opt is mlir-opt.
PRINT = ["--pass-pipeline=builtin.module()", "--mlir-print-local-scope"]


def run(tool, arguments, text):
    """The module that the tool prints, or None, and what it says."""
    made = subprocess.run(
        [tool, "-", *arguments], input=text, capture_output=True, text=True, timeout=60
    )
    return (made.stdout if made.returncode == 0 else None), made.stderr.strip()


def sections(page):
    """(name of the pass, line, [(line, fence, whether it follows `becomes`)])"""
    name, start, fences, inside, before = None, 0, [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        heading = re.match(r"### `-([\w-]+)`", line)
        if heading:
            if name:
                yield name, start, fences
            name, start, fences = heading[1], number, []
        elif inside is not None:
            if line.startswith("```"):
                fences.append((*inside[:1], "\n".join(inside[1]), inside[2]))
                inside = None
            else:
                inside[1].append(line)
        elif line.startswith("```mlir"):
            inside = [number, [], before == "becomes"]
        if line.strip():
            before = line.strip()
    if name:
        yield name, start, fences


def check(tool, page):
    """Problems of a page, and how many examples it has."""
    problems, count = [], 0
    for name, start, fences in sections(page):
        examples = [i for i, fence in enumerate(fences) if fence[1].startswith(COMMAND)]
        if not examples:
            problems.append(f"{page}:{start}: {name} has no example")
        for i in examples:
            count += 1
            line, text, _ = fences[i]
            command, _, text = text.partition("\n")
            place = f"{page}:{line}: {name}"
            made, said = run(tool, shlex.split(command[len(COMMAND) :]), text + "\n")
            if made is None:
                problems.append(f"{place}: the command fails:\n{said}")
                continue
            if i + 1 >= len(fences) or not fences[i + 1][2]:
                continue
            shown, said = run(tool, PRINT, fences[i + 1][1] + "\n")
            made, _ = run(tool, PRINT, made)
            if shown is None:
                problems.append(f"{place}: what it becomes cannot be read:\n{said}")
            elif shown != made:
                difference = difflib.unified_diff(
                    shown.splitlines(), made.splitlines(), "shown", "made", lineterm=""
                )
                problems.append(f"{place}: becomes something else:\n" + "\n".join(difference))
    return problems, count


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", help="fastk-opt")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    problems, count = [], 0
    for page in arguments.pages:
        found, examples = check(arguments.tool, page)
        problems += found
        count += examples
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"check-pass-examples: {count} examples, {len(problems)} problems")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
