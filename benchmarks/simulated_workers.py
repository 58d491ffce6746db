# ===- simulated_workers.py - Any number of workers that only take their time -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Answers a spool as so many workers would, and tells how busy a search keeps them.

    python3 benchmarks/simulated_workers.py SPOOL --workers 8 --seconds docs/benchmarks/worker-seconds.json \\
        -- build/release/bin/fastk-opt model.mlir --search '--evaluator=spool:SPOOL?wait=60' ...

Runs the command, a search that waits for the spool. A job takes a simulated worker as long as a
recorded one took: --seconds names a file with lists of seconds by a job's mode. Verdicts are made up, each from the
digest of its candidate, so that a search always finds the same. Prints a row as JSON: how many
evaluations there were, for how long, and what part of the time the workers were at one.

One process plays all workers, by their times of ending; it needs no device.
"""

import argparse
import collections
import hashlib
import heapq
import json
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "test" / "Driver" / "Inputs"))
import answer_spool  # noqa: E402  (a verdict as a worker with a GPU writes it)

#: How often the folder is looked at, in seconds.
PAUSE = 0.02


class Workers:
    """So many workers at a spool, played."""

    def __init__(self, spool, count, seconds):
        self.spool, self.count, self.seconds = spool, count, seconds
        self.random = random.Random(1)
        self.seen, self.queue, self.running = set(), collections.deque(), []
        self.busy, self.answered = 0.0, 0
        self.first = self.last = None

    def look(self):
        """Takes in what is new."""
        try:
            names = os.listdir(self.spool)
        except FileNotFoundError:
            return
        for name in names:
            if name in self.seen or not name.startswith("job-"):
                continue
            self.seen.add(name)
            self.queue.append(name)

    def answer(self, name, seconds):
        folder = os.path.join(self.spool, name)
        job = answer_spool.read(folder)
        # A search deals its minutes out by this.
        resources = {"peak_memory_bytes": 1, "cpu_seconds": seconds, "wall_seconds": seconds}
        if job["mode"] == "compare":
            answer_spool.write(folder, job, {"resources": resources})
            return
        path = os.path.join(folder, job["programs"]["candidate"]["path"])
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
        # From 0.5 to 2 times as fast as the baseline.
        ratio = 2 ** (int.from_bytes(digest[:4], "big") / 2**31 - 1)
        baseline = 8000.0
        timing = answer_spool.timing
        times = {"candidate": timing(baseline / ratio), "baseline": timing(baseline),
                 "speedup_over_baseline": answer_spool.ratio(ratio), "handshake_ns": 900.0}  # fmt: skip
        answer_spool.write(folder, job, {"timing": times, "resources": resources})

    def claim(self, name):
        """Says that it is at work, by which a search counts its workers."""
        claim = {"format": 1, "host": "simulated", "pid": 1, "started": "0", "boot": "simulated", "processes": "simulated"}
        with open(os.path.join(self.spool, name, "claim-1"), "w", encoding="utf-8") as file:
            json.dump(claim, file)

    def mode_of(self, name):
        with open(os.path.join(self.spool, name, "job.json"), encoding="utf-8") as file:
            return json.load(file)["mode"]

    def step(self, now):
        """Ends what has ended by now, and begins what can begin."""
        while self.running and self.running[0][0] <= now:
            end, name, seconds = heapq.heappop(self.running)
            self.answer(name, seconds)
            self.answered += 1
            self.last = now
        self.look()
        while self.queue and len(self.running) < self.count:
            name = self.queue.popleft()
            seconds = self.random.choice(self.seconds[self.mode_of(name)])
            self.busy += seconds
            self.first = self.first or now
            self.claim(name)
            heapq.heappush(self.running, (now + seconds, name, seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("spool")
    add("--workers", type=int, default=1)
    add("--seconds", required=True, help="JSON: what jobs take, by mode")
    add("command", nargs="+", help="a search that waits for the spool")
    options = parser.parse_args()
    with open(options.seconds, encoding="utf-8") as file:
        seconds = json.load(file)
    workers = Workers(options.spool, options.workers, seconds)
    start = os.times()
    with subprocess.Popen(options.command) as search:
        while search.poll() is None:
            workers.step(time.monotonic())
            time.sleep(PAUSE)
    end = os.times()
    wall = (workers.last - workers.first) if workers.answered else 0.0
    row = {
        "workers": options.workers, "exit": search.returncode, "evaluations": workers.answered, "seconds": round(wall, 2),
        "evaluations_a_minute": round(60 * workers.answered / wall, 1) if wall else None,
        "busy": round(workers.busy / (wall * options.workers), 3) if wall else None,
        "search_cpu_seconds": round(end.children_user + end.children_system - start.children_user - start.children_system, 2),
        "simulation_cpu_seconds": round(end.user + end.system - start.user - start.system, 2),
    }  # fmt: skip
    print(json.dumps(row))
    return 0 if search.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
