# ===- spool_throughput.py - How many evaluations several GPUs make -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Answers a spool with one GPU and with several, and tells evaluations a minute and whether ratios agree.

    fastk-opt FOLDER --target=cuda --search '--evaluator=spool:SPOOL?wait=0.01' -o /dev/null   (exit code 75)
    python3 benchmarks/spool_throughput.py SPOOL --gpus 1 2 --worker fastk-worker

Copies of the spool are answered, after a pass that is not counted and fills the cache of compiled
code. Then some jobs are answered by the first GPU alone, and again while the others are at jobs of
their own: the ratio of a candidate to the baseline of its job must be the same.
"""

import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def jobs_of(spool):
    return sorted(path.parent for path in pathlib.Path(spool).glob("job-*/job.json"))


def copy(spool, folder, most=None):
    """A spool with the jobs of another, and no answers."""
    for job in jobs_of(spool)[:most]:
        shutil.copytree(job, pathlib.Path(folder) / job.name,
                        ignore=shutil.ignore_patterns("verdict.json", "claim-*"))  # fmt: skip
    return folder


def verdicts_of(spool):
    return {job.name: json.loads((job / "verdict.json").read_text()) for job in jobs_of(spool)}


def gpus(first, count):
    return "--gpus=" + ",".join(str(first + i) for i in range(count))


def answer(options, spool, count):
    """Seconds that so many GPUs take for all jobs."""
    start = time.monotonic()
    done = subprocess.run([options.worker, "--spool", spool, gpus(0, count)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{options.worker} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return time.monotonic() - start


def ratio_of(verdict):
    """Baseline over candidate; None where it was not timed to the end."""
    ratio = verdict["timing"].get("speedup_over_baseline")
    return ratio["median"] if verdict["status"] == "ok" and ratio else None


def ratios(options, folder, name):
    """{job: ratio} by the first GPU."""
    spool = copy(options.spool, f"{folder}/{name}", options.most)
    answer(options, spool, 1)
    found = {job: ratio_of(verdict) for job, verdict in verdicts_of(spool).items()}
    return {job: ratio for job, ratio in found.items() if ratio}


def differences(one, other):
    """In per cent, of the ratios of jobs that both have."""
    return sorted(100 * abs(math.log(one[job] / other[job])) for job in one if job in other)


def describe(values):
    if not values:
        return "no jobs"
    return (f"{len(values)} jobs: median {statistics.median(values):.2f} %, "
            f"90 % within {values[int(0.9 * (len(values) - 1))]:.2f} %, the largest {values[-1]:.2f} %")


def neighbours(options, folder, most):
    """Ratios with idle and with busy neighbours."""
    idle = ratios(options, folder, "idle-1")
    again = ratios(options, folder, "idle-2")
    print(f"idle neighbours, twice: {describe(differences(idle, again))}", flush=True)
    load = copy(options.spool, f"{folder}/load")
    with subprocess.Popen([options.worker, "--spool", load, gpus(1, most - 1)], stderr=subprocess.DEVNULL) as busy:
        beside = ratios(options, folder, "beside")
        is_busy = busy.poll() is None
        busy.terminate()
    print(f"busy neighbours{'' if is_busy else ' (for a part of the time)'}: {describe(differences(idle, beside))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("spool")
    add("--gpus", type=int, nargs="+", default=[1, 2], help="how many at once (%(default)s)")
    add("--worker", default="fastk-worker")
    add("--rounds", type=int, default=2, help="each number of GPUs is run so often, in turns")
    add("--most", type=int, default=16, help="jobs whose ratios are compared (%(default)s)")
    add("--seconds-out", help="file for what jobs took, by mode: for simulated_workers.py")
    options = parser.parse_args()
    most = max(options.gpus)
    with tempfile.TemporaryDirectory() as folder:
        warm = copy(options.spool, f"{folder}/warm")
        print(f"{len(jobs_of(warm))} jobs; the first pass, with {most} GPUs: {answer(options, warm, most):.1f} s", flush=True)
        verdicts = verdicts_of(warm)
        statuses = [verdict["status"] for verdict in verdicts.values()]
        print(", ".join(f"{statuses.count(each)} {each}" for each in sorted(set(statuses))), flush=True)
        if options.seconds_out:
            seconds = {}
            for job in jobs_of(warm):
                mode = json.loads((job / "job.json").read_text())["mode"]
                seconds.setdefault(mode, []).append(round(verdicts[job.name]["resources"]["wall_seconds"], 3))
            pathlib.Path(options.seconds_out).write_text(json.dumps(seconds) + "\n")
        taken = {count: [] for count in options.gpus}
        for turn in range(options.rounds):
            for count in options.gpus:
                spool = copy(options.spool, f"{folder}/{turn}-{count}")
                taken[count].append(answer(options, spool, count))
                shutil.rmtree(spool)
        one = statistics.median(taken[options.gpus[0]]) * options.gpus[0]
        print("| GPUs | s | evaluations a minute | of as many times one |")
        print("|--:|--:|--:|--:|")
        for count, values in taken.items():
            rate = [60 * len(statuses) / value for value in values]
            print(f"| {count} | {' '.join(f'{value:.1f}' for value in values)} | {' '.join(f'{value:.1f}' for value in rate)} | "
                  f"{one / count / statistics.median(values):.3f} |", flush=True)  # fmt: skip
        if most > 1:
            neighbours(options, folder, most)


if __name__ == "__main__":
    sys.exit(main())
