# ===- host.py - Operators on this machine, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what fastk makes of an operator beside torch, in one run.

    .venv/bin/python benchmarks/host.py --bank=DIR [-o docs/benchmarks/host.md]
    .venv/bin/python benchmarks/host.py --bank=DIR softmax_4096 conv3x3

Five contenders per operator, each in its own process with the same number of
threads and the same inputs: torch eager, torch.compile, fastk with the winners
of the bank, fastk without any, and the floor (computed, not run). Rounds in
random order, a block of calls each, a pause between blocks. What is printed are
medians of the ratios of one round, with a 95 % bootstrap interval.

Every result is compared with torch in float64 on the same values. With -o the
tables replace what stands between the markers of that page; --json keeps every
sample. Exit codes: 0 done; 1 wrong use, or something could not be measured; 2 a
result was wrong.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy
import page


ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "test" / "Inputs" / "golden"
GOLDEN_PY = ROOT / "python" / "fastk" / "importer" / "golden.py"
CONTENDER = pathlib.Path(__file__).with_name("contender.py")

#: Operator -> the speed over torch eager that issue and page ask for.
OPERATORS = {
    "matmul_1024_f32": 0.85,
    "conv3x3": 0.8,
    "resnet_block": None,
    "softmax_4096": 1.2,
    "layernorm_4096": 1.0,
    "linear_gelu": 0.95,
    "mlp": None,
    "transformer_block": 0.8,
}

#: Of the largest element: beyond this a result is wrong, whoever made it.
WRONG = {"f4": 1e-4, "f2": 1e-2}


class Failure(Exception):
    """Something could not be measured; the message says what and why."""


def environment(threads):
    """The same for all contenders.

    The heap keeps freed pages: where torch must allocate its result, it gets
    pages that are mapped already, as fastk's preallocated ones are. A page fault
    for each fresh page makes torch up to three times slower and is not what is
    compared here. The banks of the user have no say.
    """
    return dict(
        os.environ,
        OMP_NUM_THREADS=str(threads),
        OMP_PROC_BIND="true",  # each contender has a process of its own
        MALLOC_MMAP_MAX_="0",
        MALLOC_TRIM_THRESHOLD_=str(1 << 40),
        MALLOC_TOP_PAD_=str(1 << 26),
        PYTHONPATH=str(ROOT / "python"),
        FASTK_BANK="",
        PYTHONHASHSEED="0",
    )


