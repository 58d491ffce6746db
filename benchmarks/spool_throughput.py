# ===- spool_throughput.py - How many evaluations several GPUs make -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Answers a spool with one GPU and with several, and tells evaluations a minute and whether ratios agree.

    fastk-opt FOLDER --target=cuda --search '--evaluator=spool:SPOOL?wait=0.01' -o /dev/null   (exit code 75)
    python3 benchmarks/spool_throughput.py SPOOL --gpus 1 2 --worker fastk-worker

Copies of the spool are answered by workers that stay, after a pass that is not counted and fills
the cache of compiled code. Evaluations a minute are those between the first answer of so many GPUs
and the last of as many: all of them are at work then. Then second measurements of some jobs are made by the first
GPU alone, twice, and again while the others are at jobs of their own: the ratio of a candidate to the
baseline of its job must be the same.

--ray=local does the same with a Ray cluster of this machine, which uses so many of its GPUs; ratios
are not compared then.

--apart deals the jobs to a spool for each GPU, whose worker keeps to processors of its own: what
is slower beside others then too is not the spool and not the processors.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def jobs_of(spool):
    return sorted(path.parent for path in pathlib.Path(spool).glob("job-*/job.json"))


def copy(spool, folder, names=None):
    """A spool with the jobs of another, or some of them as second measurements, and no answers."""
    for job in jobs_of(spool):
        if names is not None and job.name not in names:
            continue
        place = pathlib.Path(folder) / job.name
        shutil.copytree(job, place, ignore=shutil.ignore_patterns("verdict.json", "claim-*"))
        if names is not None:
            text = json.loads((place / "job.json").read_text())
            text["mode"] = "promote"
            text["validate"]["trials"] = 10
            text["time"]["max_seconds"], text["time"]["screen_ratio"] = 5.0, 0
            (place / "job.json").write_text(json.dumps(text))
    return folder


def unanswered(jobs):
    return [job for job in jobs if not (job / "verdict.json").exists()]


def verdicts_of(spool):
    return {job.name: json.loads((job / "verdict.json").read_text()) for job in jobs_of(spool)}


def gpus(first, count):
    return "--gpus=" + ",".join(str(first + i) for i in range(count))


def workers(options, spool, first, count, processors=None):
    log = open(f"{spool}.log", "w", encoding="utf-8")
    command = [options.worker, "--spool", spool, "--follow", gpus(first, count)]
    if options.ray:
        command = [sys.executable, "-m", "fastk.ray", options.ray, spool, f"--workers={count}"]
    return subprocess.Popen(command, stdout=log, stderr=log,
                            preexec_fn=processors and (lambda: os.sched_setaffinity(0, processors)))  # fmt: skip


def deal(spool, count):
    """So many spools, with the jobs of one in turns."""
    places = [pathlib.Path(f"{spool}-{i}") for i in range(count)]
    for i, job in enumerate(jobs_of(spool)):
        place = places[i % count] / job.name
        place.parent.mkdir(exist_ok=True)
        job.rename(place)
    return places


def answer(options, spool, count, apart=False):
    """When, in seconds from the start of the workers, so many GPUs answered all jobs: a sorted list."""
    places = deal(spool, count) if apart else [pathlib.Path(spool)]
    every = sorted(os.sched_getaffinity(0))
    share = len(every) // count
    start, started = time.time(), []
    with contextlib.ExitStack() as running:
        for i, place in enumerate(places):
            own = every[i * share : (i + 1) * share] if apart else None
            first, number = (i, 1) if apart else (0, count)
            started.append(running.enter_context(workers(options, str(place), first, number, own)))
            running.callback(started[-1].terminate)
        await_answers(options, places, started)
    jobs = [job for place in places for job in jobs_of(place)]
    times = sorted((job / "verdict.json").stat().st_mtime - start for job in jobs)
    if apart:
        for job in jobs:
            job.rename(pathlib.Path(spool) / job.name)
    return times


