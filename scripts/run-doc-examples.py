#!/usr/bin/env python3
# ===- run-doc-examples.py - Runs what a page shows -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the ```console blocks of a page and compares what they print.

    run-doc-examples.py PAGE.md --dir SCRATCH [--copy SOURCE=NAME ...]

All blocks run in SCRATCH, which is emptied first and then given the copies. A line
"$ COMMAND [exit N]" is run by sh; the lines after it must come out, in this order,
among those that COMMAND prints to standard output and standard error. "..." stands
for any text, a number for any number; spaces are compared as one.

Exit codes: 0 the page is right; 1 it is not, or has no examples.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

TIMEOUT = 300  # seconds for one command


def examples(text):
    """Yields (line number, command, exit code, expected lines)."""
    current = None
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if inside and current:
                yield current
            current = None
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            if current:
                yield current
            command, code = re.fullmatch(
                r"\$ (.*?)(?: \[exit (\d+)\])?", line
            ).groups()
            current = (number, command, int(code or 0), [])
        elif inside and current and line.strip():
            current[3].append(line)
    if inside:
        raise SystemExit("the last ``` of the page is missing")


def pattern(line):
    """The regular expression of an expected line."""
    parts = []
    for token in re.split(r"(\.\.\.|\d+(?:\.\d+)?|\s+)", line.strip()):
        if token == "...":
            parts.append(".*")
        elif re.fullmatch(r"\d+(?:\.\d+)?", token):
            # A digit inside a name (f32, 0e03df74) is part of it, but any number
            # may stand there too: what matters are the words.
            parts.append(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
        elif token.isspace():
            parts.append(r"\s+")
        else:
            parts.append(re.escape(token))
    return re.compile("".join(parts))


def check(command, code, expected, folder):
    """Runs one example; returns what is wrong with it, or None."""
    try:
        result = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"still runs after {TIMEOUT} s"
    said = f"\nit printed:\n{result.stdout[-4000:]}"
    if result.returncode != code:
        return f"exit {result.returncode}, the page says {code}{said}"
    lines = iter(result.stdout.splitlines())
    for line in expected:
        wanted = pattern(line)
        if not any(wanted.search(got) for got in lines):
            return f"did not print (in this order): {line}{said}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--copy", action="append", default=[], metavar="SOURCE=NAME")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    for copy in options.copy:
        source, _, name = copy.partition("=")
        copier = shutil.copytree if pathlib.Path(source).is_dir() else shutil.copy
        copier(source, options.dir / name)
    count = failures = 0
    for number, command, code, expected in examples(options.page.read_text()):
        count += 1
        problem = check(command, code, expected, options.dir)
        print(f"{options.page}:{number}: {'ok' if problem is None else 'FAILED'}: {command}")
        if problem:
            failures += 1
            print(problem)
    print(f"{count} examples, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
