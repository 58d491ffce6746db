# ===- ray_overhead.py - What a Ray cluster adds to each job -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Answers made-up jobs on a Ray cluster of this machine, and tells what it adds to each.

    .venv/bin/python benchmarks/ray_overhead.py --workers 1 2 4 --jobs 200 --seconds 0.5

Workers rehearse: each job takes as long as --seconds says. Jobs are as large as a GPU's (--bytes). No device is
needed. Prints a row for each number of workers: evaluations a minute, as a share of as many times one, and the
milliseconds that a job takes beyond its own, once all workers are at work. With --kill-every the worker or
the actor at a random job, or the driver, is killed so often; what that costs is in the row, and the seconds until
another worker had been started.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

#: So many answers of each worker do not count.
SKIPPED = 4
#: Where no job is left there is no new worker.
PATIENCE = 30

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from fastk.ray.folder import failed_verdict  # noqa: E402  (a verdict that a search can read)


def make_jobs(folder, count, seconds, size):
    """A spool of open jobs, and the spool that is rehearsed."""
    spool, rehearsed = folder / "spool", folder / "rehearsed"
    for number in range(count):
        name = "job-" + hashlib.sha256(str(number).encode()).hexdigest()[:32]
        (spool / name).mkdir(parents=True)
        (rehearsed / name).mkdir(parents=True)
        programs = {role: {"path": f"{role}.bin"} for role in ("oracle", "baseline", "candidate")}
        for role in programs:
            (spool / name / f"{role}.bin").write_bytes(os.urandom(size // 3))
        (spool / name / "job.json").write_text(
            json.dumps({"format": 1, "id": name, "mode": "evaluate", "programs": programs})
        )
        verdict = json.loads(failed_verdict(name, "made up"))
        verdict["resources"]["wall_seconds"] = seconds
        (rehearsed / name / "verdict.json").write_text(json.dumps(verdict))
    return spool, rehearsed


def processes(*marks):
    """Those whose command lines have all of these."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if folder.name.isdigit() and all(mark in command for mark in marks):
            found.append(int(folder.name))
    return found


def kill_one(spool, rehearsed):
    """Kills a worker, its actor or the driver. Returns which, and after how many seconds there was a new worker."""

    def workers():
        return set(processes("--serve", f"--rehearse={rehearsed}"))

    what = random.choice(["worker", "actor", "driver"])
    before = workers()
    found = processes("fastk.ray", "--driver", str(spool)) if what == "driver" else sorted(before)
    if not found:
        return None
    process = random.choice(found)
    if what == "actor":
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
        process = int(stat.rpartition(")")[2].split()[1])
    os.kill(process, signal.SIGKILL)
    start = time.monotonic()
    while not workers() - before and time.monotonic() < start + PATIENCE:
        time.sleep(0.005)
    return what, round(time.monotonic() - start, 2)


def answer(options, workers, folder):
    spool, rehearsed = make_jobs(folder, options.jobs, options.seconds, options.bytes)
    command = [sys.executable, "-m", "fastk.ray", "local", spool, f"--workers={workers}", f"--rehearse={rehearsed}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    killed = []
    # What it says is shown: without workers it waits for some.
    process = subprocess.Popen(list(map(str, command)), env=environment)
    next_kill = None
    while len(answers := list(spool.glob("*/verdict.json"))) < options.jobs:
        if process.poll() is not None:
            sys.exit(f"the driver ended with {process.returncode}")
        if answers and options.kill_every:
            next_kill = next_kill or time.monotonic() + options.kill_every
            if time.monotonic() >= next_kill:
                next_kill += options.kill_every
                killed.append(kill_one(spool, rehearsed))
        time.sleep(0.2)
    process.terminate()
    process.wait()
    # A verdict that is not the recorded one was set aside.
    others = sum(json.loads(path.read_text())["reason"] != "made up" for path in answers)
    # Workers begin one after the other.
    times = sorted(path.stat().st_mtime for path in answers)[SKIPPED * workers :]
    seconds = times[-1] - times[0]
    return {
        "workers": workers, "jobs": options.jobs, "seconds": round(seconds, 2),
        "evaluations_a_minute": round(60 * (len(times) - 1) / seconds, 1),
        "milliseconds_beyond_each": round(1e3 * (seconds * workers / (len(times) - 1) - options.seconds), 1),
        "killed": [each for each in killed if each], "set_aside": others,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--workers", type=int, nargs="+", default=[1])
    add("--jobs", type=int, default=200)
    add("--seconds", type=float, default=0.5, help="what a job takes")
    add("--bytes", type=int, default=100_000, help="what a job's programs hold")
    add("--kill-every", type=float, default=0, help="seconds")
    add("--seed", type=int, default=1)
    options = parser.parse_args()
    worker = os.environ.get("FASTK_WORKER", "fastk-worker")
    if not shutil.which(worker):
        parser.error(f"there is no {worker}: name one by FASTK_WORKER, or put it in PATH")
    random.seed(options.seed)
    one = None
    for workers in options.workers:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ray-overhead-"))
        try:
            row = answer(options, workers, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        one = one or row["evaluations_a_minute"] / workers
        row["of_as_many_times_one"] = round(row["evaluations_a_minute"] / workers / one, 3)
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
