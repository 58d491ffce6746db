# ===- random_functions.py - Random programs, compiled -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes functions by seed (unittests/Fuzz/RandomPrograms.cpp) and compiles many of them
into one library for each of three roles: the program, its oracle in f64, and the
program of conditions, which says how far rounding may move each element.
"""

import pathlib
import re
import subprocess

from compiled import BIN

#: Seconds of one compilation of a module.
LIMIT = 300
ROLES = {"oracle": "fastk-promote-to-f64", "condition": "fastk-derive-condition"}


def text_of(seed, count):
    """The text of `count` functions, that of `seed` and those after it."""
    made = subprocess.run(
        [BIN / "fastk-test-programs", str(seed), str(count)],
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    return made.stdout


def split(text):
    """{seed: text of its function}"""
    functions = re.split(r"(?m)^(?=func\.func @program_)", text)[1:]
    return {int(re.match(r"func\.func @program_(\d+)", f)[1]): f for f in functions}


class CompileError(Exception):
    """A module does not compile; the message is what the compiler said."""


def _fastk_opt(*arguments):
    command = [BIN / "fastk-opt", *map(str, arguments)]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise CompileError(f"did not end in {LIMIT} s") from None
    if done.returncode:
        said = re.findall(r"(?m)^.*error: .*$", done.stderr)
        text = said[0] if said else done.stderr.strip()[-300:]
        raise CompileError(f"exit code {done.returncode}: {text}")


def compile_program(functions, target, library, winners_from="here"):
    """Compiles functions as a user does, without winners: of families where they are
    among winners_from."""
    model = library.with_suffix(".mlir")
    model.write_text("".join(functions.values()))
    bank = library.parent / "no-winners"
    bank.mkdir(exist_ok=True)
    _fastk_opt(model, f"--target={target}", f"--bank={bank}",
               f"--winners-from={winners_from}", "--emit=so", "-o", library)  # fmt: skip


def compile_role(functions, role, library):
    """The same computed in f64, or its conditions; for conditions functions without a
    rule are left out. Returns the seeds that are in the library."""
    model = library.with_suffix(".in.mlir")
    left = dict(functions)
    while left:
        text = "".join(left.values())
        model.write_text(text)
        done = subprocess.run(
            [BIN / "fastk-opt", model, "-o", library.with_suffix(".mlir"),
             f"--pass-pipeline=builtin.module(func.func({ROLES[role]}))"],
            text=True, capture_output=True, timeout=LIMIT,
        )  # fmt: skip
        if done.returncode == 0:
            break
        lines = [int(n) for n in re.findall(r"\.mlir:(\d+):\d+: error:.*which has no "
                                            "rule of error analysis", done.stderr)]  # fmt: skip
        if role != "condition" or not lines:
            raise CompileError(done.stderr.strip()[-300:])
        left = _without(left, lines)
    if left:
        bank = library.parent / "no-winners"
        bank.mkdir(exist_ok=True)
        _fastk_opt(library.with_suffix(".mlir"), f"--bank={bank}", "--emit=so", "-o", library)
    return set(left)


def _without(functions, lines):
    """The functions that have none of these lines of their text together."""
    left, first = {}, 1
    for seed, text in functions.items():
        end = first + text.count("\n")
        if not any(first <= line < end for line in lines):
            left[seed] = text
        first = end
    return left


def largest_that_compile(functions, target, library, winners_from="here"):
    """Compiles what compiles: halves a module that does not, down to the functions that
    fail. Returns ({seed: library}, {seed: what was said})."""
    try:
        compile_program(functions, target, library, winners_from)
        return dict.fromkeys(functions, library), {}
    except CompileError as error:
        if len(functions) == 1:
            (seed,) = functions
            return {}, {seed: str(error)}
    seeds = list(functions)
    libraries, failed = {}, {}
    for half in (seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]):
        own = pathlib.Path(f"{library.with_suffix('')}-{half[0]}-{len(half)}.so")
        some, others = largest_that_compile(
            {s: functions[s] for s in half}, target, own, winners_from)  # fmt: skip
        libraries |= some
        failed |= others
    return libraries, failed
