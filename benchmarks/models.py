# ===- models.py - Whole models on this machine, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures whole models beside torch: GPT-2, BERT-base, ResNet-18, a small Llama.

    .venv/bin/python benchmarks/models.py --bank=DIR [-o docs/benchmarks/models.md]
    .venv/bin/python benchmarks/models.py --bank=DIR --search=minutes=20 resnet18
    .venv/bin/python benchmarks/models.py --bank=DIR --families

Each model of whole_models.py is imported, compiled with the winners of the bank
and without any, run and compared with torch in float64 and with fastk's own
oracle on the same values. --search=BUDGET searches the workloads without a
winner first, in that budget for each model. Times are taken as host.py takes
them: a process for each contender, rounds in random order. Memory is what the
system says that a call adds to a process, see contender.py.

With -o the tables replace what stands between the markers of that page; --json
keeps every sample. Exit codes: 0 done; 1 wrong use, or something could not be
measured; 2 a result was wrong.
"""

import argparse
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

import host
import models_page
import numpy
import page
from host import Failure, checked, interval

MODELS = ["gpt2", "bert_base", "resnet18", "llama"]
FILE = pathlib.Path(__file__).with_name("whole_models.py")

#: Of the largest element; 32-bit sums of some hundred layers stay far below.
WRONG = 1e-4


def user_seconds():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def timed(command, **options):
    """(finished process, seconds it took, seconds of processors it took)."""
    start, used = time.perf_counter(), user_seconds()
    result = checked(command, **options)
    return result, time.perf_counter() - start, user_seconds() - used


def import_model(spec, folder, options):
    """The imported model, and how long that took."""
    model = os.path.join(folder, "model.mlir")
    _, seconds, _ = timed(
        [sys.executable, "-m", "fastk.importer", "--quiet", spec, "-o", model],
        env=host.environment(options.threads),
    )
    return model, seconds


def search(model, options):
    """Searches what has no winner; its progress goes to our standard error."""
    command = [options.bin / "fastk-opt", model, f"--bank={options.bank}", "--search"]
    command += [f"--budget={options.search}", "-o", os.devnull]
    done = subprocess.run(
        [*map(str, command)], check=False, env=host.environment(options.threads)
    )
    if done.returncode != 0:
        raise Failure(f"the search ended with {done.returncode}")


REMARK = re.compile(r"\[Analysis\] (buffer-plan|thread-buffers) \| Category:fastk(.*)")


def compile_library(model, bank, path, options, more=()):
    """What fastk-opt did and said: seconds, summary, plans of the buffers."""
    done, seconds, processor = timed(
        [options.bin / "fastk-opt", model, f"--bank={bank}", "--emit=so", "-o", path]
        + ["--remarks-filter=fastk", *more],
        env=host.environment(options.threads),
    )
    found = {
        "seconds": seconds,
        "processor_seconds": processor,
        "library_bytes": os.path.getsize(path),
        "summary": done.stderr.strip().splitlines()[-1].removeprefix("fastk-opt: "),
        "thread_bytes": 0,
    }
    for kind, text in REMARK.findall(done.stderr + done.stdout):
        values = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}
        if kind == "thread-buffers":
            found["thread_bytes"] = max(found["thread_bytes"], values["heap"])
        elif "Function=fastk.model." in text:
            found["plan"] = values
    counted = re.match(r"(\d+) workloads?: (\d+) hits?", found["summary"])
    keys = re.search(r"; (\d+) keys?", found["summary"])
    found["workloads"], found["hits"] = map(int, counted.groups())
    found["keys"] = int(keys[1]) if keys else found["workloads"]
    return found


def oracle_of(model, data, options):
    """What fastk computes in f64 of the same values."""
    count = len(list(pathlib.Path(data).glob("in*.npy")))
    inputs = ",".join(os.path.join(data, f"in{i}.npy") for i in range(count))
    folder = os.path.join(data, "oracle")
    checked(
        [options.bin / "fastk-run", model, "--oracle", f"--inputs={inputs}"]
        + [f"--outputs={folder}"],
        env=host.environment(options.threads),
    )
    return numpy.load(os.path.join(folder, "out0.npy"))


def relative_error(got, want):
    """The largest difference over the largest element."""
    got = got.astype("f8")
    if got.shape != want.shape or not numpy.isfinite(got).all():
        return float("inf")
    return float(numpy.abs(got - want).max() / numpy.abs(want).max())


def result_of(contender, folder):
    path = os.path.join(folder, f"{contender.label}.npy")
    contender.ask(f"save {path}")
    got = numpy.load(path)
    os.unlink(path)
    return got


class MemoryEnvironment:
    """Heaps that give every larger piece back at once, for what host.Contender starts."""

    VALUES = {
        "MALLOC_MMAP_MAX_": "1000000",
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "MALLOC_TRIM_THRESHOLD_": "65536",
        "MALLOC_TOP_PAD_": "0",
    }

    def __enter__(self):
        self.before = host.environment
        host.environment = lambda threads: dict(self.before(threads), **self.VALUES)

    def __exit__(self, *_):
        host.environment = self.before


def measure_memory(contenders, data, options):
    """Label -> most bytes that a call adds to its process."""
    found = {}
    for label, kind, what in contenders:
        log = os.path.join(data, f"{label}-memory.log")
        with MemoryEnvironment():
            contender = host.Contender(label, kind, what, data, options.threads, log)
        if contender.error is None:
            found[label] = contender.ask("memory 5")
        contender.close()
    return found


def measure_times(contenders, options):
    """[{label: seconds of each call}], a dictionary for each round."""
    rounds = []
    generator = random.Random(options.seed)
    for _ in range(options.rounds + 1):
        times = {}
        for contender in generator.sample(contenders, k=len(contenders)):
            time.sleep(options.pause)  # longer than OpenMP's threads spin
            times[contender.label] = contender.ask(f"time {options.block}")["times"]
        rounds.append(times)
    return rounds[1:]  # the first warms up


def measure(name, options, folder):
    spec = f"{FILE}:{name}"
    data = os.path.join(folder, name)
    os.makedirs(data)
    result = {"name": name, "bar": 1.1, "failed": {}}
    model, result["import_seconds"] = import_model(spec, data, options)
    if options.search:
        search(model, options)
    checked(
        [sys.executable, "-m", "fastk.importer.reference", spec]
        + ["--outdir", data, f"--seed={options.seed}"],
        env=host.environment(options.threads),
    )
    reference = numpy.load(os.path.join(data, "out0.npy"))
    oracle = oracle_of(model, data, options)
    result["floor_seconds"] = host.floor_of(model, options)
    empty = os.path.join(folder, "empty-bank")
    os.makedirs(empty, exist_ok=True)
    families = ["--winners-from=family"] if options.families else []
    libraries = {}
    for label, bank, more in [("winners", options.bank, families), ("default", empty, [])]:
        libraries[label] = os.path.join(data, f"{label}.so")
        result[f"{label}_compile"] = compile_library(
            model, bank, libraries[label], options, more
        )
    runs = [("eager", "eager", spec), ("torch.compile", "compile", spec)]
    runs += [(label, "library", path) for label, path in libraries.items()]
    result["memory"] = measure_memory(
        [run for run in runs if run[1] != "compile"], data, options
    )
    contenders = []
    try:
        for label, kind, what in runs:
            log = os.path.join(data, f"{label}.log")
            contender = host.Contender(label, kind, what, data, options.threads, log)
            contenders.append(contender)
            if contender.error is None:
                continue
            if kind != "compile":
                raise Failure(f"{name}: {label}: {contender.error}")
            result["failed"][label] = contender.error
            contenders.pop().close()
        results = {c.label: result_of(c, data) for c in contenders}
        rounds = measure_times(contenders, options)
    finally:
        for contender in contenders:
            contender.close()
    result["result_bytes"] = results["eager"].nbytes
    result["errors"] = {k: relative_error(v, reference) for k, v in results.items()}
    result["errors"]["oracle"] = relative_error(oracle, reference)
    result["errors_to_eager"] = {
        k: relative_error(results[k], results["eager"].astype("f8")) for k in libraries
    }
    result["errors_to_oracle"] = {
        k: relative_error(results[k], oracle.astype("f8")) for k in libraries
    }
    result["rounds"] = rounds
    typical = [{k: median(v) for k, v in times.items()} for times in rounds]
    result["seconds"] = {k: median(t[k] for t in typical) for k in typical[0]}
    torch = [k for k in ("eager", "torch.compile") if k in typical[0]]
    result["best"] = min(torch, key=result["seconds"].get)
    result["ratios"] = {
        f"{over}/{under}": interval([t[over] / t[under] for t in typical])
        for over, under in (
            *((each, "winners") for each in torch),
            (result["best"], "default"),
            ("default", "winners"),
        )
    }
    result["wrong"] = [k for k, e in result["errors"].items() if not e <= WRONG]
    for other in ("errors_to_eager", "errors_to_oracle"):
        result["wrong"] += [k for k, e in result[other].items() if not e <= WRONG]
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models",
        nargs="*",
        default=MODELS,
        help=f"functions of {FILE.name}; default {' '.join(MODELS)}",
    )
    parser.add_argument("--bank", required=True, type=os.path.abspath)
    parser.add_argument(
        "--bin",
        type=lambda text: pathlib.Path(text).resolve(),
        default=pathlib.Path(os.environ.get("FASTK_BIN", host.ROOT / "build/dev/bin")),
        help="folder of fastk's programs (default $FASTK_BIN, then build/dev/bin)",
    )
    parser.add_argument(
        "--search",
        metavar="BUDGET",
        help="search first; as for fastk-opt --budget, for each model",
    )
    parser.add_argument(
        "--families",
        action="store_true",
        help="what has no winner in the bank is served by families: --winners-from=family",
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--block", type=float, default=1.0, help="seconds of a block")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between blocks")
    parser.add_argument("--seed", type=int, default=1, help="of values and of the order")
    parser.add_argument("-o", "--output", help="the page to put the tables into")
    parser.add_argument("--json", help="write every sample to this file")
    parser.error = lambda message: (
        print(f"models.py: error: {message}", file=sys.stderr),
        sys.exit(1),
    )
    options = parser.parse_args()
    if options.rounds < 3 or options.threads < 1:
        parser.error("--rounds must be at least 3, --threads at least 1")
    if not os.path.isdir(options.bank) and not options.search:
        parser.error(f"--bank={options.bank}: no such folder")
    return options


def main():
    options = parse_arguments()
    os.makedirs(options.bank, exist_ok=True)
    document = {
        "machine": page.describe_machine(options, host.ROOT, "benchmarks/models.py"),
        "models": [],
    }
    status = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in options.models:
                result = measure(name, options, folder)
                document["models"].append(result)
                print(page.one_line(result), file=sys.stderr, flush=True)
                if result["wrong"]:
                    status = 2
    except Failure as failure:
        print(f"models.py: error: {failure}", file=sys.stderr)
        return 1
    page.finish(document, options, models_page.tables)
    return status


if __name__ == "__main__":
    sys.exit(main())