class Contender:
    """A process of contender.py."""

    def __init__(self, label, kind, what, data, threads, log):
        self.label = label
        self.log = log
        self.process = subprocess.Popen(
            [sys.executable, CONTENDER, kind, what, data, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=open(log, "w"),
            text=True,
            env=environment(threads),
        )
        hello = self.read()
        self.error = hello.get("error")
        self.output = hello.get("output")
        self.first_call = hello.get("first_call_seconds")

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            tail = pathlib.Path(self.log).read_text().strip().splitlines()[-3:]
            return {"error": f"exited with {status}: {' | '.join(tail)}"}
        return json.loads(line)

    def ask(self, command):
        print(command, file=self.process.stdin, flush=True)
        answer = self.read()
        if isinstance(answer, dict) and "error" in answer:
            raise Failure(f"{self.label}: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def checked(command, **options):
    """Runs a program that must succeed; returns the finished process."""
    result = subprocess.run(
        [*map(str, command)], text=True, capture_output=True, check=False, **options
    )
    if result.returncode != 0:
        raise Failure(
            f"{' '.join(map(str, command))}: exit {result.returncode}: "
            f"{result.stderr.strip()[-800:]}"
        )
    return result


def interval(values, seed=0, draws=2000):
    """The median and its 95 % bootstrap interval."""
    generator = numpy.random.default_rng(seed)
    values = numpy.asarray(values)
    picks = generator.integers(0, len(values), (draws, len(values)))
    low, high = numpy.percentile(numpy.median(values[picks], axis=1), [2.5, 97.5])
    return {"median": float(numpy.median(values)), "low": float(low), "high": float(high)}


UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def floor_of(model, options):
    """Seconds no kernel can beat on this machine: the sum over the workloads."""
    text = checked(
        [
            options.bin / "fastk-opt",
            model,
            "--pass-pipeline=builtin.module(fastk-form-workloads,"
            "fastk-print-analysis{target=host})",
            "-o",
            os.devnull,
        ],
        env=environment(options.threads),
    )
    found = re.findall(
        r'^workload .*\n(?: +.*\n)*? +floor: ([\d.e+-]+) (ns|us|ms|s)\b',
        text.stderr + text.stdout,
        re.MULTILINE,
    )
    if not found:
        raise Failure(f"{model}: fastk-print-analysis printed no floor")
    return sum(float(number) * UNITS[unit] for number, unit in found)


def winners_of(model, options):
    """(summary line, [bank record of each lowering applied to the model])."""
    applied = checked(
        [options.bin / "fastk-opt", model, f"--bank={options.bank}"],
        env=environment(options.threads),
    )
    keys = re.findall(r"fastk\.lowering @w_([0-9a-f]+)", applied.stdout)
    records = []
    for key in keys:
        shown = checked(
            [options.bin / "fastk-bank", "show", "--json", f"--key={key}", options.bank]
        )
        records += json.loads(shown.stdout)["winners"][:1]
    summary = applied.stderr.strip().splitlines()[-1].removeprefix("fastk-opt: ")
    return summary, records


def compile_library(model, bank, path, options):
    start = time.perf_counter()
    checked(
        [options.bin / "fastk-opt", model, f"--bank={bank}", "--emit=so", "-o", path],
        env=environment(options.threads),
    )
    return time.perf_counter() - start


def compile_time(model, options, rounds=11):
    """fastk-opt applying winners, over mlir-opt-22 reading and printing."""
    ours = [options.bin / "fastk-opt", model, f"--bank={options.bank}", "-o", os.devnull]
    theirs = ["mlir-opt-22", model, "-o", os.devnull]
    times = {"ours": [], "theirs": []}
    for _ in range(rounds + 1):
        for label, command in random.sample(
            [("ours", ours), ("theirs", theirs)], k=2
        ):
            start = time.perf_counter()
            checked(command, env=environment(options.threads))
            times[label].append(time.perf_counter() - start)
    ours, theirs = times["ours"][1:], times["theirs"][1:]  # the first fills caches
    return {
        "fastk_seconds": median(ours),
        "mlir_opt_seconds": median(theirs),
        "ratio": interval([a / b for a, b in zip(ours, theirs)]),
    }


def errors_of(contender, folder, reference):
    """Largest error against torch in float64, relative to the largest element."""
    path = os.path.join(folder, f"{contender.label.replace(' ', '-')}.npy")
    contender.ask(f"save {path}")
    got = numpy.load(path).astype("f8")
    os.unlink(path)
    if got.shape != reference.shape or not numpy.isfinite(got).all():
        return float("inf")
    return float(numpy.abs(got - reference).max() / numpy.abs(reference).max())


def measure(name, options, folder):
    model = GOLDEN / f"{name}.mlir"
    result = {"name": name, "bar": OPERATORS.get(name)}
    data = os.path.join(folder, name)
    checked(
        [sys.executable, "-m", "fastk.importer.reference", f"{GOLDEN_PY}:{name}"]
        + ["--outdir", data, f"--seed={options.seed}"],
        env=environment(options.threads),
    )
    reference = numpy.load(os.path.join(data, "out0.npy"))
    element = numpy.load(os.path.join(data, "in0.npy"), mmap_mode="r").dtype.str[1:]
    result["floor_seconds"] = floor_of(model, options)
    result["summary"], result["winners"] = winners_of(model, options)
    empty = os.path.join(folder, "empty-bank")
    os.makedirs(empty, exist_ok=True)
    libraries = {}
    for label, bank in (("winners", options.bank), ("default", empty)):
        libraries[label] = os.path.join(data, f"{label}.so")
        result[f"{label}_build_seconds"] = compile_library(
            model, bank, libraries[label], options
        )
    result["compile_time"] = compile_time(model, options)

    contenders = []
    result["failed"] = {}
    for label, kind, what in (
        ("eager", "eager", name),
        ("torch.compile", "compile", name),
        ("winners", "library", libraries["winners"]),
        ("default", "library", libraries["default"]),
    ):
        log = os.path.join(data, f"{label}.log")
        contender = Contender(label, kind, what, data, options.threads, log)
        if contender.error is None:
            contenders.append(contender)
        else:
            result["failed"][label] = contender.error
            print(f"{name}: {label}: {contender.error}", file=sys.stderr)
    try:
        result["output"] = {c.label: c.output for c in contenders}
        result["first_call_seconds"] = {c.label: c.first_call for c in contenders}
        result["errors"] = {c.label: errors_of(c, data, reference) for c in contenders}
        rounds = []
        generator = random.Random(options.seed)
        for _ in range(options.rounds + 1):
            times = {}
            faults = {}
            for contender in generator.sample(contenders, k=len(contenders)):
                # Longer than OpenMP's threads spin after their last region.
                time.sleep(options.pause)
                answer = contender.ask(f"time {options.block}")
                times[contender.label] = answer["times"]
                faults[contender.label] = answer["faults"]
            rounds.append(times)
            result["faults"] = faults
        rounds = rounds[1:]  # the first warms up
    finally:
        for contender in contenders:
            contender.close()
    result["rounds"] = rounds
    typical = [{k: median(v) for k, v in times.items()} for times in rounds]
    result["seconds"] = {k: median(t[k] for t in typical) for k in typical[0]}
    result["ratios"] = {
        f"{over}/{under}": interval([t[over] / t[under] for t in typical])
        for over, under in (
            ("eager", "winners"),
            ("torch.compile", "winners"),
            ("default", "winners"),
            ("eager", "default"),
        )
        if over in typical[0] and under in typical[0]
    }
    result["wrong"] = [k for k, e in result["errors"].items() if not e <= WRONG[element]]
    return result


def evaluations_per_minute(path):
    """From a --report: new evaluations over the time of the search."""
    report = json.loads(pathlib.Path(path).read_text())
    rows = []
    for workload in report["workloads"]:
        costs = workload["costs"]
        done = costs["evaluations"] - costs.get("replayed", 0)
        rows.append(
            {
                "name": workload["name"],
                "shapes": workload["shapes"],
                "evaluations": done,
                "seconds": costs["seconds"],
            }
        )
    return rows


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "operators",
        nargs="*",
        default=list(OPERATORS),
        help=f"golden inputs; default {' '.join(OPERATORS)}",
    )
    parser.add_argument("--bank", required=True, type=os.path.abspath)
    parser.add_argument(
        "--bin",
        type=lambda text: pathlib.Path(text).resolve(),
        default=pathlib.Path(os.environ.get("FASTK_BIN", ROOT / "build/dev/bin")),
        help="folder of fastk's programs (default $FASTK_BIN, then build/dev/bin)",
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--block", type=float, default=0.2, help="seconds of a block")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between blocks")
    parser.add_argument("--seed", type=int, default=1, help="of inputs and of the order")
    parser.add_argument(
        "--small", action="store_true", help="also every small golden input"
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        help="a file of fastk-opt --search --report: shows its evaluations per minute",
    )
    parser.add_argument("-o", "--output", help="the page to put the tables into")
    parser.add_argument("--json", help="write every sample to this file")
    parser.error = lambda message: (
        print(f"host.py: error: {message}", file=sys.stderr),
        sys.exit(1),
    )
    options = parser.parse_args()
    if options.small:
        options.operators += sorted(
            path.stem
            for path in GOLDEN.glob("*_small.mlir")
            if path.stem not in options.operators
        )
    for name in options.operators:
        if not (GOLDEN / f"{name}.mlir").exists():
            parser.error(f"no golden input '{name}' in {GOLDEN}")
    if options.rounds < 3 or options.threads < 1:
        parser.error("--rounds must be at least 3, --threads at least 1")
    if not os.path.isdir(options.bank):
        parser.error(f"--bank={options.bank}: no such folder")
    return options


def main():
    options = parse_arguments()
    document = {
        "machine": page.describe_machine(options, ROOT),
        "operators": [],
        "reports": [],
    }
    status = 0
    try:
        for path in options.report:
            document["reports"] += evaluations_per_minute(path)
        with tempfile.TemporaryDirectory() as folder:
            for name in options.operators:
                result = measure(name, options, folder)
                document["operators"].append(result)
                print(page.one_line(result), file=sys.stderr, flush=True)
                if result["wrong"]:
                    status = 2
    except Failure as failure:
        print(f"host.py: error: {failure}", file=sys.stderr)
        return 1
    page.finish(document, options, page.tables)
    return status


if __name__ == "__main__":
    sys.exit(main())
