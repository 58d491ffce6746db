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


def workers(options, spool, first, count):
    log = open(f"{spool}.log", "w", encoding="utf-8")
    return subprocess.Popen([options.worker, "--spool", spool, "--follow", gpus(first, count)],
                            stdout=log, stderr=log)  # fmt: skip


def answer(options, spool, count):
    """When, in seconds from the start of the workers, so many GPUs answered all jobs: a sorted list."""
    start = time.time()
    with workers(options, spool, 0, count) as running:
        left = jobs_of(spool)
        while left:
            time.sleep(0.1)
            left = unanswered(left)
            if running.poll() is not None and left:
                sys.exit(f"{options.worker} ended with {running.returncode}:\n"
                         + pathlib.Path(f"{spool}.log").read_text()[-2000:])  # fmt: skip
        running.terminate()
    return sorted((job / "verdict.json").stat().st_mtime - start for job in jobs_of(spool))


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


def print_phases(phases):
    """By the number of GPUs: what takes longer beside others is what they share."""
    counts = sorted(phases)
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
    add("--seconds-out", help="file for what jobs took, by mode: for simulated_workers.py")
    add("--keep", help="folder for what the workers said")
    options = parser.parse_args()
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
        runs, phases = {count: [] for count in options.gpus}, {}
        for turn in range(options.rounds):
            for count in options.gpus:
                spool = copy(options.spool, f"{folder}/{turn}-{count}")
                runs[count].append(answer(options, spool, count))
                found = verdicts_of(spool)
                phases[count] = phases_of(list(found.values()))
                if count == 1:
                    for job in jobs_of(spool):
                        mode = json.loads((job / "job.json").read_text())["mode"]
                        seconds = found[job.name]["resources"]["wall_seconds"]
                        options.seconds.setdefault(mode, []).append(round(seconds, 3))
                canaries = pathlib.Path(spool) / ".canaries"
                for path in sorted(each for each in canaries.rglob("*") if each.is_file()):
                    print(f"  {count} GPUs: {path.name}: {path.read_text().strip()}")
                shutil.rmtree(spool)
        rates = {count: [rate(times, count) for times in runs[count]] for count in options.gpus}
        one = statistics.median(rates[options.gpus[0]]) / options.gpus[0]
        print("| GPUs | evaluations a minute | of as many times one | s, with start and end |")
        print("|--:|--:|--:|--:|")
        for count in options.gpus:
            print(f"| {count} | {' '.join(f'{value:.1f}' for value in rates[count])} | "
                  f"{statistics.median(rates[count]) / count / one:.3f} | "
                  f"{' '.join(f'{times[-1]:.1f}' for times in runs[count])} |", flush=True)  # fmt: skip
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
