#!/usr/bin/env python3
# ===- check-sizes.py - How long files and functions may be -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds C++ files to 600 lines and functions to 120.

    scripts/check-sizes.py [--root FOLDER]

A function counts from the first line of its signature to its closing brace, with the
lambdas in it. Functions that are a table, one initialiser list and nothing else, may be
of any length, and so may the expert's catalogue (lib/Propose/Catalog). Functions are
found by their braces, which is enough for code that clang-format has laid out.

Exit codes: 0 all are short enough; 1 some are not, with a line for each place.
"""

import bisect
import pathlib
import re
import sys

import checks

FILE_LIMIT = 600
FUNCTION_LIMIT = 120
FOLDERS = ("cmake", "examples", "include", "lib", "test", "tools", "unittests")
EXEMPT = (pathlib.Path("lib/Propose/Catalog"),)
SOURCES = (".cpp", ".h")

#: What has braces and is no code: comments, literals, lines of the preprocessor.
NO_CODE = re.compile(
    r'(?P<raw>R"(?P<mark>[^()\s\\"]*)\(.*?\)(?P=mark)")'
    r"|//[^\n]*"
    r"|/\*.*?\*/"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'"
    r"|^[ \t]*\#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)
#: What opens a scope whose members are looked at one by one.
SCOPE = re.compile(r'(?:extern ""|\b(?:namespace|class|struct|union|enum)\b[^()=]*)$')
#: Before the brace of an initialiser list, unless it is the body of a lambda.
VALUE = re.compile(r"(?:=|\breturn\b)[^()]*$")
TABLE = re.compile(r"\s*(?:static\s+const(?:expr)?\b[^;{}=]*=|return\b[^;{}()=]*)\s*$")


def blank(found):
    """As many lines, and no braces; of a literal the quotes are left."""
    lines = "\n" * found[0].count("\n")
    return f'""{lines}' if found[0].startswith(('"', "R")) else f" {lines}"


def pairs(text):
    """{place of a '{': place of its '}'}."""
    opened, closed = [], {}
    for found in re.finditer(r"[{}]", text):
        if found[0] == "{":
            opened.append(found.start())
        elif opened:
            closed[opened.pop()] = found.start()
    return closed


def is_table(text, start, end, closed):
    """Whether the body between two braces is one initialiser list."""
    first = text.find("{", start + 1, end)
    if first < 0 or not TABLE.match(text[start + 1 : first]):
        return False
    return re.fullmatch(r"\s*;(?:\s*return \w+;)?\s*", text[closed[first] + 1 : end])


def functions(text):
    """(first line, last line, signature) of each function that is no table."""
    text = NO_CODE.sub(blank, text)
    closed = pairs(text)
    newlines = [found.start() for found in re.finditer("\n", text)]
    at, head = 0, 0
    for found in re.finditer(r"[{};]", text):
        start = found.start()
        if start < at:
            continue
        at = start + 1
        if found[0] != "{" or start not in closed:
            head = at
            continue
        before = text[head:start]
        if SCOPE.search(before.strip()):
            head = at
            continue
        # The rest of it is skipped; what follows a list of values is its end.
        at = closed[start] + 1
        if VALUE.search(before):
            continue
        signature = before.lstrip()
        # Access specifiers stand before the first member.
        signature = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", signature)
        if not is_table(text, start, closed[start], closed):
            first = start - len(signature)
            yield (
                bisect.bisect_left(newlines, first) + 1,
                bisect.bisect_left(newlines, closed[start]) + 1,
                " ".join(signature.split()),
            )
        head = at


def name_of(signature):
    """What people call the function, for the message."""
    found = re.search(r"([~\w:]+)\s*\(", signature)
    return found[1] if found else signature[:40]


def check_file(path, place):
    text = path.read_text(errors="replace")
    length = text.count("\n")
    if length > FILE_LIMIT:
        yield f"{place}: has {length} lines, of at most {FILE_LIMIT}"
    for first, last, signature in functions(text):
        if last - first + 1 > FUNCTION_LIMIT:
            yield (
                f"{place}:{first}: {name_of(signature)} has {last - first + 1} lines, "
                f"of at most {FUNCTION_LIMIT}"
            )


def check(root):
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            place = path.relative_to(root)
            if path.suffix in SOURCES and not any(map(place.is_relative_to, EXEMPT)):
                problems += check_file(path, place)
    return problems


if __name__ == "__main__":
    sys.exit(
        checks.run(
            "check-sizes",
            __doc__,
            check,
            "split a file by concern, a function by phase or by kind of op",
        )
    )
