#!/usr/bin/env python3
# ===- exported_kernelbench.py - Winners under KernelBench's eval -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Exports winners as answers to problems of a KernelBench checkout, runs KernelBench's own
evaluation over them and prints a table.

    benchmarks/exported_kernelbench.py KernelBench -o out [--bank DIR]... [--level 1]
        [--problems 1,40] [--count N] [--precision ieee] [--steps export,check,eval]

`export` needs PyTorch and torch-mlir, or what `python -m fastk.kernelbench.reference` made of each
problem elsewhere (--imported: a folder L-N_name for each); `check`, KernelBench's static
checker, nothing more; and `eval` a GPU, nvcc and what KernelBench's eval.py imports: each step goes on
from OUT/rows.json, also on another machine. `build`, which is for short leases of a GPU, compiles
the answers side by side before `eval` would one by one. An evaluation is a process of its own; its first run
compiles. It calls eval_kernel_against_ref and measure_ref_program_time of the checkout as they
are: 5 trials of correctness, 100 timed, cuda_event, fp32, seed 42.

A problem without a winner is a row with the reason, and counts as 1.0 in the geometric mean
over all. Exit codes: 0 done; 1 the checkout or the options are wrong.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from fastk.kernelbench import problems  # noqa: E402

STEPS = ("export", "check", "eval")
#: The harness's own: the extension is there when eval asks for it.
BUILD = """
import json, sys
from kernelbench.eval import build_compile_cache
answer, build = sys.argv[1:]
is_built, said, error = build_compile_cache(open(answer, encoding="utf-8").read(), False, build)
print(json.dumps({} if is_built else {"built": str(error)[-400:]}))
"""
#: What a child runs; it prints a row. The checker needs nothing of its package, which needs more.
CHECK = """
import importlib.util, json, sys
answer, checker = sys.argv[1:]
spec = importlib.util.spec_from_file_location("kernel_static_checker", checker)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
text = open(answer, encoding="utf-8").read()
valid, errors, warnings = module.validate_kernel_static(text, backend="cuda", precision="fp32")
print(json.dumps({"checker": "valid" if valid else "refused", "said": errors + warnings}))
"""
#: With the checkout's src in its path.
EVALUATE = """
import json, sys
import torch
from kernelbench import timing
from kernelbench.eval import eval_kernel_against_ref
answer, problem, build = sys.argv[1:]
reference = open(problem, encoding="utf-8").read()
device = torch.device("cuda:0")
result = eval_kernel_against_ref(
    original_model_src=reference,
    custom_model_src=open(answer, encoding="utf-8").read(),
    num_correct_trials=5, num_perf_trials=100, measure_performance=True,
    build_dir=build, device=device, backend="cuda", precision=torch.float32)
row = {"status": "no answer: try again"}
if result is not None:
    row = {"status": "correct" if result.correctness else
                     "wrong" if result.compiled else "does not compile",
           "metadata": {key: str(value) for key, value in result.metadata.items()},
           "ms": result.runtime, "hardware": torch.cuda.get_device_name(device),
           "torch": torch.__version__}
if row["status"] == "correct":
    for name, compiles in (("eager_ms", False), ("compile_ms", True)):
        stats = timing.measure_ref_program_time(
            ref_arch_name=name, ref_arch_src=reference, num_trials=100, device=device,
            use_torch_compile=compiles, torch_compile_backend="inductor",
            torch_compile_options="default", precision="fp32")
        row[name] = stats["mean"]
print(json.dumps(row))
"""


class BenchmarkError(Exception):
    """What is wrong with the checkout or the options."""


def choose(checkout, level, numbers, count):
    """The problems of a level by their numbers, all without; at most `count`."""
    try:
        found = [each for each in problems.find(checkout) if each.level == level]
    except problems.CheckoutError as error:
        raise BenchmarkError(str(error)) from error
    known = {number_of(each): each for each in found}
    missing = [number for number in numbers or () if number not in known]
    if missing:
        raise BenchmarkError(f"level {level} has no problem {missing[0]}")
    return [known[number] for number in numbers or sorted(known)][:count]


def number_of(problem):
    return int(problem.name.split("/")[1].split("_")[0])


def run_child(code, arguments, source, timeout):
    """The last line that a child printed, as JSON; or what became of it."""
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return {"status": f"no end within {timeout} s"}
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"status": "failed: " + last}


def export(problem, options):
    """Writes the answer; returns what of it is a row's."""
    folder = options.output / problem.name.replace("/", "-")
    command = [options.fastk_bank, "export", *options.bank, "--format=kernelbench"]
    if options.imported:
        command += [f"--imported={options.imported / folder.name}"]
    else:
        command += [f"--reference={problem.path}"]
    command += [f"--precision={options.precision}"]
    done = subprocess.run(
        [*map(str, command), f"--to={folder}"],
        capture_output=True,
        text=True,
        env={"FASTK_PYTHON": sys.executable, **os.environ},
        timeout=options.timeout,
    )
    answers = sorted(folder.glob("*.py")) if done.returncode == 0 else []
    if len(answers) == 1:
        return {"answer": str(answers[0].relative_to(options.output))}
    lines = [each for each in done.stderr.splitlines() if each.strip()] or ["no answer"]
    # The heading alone says nothing of this problem.
    return {"reason": " ".join(each.strip() for each in lines[:3])}


