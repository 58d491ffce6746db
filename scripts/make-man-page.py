#!/usr/bin/env python3
# ===- make-man-page.py - A page for man from --help -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes the man page of one of fastk's programs from what its --help says.

    scripts/make-man-page.py PROGRAM NAME -o NAME.1

PROGRAM is called by NAME, so that one of several programs in one file answers. Run by the
build (cmake/modules/ManPages.cmake): what --help says is written once. Not by help2man:
it knows neither the headings nor the subcommands of LLVM's option parser.

Exit codes: 0 written; 1 the program or its --help is not as it should be.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time

PROGRAMS = ("fastk-opt", "fastk-run", "fastk-bank", "fastk-worker", "fastk-lsp-server")
#: "  --bank=<DIR>   - folder ..." and the worker's "  --spool DIR      Answer ...".
OPTION = re.compile(r"  (?P<option>-\S.*?)(?:\s+- |\s{2,})(?P<text>\S.*)")
COMMAND = re.compile(r"  (?P<name>\w\S*)\s+- (?P<text>.*)")
EXIT_CODES = re.compile(r"exit codes: *", re.IGNORECASE)
WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
#: Headings of LLVM's that say nothing to a reader.
PLAIN_GROUPS = ("Generic Options:", "Options:")


def ask(program, *arguments):
    result = subprocess.run(
        arguments, executable=program, capture_output=True, text=True, check=False
    )
    if result.returncode:
        problem = result.stderr.strip() or f"exit code {result.returncode}"
        raise SystemExit(f"make-man-page: {' '.join(arguments)}: {problem}")
    return result.stdout


def escape(text):
    """Text of a line: `-` is what users type, and no hyphen."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def fill(text):
    """Lines of running text, which man breaks as it likes."""
    return [escape(line) for line in textwrap.wrap(text, 70, **WHOLE_WORDS)]


def bold(text):
    return f"\\fB{escape(text)}\\fR"


def option_name(text):
    """--bank=<DIR>: what is typed is bold, what stands for a value is slanted."""
    parts = re.split(r"(<[^>]*>|(?<= )[A-Z]+$|(?<==)[A-Z]+$)", text)
    slanted = (rf"\fI{escape(part.strip('<>'))}\fR" for part in parts[1::2])
    typed = (bold(part) if part else "" for part in parts[::2])
    return "".join(
        typed_part + slanted_part
        for typed_part, slanted_part in zip(typed, [*slanted, ""], strict=True)
    )


def prose(lines):
    """Paragraphs; what is indented stays as it is."""
    out, shown, gap = [], False, False
    for line in lines:
        indented = line.startswith(" ")
        if indented and not shown:
            out += [".PP"] if out else []
            out += [".RS 4", ".nf"]
        elif line.strip() and not indented and shown:
            out += [".fi", ".RE"]
            gap = True
        if line.strip():
            shown = indented
            if gap and not indented:
                out.append(".PP")
            gap = False
            out += [escape(line[2:])] if indented else fill(line)
        elif shown:
            out.append(".sp")
        else:
            gap = bool(out)
    if shown:
        out += [".fi", ".RE"]
    # The space below what is shown is the next paragraph's.
    return [
        line
        for line, after in zip(out, [*out[1:], ""], strict=True)
        if not (line == ".sp" and after == ".fi")
    ]


def options(lines):
    out = []
    for line in lines:
        if found := OPTION.fullmatch(line):
            out += [".TP", option_name(found["option"].strip()), *fill(found["text"])]
        elif line.startswith("   ") and out:
            out += fill(line.strip())
        elif line.strip() and line.strip() not in PLAIN_GROUPS:
            out.append(f".SS {escape(line.strip().rstrip(':'))}")
    return out


def sections(text):
    """{heading: lines} of --help; what has none is the overview."""
    found = {"OVERVIEW": []}
    name = "OVERVIEW"
    for line in text.splitlines():
        heading = re.fullmatch(r"([A-Z][A-Z ]+)(?: '\S+')?:(?: (.*))?", line)
        if heading:
            name = heading[1]
            found.setdefault(name, [])
            line = heading[2] or ""
        elif name == "USAGE" and line and not line.startswith(" "):
            # The worker says more behind its usage.
            name = "OVERVIEW"
            found[name].append("")
        found[name].append(line)
    return found


def split_exit_codes(lines):
    """(the others, the lines of the paragraph on exit codes)."""
    others, codes, inside = [], [], False
    for line in lines:
        if found := EXIT_CODES.match(line):
            inside, line = True, line[found.end() :]
        elif not line.strip():
            inside = False
        (codes if inside else others).append(line)
    return others, codes


def subcommands(program, name, lines):
    out = []
    for found in filter(None, map(COMMAND.fullmatch, lines)):
        told = sections(ask(program, name, found["name"], "--help"))
        usage = told["USAGE"][0].removeprefix(f"{name} ")
        out += [f".SS {escape(usage)}", *fill(found["text"])]
        out += options(line for line in told["OPTIONS"] if "--help" not in line)
    return out


def page(program, name, version):
    told = sections(ask(program, name, "--help"))
    if not all(map(told.get, ("OVERVIEW", "USAGE", "OPTIONS"))):
        raise SystemExit(f"make-man-page: {name} --help has no OVERVIEW, USAGE or OPTIONS")
    first, *rest = told["OVERVIEW"]
    rest, codes = split_exit_codes(rest)
    what = re.sub(rf"^{name}(?::| -) ", "", first).rstrip(".")
    made = float(os.environ.get("SOURCE_DATE_EPOCH", program.stat().st_mtime))
    date = time.strftime("%Y-%m-%d", time.gmtime(made))
    out = [f'.TH {name.upper()} 1 "{date}" "fastk {version}" "fastk"', ".SH NAME"]
    what = escape(what[0].lower() + what[1:])
    out += [f"{escape(name)} \\- {what}", ".SH SYNOPSIS", ".nf"]
    out += [escape(line.strip()) for line in told["USAGE"] if line.strip()]
    out += [".fi", ".SH DESCRIPTION", *prose(rest)]
    if "SUBCOMMANDS" in told:
        out += [".SH COMMANDS", *subcommands(program, name, told["SUBCOMMANDS"])]
    out += [".SH OPTIONS", *options(told["OPTIONS"])]
    if codes := codes + told.get("EXIT CODES", []):
        out += [".SH EXIT STATUS", *prose(codes)]
    others = (f".BR {escape(other)} (1)" for other in PROGRAMS if other != name)
    out += [".SH SEE ALSO", " ,\n".join(others)]
    return "\n".join(line for line in out if line) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("name", metavar="NAME", choices=PROGRAMS)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    parser.add_argument("--release", default="", metavar="VERSION", help="of fastk")
    options_given = parser.parse_args()
    text = page(options_given.program, options_given.name, options_given.release)
    options_given.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
