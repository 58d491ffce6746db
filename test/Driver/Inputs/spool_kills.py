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

from kills import events, run

VARIANTS = 12


def make_variants(folder):
    """The fastest is number 7."""
    for number in range(VARIANTS):
        own = os.path.join(folder, f"v{number:02}")
        os.makedirs(own)
        nanoseconds = 2000 + 100 * abs(number - 7)
        with open(os.path.join(own, "kernel.cu"), "w", encoding="utf-8") as file:
            file.write(f'// number {number}, fixture: {nanoseconds} ns\n'
                       'extern "C" __global__ void relu(const float *in, float *out) {'
                       f' out[0] = {number}; }}\n')
        with open(os.path.join(own, "plan.json"), "w", encoding="utf-8") as file:
            file.write('{"format": 1, "steps": [{"launch": "relu", "grid": [32], "block": [256], '
                       '"arguments": ["in0", "out0"]}]}')
        with open(os.path.join(own, "idea.md"), "w", encoding="utf-8") as file:
            file.write(f"# number {number}\nCategory: memory access\n\nText.\n")


def main():
    fastk_opt, model, scratch, kills, seed = sys.argv[1:]
    random.seed(int(seed))
    shutil.rmtree(scratch, ignore_errors=True)
    make_variants(os.path.join(scratch, "variants"))
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
    if "number 7" not in errors:
        sys.exit(f"the fastest did not win:\n{errors}")
    jobs = sorted(name for name in os.listdir(spool) if name.startswith("job-"))
    if len(jobs) != VARIANTS + 2:
        sys.exit(f"{len(jobs)} jobs for {VARIANTS} variants, one promotion, one comparison")
    for job in jobs:
        if not os.path.exists(os.path.join(spool, job, "verdict.json")):
            sys.exit(f"{job} was never answered")
    recorded = events(journal)
    if len(set(recorded)) != len(recorded):
        sys.exit("an event was recorded twice")
    verdicts = [event for event in recorded if event[1] == "evaluation"]
    if len(verdicts) != VARIANTS + 1:
        sys.exit(f"{len(verdicts)} verdicts for {len(jobs)} jobs")
    if [name for name in os.listdir(spool) if name.startswith(".tmp")]:
        sys.exit("half a job was left behind")
    print(f"{killed} kills, {len(jobs)} jobs, none twice")


main()
