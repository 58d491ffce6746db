#!/usr/bin/env python3
# ===- run-doc-examples.py - Runs what the pages show -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the ```console blocks of pages and compares what they print.

    run-doc-examples.py --dir SCRATCH [--only FILE] PAGE.md... [@LIST]

LIST is a file of further pages, one a line.

The blocks of a page run in a folder of their own under SCRATCH, in their order. A
line "$ COMMAND [exit N]" is run by sh; the lines after it must come out, in this
order, among those that COMMAND prints to standard output and standard error. "..."
stands for any text, a number for any number; spaces are compared as one.

Every fence must name its language: `console` for commands, `text` for what is none.
Comments, which a reader of the page does not see, say the rest:

    <!-- copy: SOURCE as NAME -->  SOURCE, from the root of the checkout, is NAME in
                                   the folder before anything runs
    <!-- save: NAME -->            the next block is written to NAME
    <!-- in: checkout -->          the next block runs in the root of the checkout
    <!-- run-by: FILE: REASON -->  the next block takes long or needs more; FILE runs
                                   it: with --only FILE, or it holds the same words
    <!-- not-run: REASON -->       nothing runs the next block

Exit codes: 0 the pages are right; 1 one is not, or nothing was run.
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 900  # seconds for one command
LANGUAGES = {"c", "cpp", "console", "json", "mlir", "python", "text", "toml"}


@dataclasses.dataclass
class Block:
    """A fenced block: its first line's number, language, lines and comments."""

    number: int
    language: str
    marks: dict
    lines: list

    def examples(self):
        """Yields (line number, command, exit code, expected lines)."""
        current = None
        for number, line in enumerate(self.lines, self.number + 1):
            if line.startswith("$ "):
                if current:
                    yield current
                command, code = re.fullmatch(
                    r"\$ (.*?)(?: \[exit (\d+)\])?", line
                ).groups()
                current = (number, command, int(code or 0), [])
            elif current and line.strip():
                current[3].append(line)
        if current:
            yield current


def parse(text):
    """The copies [(source, name)] and the blocks of a page."""
    copies, blocks, marks, block, fence = [], [], {}, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.fullmatch(r"<!-- ([\w-]+): (.*) -->", line)
        if block:
            if line.strip() == fence:
                block = None
            else:
                block.lines.append(line)
        elif opening := re.match(r" *(```+)(.*)", line):
            fence = opening.group(1)
            block = Block(number, opening.group(2).strip(), marks, [])
            blocks.append(block)
            marks = {}
        elif mark and mark.group(1) == "copy":
            copies.append(mark.group(2).split(" as "))
        elif mark:
            marks[mark.group(1)] = mark.group(2)
        elif line.strip():
            marks = {}  # A mark stands right before its block.
    if block:
        raise SystemExit(f"line {block.number}: the closing {fence} is missing")
    return copies, blocks


def complaint(block):
    """What is wrong with a block as it is written, or None."""
    if block.language not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        return f"the fence must name its language, one of {known}"
    if block.language != "console":
        return None
    commands = [command for _, command, _, _ in block.examples()]
    if not commands:
        return "a console block shows a command after '$ '; other text is 'text'"
    if "not-run" in block.marks:
        return None if block.marks["not-run"].strip() else "not-run needs a reason"
    if "run-by" not in block.marks:
        return None
    file, _, reason = block.marks["run-by"].partition(": ")
    if not reason or not (ROOT / file).is_file():
        return f"run-by names an existing file and a reason, not '{file}: {reason}'"
    content = (ROOT / file).read_text()
    if re.search(rf'"--only",\s+"{re.escape(file)}"', content):
        return None  # It runs whatever is marked with its name.
    for command in commands:
        for word in command.partition(" #")[0].split():
            if word not in content:
                return f"run-by: '{word}' of '{command}' is not in {file}"
    return None


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


def run_page(page, folder, only):
    """Returns (examples, failures) of a page, and says how each went."""
    count = failures = 0

    def report(number, problem, what):
        print(f"{page}:{number}: {'FAILED' if problem else 'ok'}: {what}")
        if problem:
            print(problem)
        return bool(problem)

    copies, blocks = parse(page.read_text())
    folder.mkdir(parents=True)
    for source, name in copies:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copier = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copier(ROOT / source, target)
    for block in blocks:
        problem = complaint(block)
        if problem:
            failures += report(block.number, problem, "the block itself")
            continue
        if "save" in block.marks:
            (folder / block.marks["save"]).write_text("\n".join(block.lines) + "\n")
        if block.language != "console" or "not-run" in block.marks:
            continue
        if block.marks.get("run-by", "").partition(": ")[0] != (only or ""):
            continue
        where = ROOT if block.marks.get("in") == "checkout" else folder
        for number, command, code, expected in block.examples():
            count += 1
            problem = check(command, code, expected, where)
            failures += report(number, problem, command)
    return count, failures


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        fromfile_prefix_chars="@",
    )
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="PAGE.md")
    parser.add_argument("--dir", type=pathlib.Path, required=True, metavar="SCRATCH")
    parser.add_argument("--only", metavar="FILE", help="what is marked run-by: FILE")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    count = failures = 0
    for index, page in enumerate(options.pages):
        folder = options.dir / f"{index}-{page.stem}"
        examples, failed = run_page(page, folder, options.only)
        count += examples
        failures += failed
    print(f"{count} examples, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