def build_folder(answer):
    folder = (answer.parent / "build").resolve()
    folder.mkdir(exist_ok=True)
    return folder


def build_all(rows, options, source):
    """Compiles the rows' answers side by side; a row is told where that failed."""

    def build(row):
        answer = options.output / row["answer"]
        row.update(run_child(BUILD, [answer, build_folder(answer)], source, options.timeout))

    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        list(pool.map(build, [row for row in rows if "answer" in row]))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratio_of(row):
    """The better of eager and torch.compile over the answer; None where it is not right."""
    times = [row[each] for each in ("eager_ms", "compile_ms") if row.get(each)]
    if row.get("status") != "correct" or not times or not row.get("ms", 0) > 0:
        return None
    return min(times) / row["ms"]


def table(rows):
    """The rows and their totals as a table in Markdown."""

    def number(value):
        return "" if value is None else f"{value:.3g}"

    lines = [
        "| problem | answer | checker | harness | ms | eager | compile | ratio | reason |",
        "|---|---|---|---|--:|--:|--:|--:|---|",
    ]
    for name, row in rows.items():
        answer = pathlib.Path(row["answer"]).stem if "answer" in row else ""
        cells = [name, answer, row.get("checker", ""), row.get("status", "")]
        cells += [number(row.get(each)) for each in ("ms", "eager_ms", "compile_ms")]
        cells += [number(ratio_of(row)), row.get("reason", "").replace("|", "\\|")]
        lines.append("| " + " | ".join(cells) + " |")
    ratios = [each for each in map(ratio_of, rows.values()) if each]
    everyone = ratios + [1.0] * (len(rows) - len(ratios))
    faster = sum(each > 1 for each in ratios)
    lines += [
        "",
        f"{len(rows)} problems, {sum('answer' in each for each in rows.values())} exported, "
        f"{len(ratios)} right; faster than the better of eager and torch.compile: {faster}; "
        f"geometric mean of those {number(geometric_mean(ratios)) or '-'}, of all with 1.0 "
        f"where there is no answer {number(geometric_mean(everyone)) or '-'}",
    ]
    return "\n".join(lines) + "\n"


def parser():
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("checkout", type=pathlib.Path, help="a checkout of KernelBench")
    result.add_argument("-o", "--output", type=pathlib.Path, required=True)
    result.add_argument("--bank", action="append", default=[], help="default: the user's")
    result.add_argument("--level", type=int, default=1)
    result.add_argument("--problems", help="numbers, as 1,40; default all of the level")
    result.add_argument("--count", type=int, help="at most so many problems")
    result.add_argument("--imported", type=pathlib.Path, help="folder of imported problems")
    result.add_argument("--precision", choices=["ieee", "tf32", "half"], default="ieee")
    result.add_argument("--steps", default=",".join(STEPS), help="default: all")
    result.add_argument("--timeout", type=int, default=600, help="seconds for each step")
    result.add_argument("--fastk-bank", default="fastk-bank")
    return result


def run(options):
    steps = options.steps.split(",")
    known = (*STEPS, "build")
    if unknown := [each for each in steps if each not in known]:
        raise BenchmarkError(f"--steps: there is no step {unknown[0]}; choose of {', '.join(known)}")
    try:
        numbers = [int(each) for each in (options.problems or "").split(",") if each]
    except ValueError as error:
        raise BenchmarkError(f"--problems={options.problems}: write numbers, as 1,40") from error
    chosen = choose(options.checkout, options.level, numbers, options.count)
    options.output.mkdir(parents=True, exist_ok=True)
    kept = options.output / "rows.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    source = options.checkout.resolve() / "src"
    if "export" in steps:
        for problem in chosen:
            rows[problem.name] = export(problem, options)
    if "build" in steps:
        build_all([rows[each.name] for each in chosen], options, source)
    for problem in chosen:
        row = rows.setdefault(problem.name, {})
        answer = options.output / row.get("answer", "")
        if "check" in steps and "answer" in row:
            checker = source / "kernelbench" / "kernel_static_checker.py"
            row.update(run_child(CHECK, [answer, checker], source, options.timeout))
        if "eval" in steps and "answer" in row:
            arguments = [answer, problem.path, build_folder(answer)]
            row.update(run_child(EVALUATE, arguments, source, options.timeout))
        kept.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{problem.name}: {row}", file=sys.stderr, flush=True)
    text = table({each.name: rows[each.name] for each in chosen})
    (options.output / "table.md").write_text(text)
    print(text, end="")


def main(argv=None):
    try:
        run(parser().parse_args(argv))
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
