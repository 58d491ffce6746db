# ===- shown.py - Numbers and texts for people -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""How numbers and foreign texts are shown."""

import re
import unicodedata

# Characters that move what is around them, or the terminal: never shown as such.
# Newlines and tabs are text.
_KINDS = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def visible(text):
    """`text` with control, direction and other invisible characters spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each
        if each in "\n\t" or unicodedata.category(each) not in _KINDS
        else f"\\u{{{ord(each):x}}}"
        for each in text.replace("\r\n", "\n")
    )


def one_line(text, limit=None):
    """`text` for one line of a terminal."""
    line = visible(re.sub(r"\s+", " ", text).strip())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def seconds(value):
    """"38.6 us", as the search prints it; "-" for none."""
    if not value > 0:
        return "-"
    value *= 1e9
    for unit in ("ns", "us", "ms", "s"):
        if value < 999.5 or unit == "s":
            break
        value /= 1000
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def milliseconds(value):
    """"0.0386": three digits that count; "-" for none."""
    if not value > 0:
        return "-"
    value *= 1e3
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def percent(share):
    return "-" if not share else f"{100 * share:.1f}"


def duration(value):
    """"58 s", "12.3 min", "3.4 h"."""
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def count(value, what):
    """"1 evaluation", "2 evaluations"."""
    return f"{value:,} {what}{'' if value == 1 else 's'}"