def await_answers(options, places, started):
    left = [job for place in places for job in jobs_of(place)]
    while left:
        time.sleep(0.1)
        left = unanswered(left)
        for worker, place in zip(started, places):
            if worker.poll() is not None and left:
                sys.exit(f"{worker.args[0]} ended with {worker.returncode}:\n"
                         + pathlib.Path(f"{place}.log").read_text()[-2000:])  # fmt: skip


def rate(times, count):
    """Answers a minute while so many GPUs are all at work."""
    return 60 * (len(times) - 2 * count) / (times[-count - 1] - times[count - 1])


def phases_of(verdicts):
    """Mean seconds of an evaluation in each phase."""
    sums = {}
    for verdict in verdicts:
        for phase in verdict.get("phases", []):
            sums[phase["name"]] = sums.get(phase["name"], 0) + phase["seconds"]
    return {name: total / len(verdicts) for name, total in sums.items()}


def seconds_of(verdicts):
    """What each evaluation took."""
    return [verdict["resources"]["wall_seconds"] for verdict in verdicts.values()]


def keep_seconds(options, spool, verdicts):
    """By the mode of each job."""
    for job in jobs_of(spool):
        mode = json.loads((job / "job.json").read_text())["mode"]
        seconds = verdicts[job.name]["resources"]["wall_seconds"]
        options.seconds.setdefault(mode, []).append(round(seconds, 3))


def print_canaries(spool, name):
    canaries = pathlib.Path(spool) / ".canaries"
    for path in sorted(each for each in canaries.rglob("*") if each.is_file()):
        print(f"  {name} GPUs: {path.name}: {path.read_text().strip()}", file=sys.stderr)


def row_of(name, count, times, verdicts, one):
    """Printed when it is known: who ends the script early has what was measured."""
    walls, value = seconds_of(verdicts), rate(times, count)
    return (f"| {name} | {value:.1f} | {value / count / one:.3f} | {times[-1]:.1f} | "
            f"{sum(walls) / len(walls):.3f} | {sum(walls) / count / times[-1]:.1%} |")  # fmt: skip


def print_phases(phases):
    """By the number of GPUs: what takes longer beside others is what they share."""
    counts = list(phases)
    print("| phase | " + " | ".join(f"s, {count} GPUs" for count in counts) + " |")
    print("|--|" + "--:|" * len(counts))
    for name in sorted(phases[counts[-1]], key=lambda name: -phases[counts[-1]][name]):
        print(f"| {name} | " + " | ".join(f"{phases[count].get(name, 0):.3f}" for count in counts) + " |")


def ratio_of(verdict):
    """Baseline over candidate; None where it was not timed to the end."""
    ratio = verdict["timing"].get("speedup_over_baseline")
    return ratio["median"] if verdict["status"] == "ok" and ratio else None


def ratios(options, folder, name, jobs):
    """{job: ratio} of second measurements by the first GPU."""
    spool = copy(options.spool, f"{folder}/{name}", jobs)
    answer(options, spool, 1)
    found = verdicts_of(spool)
    options.seconds.setdefault("promote", []).extend(
        round(verdict["resources"]["wall_seconds"], 3) for verdict in found.values())  # fmt: skip
    return {job: ratio_of(verdict) for job, verdict in found.items() if ratio_of(verdict)}


def differences(one, other):
    """In per cent, of the ratios of jobs that both have."""
    return sorted(100 * abs(math.log(one[job] / other[job])) for job in one if job in other)


def describe(values):
    if not values:
        return "no jobs"
    return (f"{len(values)} jobs: median {statistics.median(values):.2f} %, "
            f"90 % within {values[int(0.9 * (len(values) - 1))]:.2f} %, the largest {values[-1]:.2f} %")


