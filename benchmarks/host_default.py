# ===- host_default.py - The default lowering beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what fastk makes without any winner beside torch eager, and before a change.

    .venv/bin/python benchmarks/host_default.py [--before=FASTK_OPT] [NAME...]

NAMEs are `convolutions` or `operators`, all by default, for what those files of this
folder have, or one of their modules; FILE.py:NAME names another. Contenders, rounds and
ratios are as in host.py: each in a process of its own, in turns, medians of the ratios
of one round with a 95 % bootstrap interval. --before names a fastk-opt of another
version. Prints a table in Markdown. Exit codes: 0 done; 1 something could not be
measured; 2 a result was wrong.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time
from statistics import median

import numpy

import convolutions
import operators
from host import (
    ROOT,
    WRONG,
    Contender,
    Failure,
    checked,
    environment,
    errors_of,
    interval,
)

TABLES = {file.__name__: file for file in (convolutions, operators)}
#: Where a module is, by its name.
SOURCES = {
    name: f"{file.__file__}:{name}" for file in TABLES.values() for name in file.ALL
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--before", type=os.path.abspath, help="a fastk-opt before a change")
    parser.add_argument(
        "--bin", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/dev/bin"
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--block", type=float, default=0.2, help="seconds of a block")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between blocks")
    parser.add_argument("--seed", type=int, default=1, help="of inputs and of the order")
    options = parser.parse_args()
    names = options.names or list(TABLES)
    options.names = [each for name in names for each in getattr(TABLES.get(name), "ALL", [name])]
    for name in options.names:
        if name not in SOURCES and ":" not in name:
            parser.error(f"{name}: neither a table, nor a module of one, nor FILE.py:NAME")
    return options


def contenders_of(source, folder, options):
    """Those of one module, started; torch's own first."""
    env = environment(options.threads)
    model = os.path.join(folder, "model.mlir")
    importer = [sys.executable, "-m", "fastk.importer"]
    checked([*importer, source, "-o", model], env=env)
    checked(
        [*importer[:2], "fastk.importer.reference", source, "--outdir", folder]
        + [f"--seed={options.seed}"],
        env=env,
    )
    programs = {"before": options.before, "now": options.bin / "fastk-opt"}
    for label, program in programs.items():
        if program:
            checked(
                [program, model, f"--bank={folder}/bank", "--emit=so"]
                + ["-o", f"{folder}/{label}.so"],
                env=env,
            )
    kinds = [("eager", "eager", source)]
    kinds += [
        (label, "library", f"{folder}/{label}.so") for label in programs if programs[label]
    ]
    return [
        Contender(label, kind, what, folder, options.threads, f"{folder}/{label}.log")
        for label, kind, what in kinds
    ]


def measure(name, options, folder):
    """A row of the table, and whether the results are right."""
    contenders = contenders_of(SOURCES.get(name, name), folder, options)
    try:
        for each in contenders:
            if each.error:
                raise Failure(f"{name}: {each.label}: {each.error}")
        reference = numpy.load(os.path.join(folder, "out0.npy"))
        errors = {each.label: errors_of(each, folder, reference) for each in contenders}
        generator = random.Random(options.seed)
        rounds = []
        for _ in range(options.rounds + 1):
            times = {}
            for each in generator.sample(contenders, k=len(contenders)):
                # Longer than OpenMP's threads spin after their last region.
                time.sleep(options.pause)
                times[each.label] = median(each.ask(f"time {options.block}")["times"])
            rounds.append(times)
    finally:
        for each in contenders:
            each.close()
    rounds = rounds[1:]  # the first warms up

    def ratio(over, under):
        if over not in rounds[0]:
            return "-"
        found = interval([times[over] / times[under] for times in rounds])
        return "{median:.2f} ({low:.2f}-{high:.2f})".format(**found)

    seconds = {label: median(times[label] for times in rounds) for label in rounds[0]}
    shown = [f"{1e6 * seconds[label]:.0f}" for label in ("eager", "now")]
    row = [f"`{name}`", *shown, ratio("eager", "before"), ratio("eager", "now")]
    row += [ratio("before", "now"), f"{errors['now']:.1e}", f"{errors['eager']:.1e}"]
    return row, errors["now"] <= WRONG["f4"]


def main():
    options = parse_arguments()
    print("| module | eager, µs | now, µs | eager / before | eager / now | before / now |"
          " error | of eager |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    status = 0
    for name in options.names:
        try:
            with tempfile.TemporaryDirectory() as folder:
                row, is_right = measure(name, options, folder)
        except Failure as error:
            print(f"host_default.py: {name}: {error}", file=sys.stderr)
            status = status or 1
            continue
        print(f"| {' | '.join(row)} |", flush=True)
        if not is_right:
            print(f"host_default.py: {name}: the result is wrong", file=sys.stderr)
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
