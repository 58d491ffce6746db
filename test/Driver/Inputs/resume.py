"""Kills a real search with SIGKILL at random moments and resumes it, until it ends.

Checks that nothing that was recorded is evaluated again: after every kill the journal begins with
what it held before (all but a line that the kill cut), no event is recorded twice, the number of
times a worker was started is at most the number of recorded evaluations plus one for each kill (the
evaluation that the kill hit), and running the finished search again starts no worker at all.

usage: resume.py FASTK_OPT MODEL SCRATCH KILLS SEED
"""
import os
import random
import shutil
import subprocess
import sys

from kills import events, run
from until_quiet import WAITS, runs_until_quiet


def main():
    fastk_opt, model, scratch, kills, seed = sys.argv[1:]
    random.seed(int(seed))
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    # A wrapper in the worker's place counts how often one is started to judge; --check does not.
    starts = os.path.join(scratch, "starts")
    tools = os.path.join(scratch, "bin")
    os.makedirs(tools)
    real = os.path.dirname(os.path.realpath(shutil.which(fastk_opt)))
    shutil.copy(os.path.join(real, "fastk-opt"), tools)
    # Of a copied program families lie beside its folder, too.
    os.symlink(os.path.join(real, os.pardir, "families"), os.path.join(scratch, "families"))
    with open(os.path.join(tools, "fastk-worker"), "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n[ $# -gt 0 ] || echo x >> {starts}\nexec {real}/fastk-worker \"$@\"\n")
    os.chmod(os.path.join(tools, "fastk-worker"), 0o755)
    fastk_opt = os.path.join(tools, "fastk-opt")

    def started():
        if not os.path.exists(starts):
            return 0
        with open(starts, encoding="utf-8") as file:
            return len(file.readlines())

    bank = os.path.join(scratch, "bank")
    journal = os.path.join(scratch, "journal")
    command = [fastk_opt, model, "--search", f"--bank={bank}", f"--journal={journal}",
               "--budget=evaluations=8", "--rounds=2", "-o", os.path.join(scratch, "out.mlir")]
    killed, before = 0, []
    while True:
        wait = random.uniform(0.1, 2.5) if killed < int(kills) else None
        was_killed, code, errors = run(command, wait)
        if was_killed:
            killed += 1
            now = events(journal)
            if now[:len(before)] != before:
                sys.exit("a kill lost events that were recorded")
            before = now
            continue
        if code != 0:
            sys.exit(f"exit {code} after {killed} kills:\n{errors}")
        break
    # A second measurement that noise spoiled is made again by a later run, which adds to the journal.
    if WAITS.search(errors):
        *_, last = runs_until_quiet(command)
        if last.returncode != 0:
            sys.exit(f"exit {last.returncode} of a later run:\n{last.stdout}")
        errors = last.stdout
        if events(journal)[:len(before)] != before:
            sys.exit("a later run lost events that were recorded")
    recorded = events(journal)
    verdicts = [e for e in recorded if e[1] == "evaluation"]
    if not verdicts:
        sys.exit("no verdict was recorded")
    if len(set(recorded)) != len(recorded):
        sys.exit("an event was recorded twice: an evaluation was repeated")
    if started() > len(verdicts) + killed:
        sys.exit(f"{started()} workers for {len(verdicts)} evaluations and {killed} kills")
    workers = started()
    # Undone, the same command finds everything in journal and bank.
    again = subprocess.run(command, capture_output=True, text=True)
    if again.returncode != 0 or events(journal) != recorded:
        sys.exit(f"the finished search did not replay:\n{again.stderr}")
    if errors.splitlines()[-1].startswith("fastk-opt: 1 workload: 1 hit") and started() != workers:
        sys.exit("a finished search started a worker again")
    print(f"{killed} kills, {len(verdicts)} evaluations, none repeated")


main()
