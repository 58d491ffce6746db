# ===- golden.py - Never slower than the default lowering -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every golden input: default lowering, winners of a small search, torch eager.

    .venv/bin/python benchmarks/golden.py [-o docs/benchmarks/golden.md]
    .venv/bin/python benchmarks/golden.py softmax_small conv2d_small

For each input of test/Inputs/golden, small ones first: torch eager and the default
lowering once; a search; then rounds in random order, each contender in a process
of its own with the same threads and the same data, results in mapped memory.
Printed are medians of the ratios of one round with a 95 % bootstrap interval.

Resumable: what is measured is kept in --work and not measured again; when --minutes
are spent no further input is begun. Run it again to go on, or with --again to start
over. A call that takes longer than --limit seconds is stopped, and that is the row.

Exit codes: 0 done; 1 wrong use, or something failed; 2 a winner is slower than the
default lowering beyond noise, or a result is wrong; 3 time is up, run it again.
"""

import argparse
import json
import os
import pathlib
import random
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

import host
import numpy
import page

ROOT = host.ROOT
GOLDEN = host.GOLDEN

#: Of the largest element, against torch's result in the same type, which has an
#: error of its own.
WRONG = {"f4": 2e-4, "f2": 2e-2}


class Slow(host.Failure):
    """A call took longer than the limit."""


class Contender(host.Contender):
    """A process of contender.py whose answers have a deadline."""

    def __init__(self, label, kind, what, data, options, slow):
        self.limit = options.limit
        self.label = label
        self.log = os.path.join(data, f"{label}.log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, host.CONTENDER, kind, what, data]
                + [str(options.threads)]
                + ["slow"] * slow,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=host.environment(options.threads),
            )
        hello = self.read()
        if "error" in hello:
            raise host.Failure(f"{label}: {hello['error']}")
        self.first_call = hello["first_call_seconds"]

    def read(self):
        # An answer is one line, written at once.
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        if not ready:
            self.process.kill()
            self.process.wait()
            raise Slow(f"{self.label}: more than {self.limit:g} s, stopped")
        return super().read()


def draw(name, folder, seed):
    """in0.npy, ...: the data of fastk.importer.reference, without running torch."""
    sys.path.insert(0, str(ROOT / "python"))
    import torch
    from fastk.importer import export, reference, source

    module, args, kwargs = source.call(source.load(f"{host.GOLDEN_PY}:{name}"))
    norms = {
        f"{part}.weight" if part else "weight"
        for part, child in module.named_modules()
        if "Norm" in type(child).__name__
    }
    generator = torch.Generator().manual_seed(seed)
    for i, (label, role, tensor) in enumerate(
        export.arguments_of(module, args, kwargs)
    ):
        drawn = reference.draw(role, label, tensor, generator, norms)
        numpy.save(os.path.join(folder, f"in{i}.npy"), drawn.contiguous().numpy())


def search(model, options):
    """Fills the bank; returns why it did not, or nothing."""
    command = [options.bin / "fastk-opt", model, "--search"]
    command += [f"--bank={options.work / 'bank'}", f"--num-threads={options.threads}"]
    command += [f"--journal={options.work / 'journal' / model.stem}", "--ideas=8"]
    command += [f"--budget=evaluations={options.evaluations},minutes={options.search}"]
    # The budget is hard; twice of it is a hang, and a row of its own.
    try:
        host.checked(
            [*command, "-o", os.devnull],
            env=host.environment(options.threads),
            timeout=60 * (2 * options.search + 2),
        )
    except subprocess.TimeoutExpired:
        return f"the search did not end within {2 * options.search + 2:g} minutes"
    except host.Failure as failure:
        return f"the search failed: {failure}"
    return None


def difference(folder, contender, reference):
    path = os.path.join(folder, f"{contender.label}.npy")
    contender.ask(f"save {path}")
    got = numpy.load(path, mmap_mode="r")
    worst, largest = 0.0, 0.0
    flat, truth = got.reshape(-1), reference.reshape(-1)
    step = 1 << 24  # Not all of a gigabyte in float64 at once.
    for at in range(0, flat.size, step):
        a, b = (x[at : at + step].astype("f8") for x in (flat, truth))
        if not numpy.isfinite(a).all():
            return float("inf")
        worst = max(worst, float(numpy.abs(a - b).max()))
        largest = max(largest, float(numpy.abs(b).max()))
    os.unlink(path)
    return worst / largest if got.shape == reference.shape else float("inf")


def same_bytes(one, other):
    return pathlib.Path(one).read_bytes() == pathlib.Path(other).read_bytes()


def launch(name, library, folder, options, same):
    """A fresh process for each; two of one program differ by where memory lies."""
    started = []
    try:
        for label, kind, what in (
            ("eager", "eager", name),
            ("default", "library", library["default"]),
            ("winners", "library", library["winners"]),
        ):
            if label != "winners" or not same:
                started.append(Contender(label, kind, what, folder, options, False))
    except host.Failure:
        for contender in started:
            contender.close()
        raise
    return started


def measure(name, options, folder):
    model = GOLDEN / f"{name}.mlir"
    result = {"name": name, "notes": [], "ratios": {}, "seconds": {}, "errors": {}}
    host.checked(
        [sys.executable, __file__, "--draw", name, folder, f"--seed={options.seed}"],
        env=host.environment(options.threads),
    )
    bank, empty = options.work / "bank", options.work / "empty-bank"
    for path in (bank, empty):
        path.mkdir(parents=True, exist_ok=True)
    library = {k: os.path.join(folder, f"{k}.so") for k in ("default", "winners")}
    host.compile_library(model, empty, library["default"], options)

    contenders, slow = [], False
    try:
        # The first call decides how many more there may be.
        for label, kind, what in (
            ("default", "library", library["default"]),
            ("eager", "eager", name),
        ):
            try:
                probe = Contender(label, kind, what, folder, options, True)
                contenders.append(probe)
                result["seconds"][label] = probe.first_call
                slow |= probe.first_call > options.slow
            except Slow as failure:
                result["notes"].append(str(failure))
                slow = True
        if slow:
            calls = ", ".join(
                f"{k} {page.seconds(v)}" for k, v in result["seconds"].items()
            )
            result["notes"].append(f"not searched: one call takes too long ({calls})")
        else:
            for contender in contenders:
                contender.close()
            contenders = []
            if why := search(model, options):
                result["notes"].append(why)
            result["summary"], result["winners"] = host.winners_of(
                model, argparse.Namespace(**{**vars(options), "bank": bank})
            )
            host.compile_library(model, bank, library["winners"], options)
            # Without a winner both are one program, and a ratio would be noise.
            result["same"] = same_bytes(library["default"], library["winners"])
            contenders = launch(name, library, folder, options, result["same"])
        eager = next((c for c in contenders if c.label == "eager"), None)
        if eager:
            path = os.path.join(folder, "eager-result.npy")
            eager.ask(f"save {path}")
            truth = numpy.load(path, mmap_mode="r")
            result["element"] = truth.dtype.str[1:]
            result["errors"] = {
                c.label: difference(folder, c, truth)
                for c in contenders
                if c is not eager
            }
        launches, generator = [], random.Random(options.seed)
        # A minute a call: the first one is the measurement.
        single = slow and max(result["seconds"].values(), default=0) > 60
        if single:
            launches.append([dict(result["seconds"])])
            result["notes"].append("one call of each, the first")
        for number in range(0 if single else 1 if slow else options.launches):
            if number:
                for contender in contenders:
                    contender.close()
                contenders = []
                contenders = launch(name, library, folder, options, result["same"])
            rounds = []
            for _ in range(2 if slow else options.rounds + 1):
                times = {}
                for contender in generator.sample(contenders, k=len(contenders)):
                    time.sleep(options.pause)  # longer than threads spin
                    answer = contender.ask(f"time {options.block}")
                    times[contender.label] = median(answer["times"])
                rounds.append(times)
            launches.append(rounds if slow else rounds[1:])  # the first warms up
        result["launches"] = launches
        rounds = [times for launched in launches for times in launched]
        result["seconds"] |= {k: median(t[k] for t in rounds) for k in rounds[0]}
        for over, under in (
            ("default", "winners"),
            ("eager", "winners"),
            ("eager", "default"),
        ):
            if over in rounds[0] and under in rounds[0]:
                result["ratios"][f"{over}/{under}"] = host.interval(
                    [t[over] / t[under] for t in rounds]
                )
    finally:
        for contender in contenders:
            contender.close()
    result["wrong"] = [
        k for k, e in result["errors"].items() if not e <= WRONG[result["element"]]
    ]
    return result


def is_slower(result):
    """Beyond noise: the whole interval, and the median of each launch."""
    found = result["ratios"].get("default/winners")
    return bool(found and found["high"] < 1) and all(
        median(t["default"] / t["winners"] for t in rounds) < 1
        for rounds in result["launches"]
    )


def row(result):
    cells = [result["name"]]
    for name in ("default/winners", "eager/winners", "eager/default"):
        cells.append(page.ratio(result, name) if name in result["ratios"] else "–")
    if result.get("same"):
        cells[1] = "same program"
    if is_slower(result):
        cells[1] += " **slower**"
    found = result["ratios"].get("eager/default")
    if found and found["high"] < 0.1:
        cells[3] += " **beyond 10 times**"
    for name in ("eager", "default", "winners"):
        known = result["seconds"].get(name)
        cells.append(page.seconds(known) if known else "–")
    errors = max(result["errors"].values(), default=None)
    cells.append("–" if errors is None else f"{errors:.1e}")
    cells[-1] += " **wrong**" if result["wrong"] else ""
    cells.append(result.get("summary", "–").partition(": ")[2] or "–")
    return cells


def text_of(state, options):
    results = list(state["results"].values())
    m = state["machine"]
    slower = [r["name"] for r in results if is_slower(r)]
    paired = [r for r in results if "default/winners" in r["ratios"]]
    missing = [n for n in options.all if n not in state["results"]]
    notes = [f"- {r['name']}: {n}" for r in results for n in r["notes"]]
    notes += [f"- {n}: failed: {e}" for n, e in state["failed"].items()]
    notes += [
        f"- {n}: not measured yet" for n in missing if n not in state["failed"]
    ]
    return "\n\n".join(
        [
            "# Every golden input: never slower than the default lowering",
            "Written by `benchmarks/golden.py`; do not edit. How it is measured is in "
            "the script's first lines and, for what both share, in "
            "[host.md](host.md).",
            "<!-- not-run: takes most of an hour of a quiet machine -->\n"
            f"```console\n$ {m['command']}\n```",
            f"{m['date']}, commit {m['commit']}. {m['cpu']}, {m['processors']} "
            f"processors, {m['threads']} threads for each contender; {m['kernel']}; "
            f"torch {m['torch']}, Python {m['python']}, MLIR {m['mlir']}. Load average "
            f"before the run {m['load_before']:.2f}. {options.launches} "
            f"launches of {m['rounds']} rounds of {m['block']:g} s blocks, {m['pause']:g} s pauses. Each search had at most "
            f"{options.evaluations} evaluations and {options.search:g} minutes.",
            "Ratios of times in one round, median and 95 % interval: above 1 the second "
            "is faster. `error` is the largest difference from torch eager's result, of "
            "its largest element. A row is marked when the whole interval is below 1, and the "
            "median of each launch of the processes too. Where no winner is in the bank, "
            "both libraries are the same, byte for byte.",
            page.table(
                ["input", "default / winners", "eager / winners", "eager / default"]
                + ["eager", "default", "winners", "error", "bank"],
                [row(r) for r in results],
            ),
            f"Winners slower than the default lowering beyond noise: "
            f"{', '.join(slower) or 'none'}, of {len(paired)} inputs with winners; "
            f"{sum(bool(r.get('same')) for r in results)} inputs have none.",
            "## Left out, stopped or failed",
            "\n".join(notes) or "Nothing.",
        ]
    ) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = sorted(
        (path.stem for path in GOLDEN.glob("*.mlir")),
        # Small ones first, those that take torch minutes last.
        key=lambda n: (not n.endswith("_small"), n.endswith("_f16"), n),
    )
    parser.add_argument("inputs", nargs="*", help="default: all")
    parser.add_argument(
        "--bin",
        type=lambda text: pathlib.Path(text).resolve(),
        default=pathlib.Path(os.environ.get("FASTK_BIN", ROOT / "build/dev/bin")),
    )
    parser.add_argument(
        "--work",
        type=lambda text: pathlib.Path(text).resolve(),
        default=ROOT / "build" / "golden",
        help="bank, journals and what is measured already; default build/golden",
    )
    parser.add_argument("--again", action="store_true", help="forget what is there")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--limit", type=float, default=900, help="seconds of a call")
    parser.add_argument(
        "--slow", type=float, default=4, help="seconds of a call: beyond, no search"
    )
    parser.add_argument("--evaluations", type=int, default=16, help="of each search")
    parser.add_argument("--search", type=float, default=1, help="minutes of each search")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--launches", type=int, default=3, help="of all processes")
    parser.add_argument("--rounds", type=int, default=5, help="of each launch")
    parser.add_argument("--block", type=float, default=0.1, help="seconds of a block")
    parser.add_argument("--pause", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="the page to write")
    parser.add_argument(
        "--draw", nargs=2, metavar=("NAME", "DIR"), help=argparse.SUPPRESS
    )
    parser.error = lambda message: (
        print(f"golden.py: error: {message}", file=sys.stderr),
        sys.exit(1),
    )
    options = parser.parse_args()
    options.all = every
    for name in options.inputs:
        if name not in every:
            parser.error(f"no golden input '{name}' in {GOLDEN}")
    if options.rounds < 3 or options.threads < 1 or options.launches < 1:
        parser.error("--rounds must be at least 3, --threads and --launches at least 1")
    return options


def main():
    options = parse_arguments()
    if options.draw:
        draw(*options.draw, options.seed)
        return 0
    if options.again:
        shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "state.json"
    state = {"results": {}, "failed": {}}
    if kept.exists():
        state = json.loads(kept.read_text())
    machine = page.describe_machine(options, ROOT)
    machine["command"] = shlex.join(
        [".venv/bin/python", "benchmarks/golden.py", *sys.argv[1:]]
    )
    if state["results"] and state["machine"]["commit"] != machine["commit"]:
        print(
            f"golden.py: error: {kept} is of commit {state['machine']['commit']}, this "
            f"is {machine['commit']}; start over with --again",
            file=sys.stderr,
        )
        return 1
    state.setdefault("machine", machine)
    begin, status = time.monotonic(), 0

    def write():
        new = kept.with_suffix(".new")
        new.write_text(json.dumps(state, indent=1) + "\n")
        new.replace(kept)
        if options.output:
            new = pathlib.Path(f"{options.output}.new")
            new.write_text(text_of(state, options))
            new.replace(options.output)

    for name in options.inputs or options.all:
        if name in state["results"]:
            continue
        if time.monotonic() - begin > 60 * options.minutes:
            print("golden.py: time is up; run it again to go on", file=sys.stderr)
            status = 3
            break
        try:
            with tempfile.TemporaryDirectory() as folder:
                state["results"][name] = measure(name, options, folder)
            state["failed"].pop(name, None)
            print(" | ".join(row(state["results"][name])), file=sys.stderr, flush=True)
        except host.Failure as failure:
            state["failed"][name] = " ".join(str(failure).split())[:300]
            print(f"golden.py: {name}: {failure}", file=sys.stderr, flush=True)
        write()
    write()
    if not options.output:
        print(text_of(state, options))
    if any(is_slower(r) or r["wrong"] for r in state["results"].values()):
        return 2
    return status or (1 if state["failed"] else 0)


if __name__ == "__main__":
    sys.exit(main())