def neighbours(options, folder, most, jobs):
    """Ratios with idle and with busy neighbours."""
    idle = ratios(options, folder, "idle-1", jobs)
    again = ratios(options, folder, "idle-2", jobs)
    print(f"idle neighbours, twice: {describe(differences(idle, again))}", flush=True)
    load = copy(options.spool, f"{folder}/load")
    with workers(options, load, 1, most - 1) as busy:
        beside = ratios(options, folder, "beside", jobs)
        is_busy = bool(unanswered(jobs_of(load)))
        busy.terminate()
    part = "" if is_busy else " (for a part of the time)"
    print(f"busy neighbours{part}: {describe(differences(idle, beside))}; against the other idle run: "
          f"{describe(differences(again, beside))}")  # fmt: skip
    for job, ratio in sorted(idle.items()):
        print(f"  {job}: {ratio:.4f} {again.get(job, math.nan):.4f} {beside.get(job, math.nan):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("spool")
    add("--gpus", type=int, nargs="+", default=[1, 2], help="how many at once (%(default)s)")
    add("--worker", default="fastk-worker")
    add("--rounds", type=int, default=2, help="each number of GPUs is run so often, in turns")
    add("--most", type=int, default=6, help="jobs whose ratios are compared (%(default)s); 0 for none")
    add("--ray", metavar="ADDRESS", help="answered by `python -m fastk.ray ADDRESS` instead of workers")
    add("--apart", action="store_true", help="also the most GPUs, each with a spool and processors of its own")
    add("--seconds-out", help="file for what jobs took, by mode: for simulated_workers.py")
    add("--keep", help="folder for what the workers said")
    options = parser.parse_args()
    if options.apart and max(options.gpus) > len(os.sched_getaffinity(0)):
        parser.error("--apart needs a processor for each GPU")
    if options.ray and (options.apart or options.most):
        parser.error("--ray uses any of its GPUs: no --apart, and --most=0")
    options.seconds = {}
    if len(jobs_of(options.spool)) <= 2 * max(options.gpus):
        parser.error(f"{options.spool} needs more than {2 * max(options.gpus)} jobs, to see all GPUs at work")
    if options.seconds_out and 1 not in options.gpus:
        parser.error("--seconds-out takes the seconds of one GPU: name 1 among --gpus")
    most = max(options.gpus)
    with tempfile.TemporaryDirectory() as folder:
        warm = copy(options.spool, f"{folder}/warm")
        taken = answer(options, warm, most)
        print(f"{len(taken)} jobs; the first pass, with {most} GPUs: {taken[-1]:.1f} s", flush=True)
        verdicts = verdicts_of(warm)
        statuses = [verdict["status"] for verdict in verdicts.values()]
        print(", ".join(f"{statuses.count(each)} {each}" for each in sorted(set(statuses))), flush=True)
        print("| GPUs | evaluations a minute | of as many times one | s, with start and end | s, an evaluation | evaluating |")
        print("|--:|--:|--:|--:|--:|--:|", flush=True)
        phases, one = {}, None
        for turn in range(options.rounds):
            for count, apart in [(count, False) for count in options.gpus] + [(most, True)] * options.apart:
                name = f"{count} apart" if apart else count
                spool = copy(options.spool, f"{folder}/{turn}-{name}")
                times, found = answer(options, spool, count, apart), verdicts_of(spool)
                one = one or rate(times, count) / count
                print(row_of(name, count, times, found, one), flush=True)
                phases.setdefault(name, phases_of(list(found.values())))
                if count == 1:
                    keep_seconds(options, spool, found)
                print_canaries(spool, name)
                shutil.rmtree(spool)
        print_phases(phases)
        if most > 1 and options.most:
            # Of many workloads, and the longest of their programs: what is short differs by itself.
            good = sorted((job for job, verdict in verdicts.items() if ratio_of(verdict)),
                          key=lambda job: -verdicts[job]["timing"]["candidate"]["median_ns"])
            neighbours(options, folder, most, good[:options.most])
        if options.seconds_out:
            pathlib.Path(options.seconds_out).write_text(json.dumps(options.seconds) + "\n")
        if options.keep:
            for path in pathlib.Path(folder).glob("*.log"):
                shutil.copy(path, options.keep)


if __name__ == "__main__":
    sys.exit(main())
