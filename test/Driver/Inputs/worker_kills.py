"""Kills workers that share a spool, and the search that waits for them, at random moments.

A search is answered once without a kill, and recorded. Then the same search runs with workers that
give the recorded verdicts, each after a while; whoever is killed is started again. Checks that
nothing is lost and nothing asked twice: as many jobs and journal events as without a kill, every
answer as it was recorded, the same winner.

usage: worker_kills.py FASTK_OPT FASTK_WORKER MODEL SCRATCH KILLS SEED
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import relu_variants
from kills import events
from rehearsals import record, says, search_command, verdicts_of, winner_in

WORKERS = 3
#: What a recorded evaluation takes, in seconds.
SECONDS = (0.02, 0.3)


class Workers:
    """Several of one spool, one of which dies now and then."""

    def __init__(self, fastk_worker, scratch, name):
        self.command = [fastk_worker, "--spool", f"{scratch}/{name}/spool", "--follow",
                        f"--rehearse={scratch}/recorded/spool"]
        self.log = open(f"{scratch}/{name}-workers.log", "w", encoding="utf-8")
        self.processes = [self.start(number) for number in range(WORKERS)]
        self.killed = 0

    def start(self, number):
        return subprocess.Popen(self.command + [f"--share={number}/{WORKERS}"], stderr=self.log)

    def kill_one(self):
        number = random.randrange(WORKERS)
        self.processes[number].send_signal(random.choice([signal.SIGKILL, signal.SIGTERM]))
        self.processes[number].wait()
        self.processes[number] = self.start(number)
        self.killed += 1

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            if process.wait() != 143:
                sys.exit(f"a worker ended by itself, with {process.returncode}")
        self.log.close()


def main():
    fastk_opt, fastk_worker, model, scratch, kills, seed = sys.argv[1:]
    random.seed(int(seed))
    shutil.rmtree(scratch, ignore_errors=True)
    relu_variants.make_variants(f"{scratch}/variants")
    for name in ("recorded", "killed"):
        os.makedirs(f"{scratch}/{name}")
    # What one has found out of oracles, the other finds out again.
    os.environ["FASTK_CACHE_DIR"] = f"{scratch}/recorded/cache"
    record(fastk_opt, model, scratch, SECONDS)
    os.environ["FASTK_CACHE_DIR"] = f"{scratch}/killed/cache"

    workers = Workers(fastk_worker, scratch, "killed")
    command = search_command(fastk_opt, model, scratch, "killed", f"spool:{scratch}/killed/spool?wait=60")
    searches = 0
    while True:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + random.uniform(0.2, 1.5)
        while process.poll() is None and (workers.killed + searches >= int(kills) or time.monotonic() < end):
            time.sleep(random.uniform(0.02, 0.2))
            if workers.killed + searches < int(kills):
                workers.kill_one()
        if process.poll() is None:
            process.kill()
            process.communicate()
            searches += 1
            continue
        errors = process.stderr.read()
        break
    workers.end()
    if not workers.killed:
        sys.exit("nothing was killed")
    if process.returncode != 0:
        sys.exit(f"exit {process.returncode}:\n{errors}")
    if problem := relu_variants.problem_of(f"{scratch}/killed/spool", events(f"{scratch}/killed/journal")):
        sys.exit(problem)
    if not says(verdicts_of(f"{scratch}/killed/spool"), verdicts_of(f"{scratch}/recorded/spool")):
        sys.exit("the answers are not those that were recorded")
    if winner_in(f"{scratch}/killed/bank") != winner_in(f"{scratch}/recorded/bank"):
        sys.exit("another winner")
    if left := [name for folder, _, names in os.walk(f"{scratch}/killed/spool") for name in names
                if name.startswith(("claim-", ".time"))]:
        sys.exit(f"left behind: {left}")
    print(f"{workers.killed} workers and {searches} searches killed, nothing lost")


main()
