"""Kills a search with a spool at random moments, and answers a few jobs in between, until it ends.

Checks that no job is written twice or lost: as many jobs as there are variants and promotions, and
one that compares oracles, each with its answer; no event of a journal is recorded twice; the fastest variant wins; the finished
search asks for nothing.

usage: spool_kills.py FASTK_OPT MODEL SCRATCH KILLS SEED
"""
import os
import random
import shutil
import subprocess
import sys

import relu_variants
from kills import events, run

def main():
    fastk_opt, model, scratch, kills, seed = sys.argv[1:]
    random.seed(int(seed))
    shutil.rmtree(scratch, ignore_errors=True)
    relu_variants.make_variants(os.path.join(scratch, "variants"))
    os.environ["FASTK_CACHE_DIR"] = os.path.join(scratch, "cache")
    spool, journal = os.path.join(scratch, "spool"), os.path.join(scratch, "journal")
    answer = [sys.executable, os.path.join(os.path.dirname(__file__), "answer_spool.py"), spool]
    command = [fastk_opt, model, "--target=cuda:sm_90a", "--search",
               f"--bank={scratch}/bank", f"--journal={journal}",
               f"--proposer=files:{scratch}/variants", f"--evaluator=spool:{spool}",
               "-o", os.path.join(scratch, "out.mlir")]
    killed = passes = 0
    while True:
        wait = random.uniform(0.0, 0.15) if killed < int(kills) else None
        was_killed, code, errors = run(command, wait)
        killed += was_killed
        if os.path.isdir(spool) and random.random() < 0.5:
            subprocess.run(answer + ["2"], check=True, stdout=subprocess.DEVNULL)
        if was_killed:
            continue
        passes += code == 75
        if code == 0:
            break
        if code != 75 or passes > 100:
            sys.exit(f"exit {code} after {killed} kills:\n{errors}")
    if killed == 0:
        sys.exit("nothing was killed")
    if relu_variants.FASTEST not in errors:
        sys.exit(f"the fastest did not win:\n{errors}")
    if problem := relu_variants.problem_of(spool, events(journal)):
        sys.exit(problem)
    print(f"{killed} kills, {len(relu_variants.jobs_of(spool))} jobs, none twice")


main()
