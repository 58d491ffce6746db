"""Kills a real search with SIGKILL at random moments and resumes it, until it ends.

Checks what the design promises: nothing that was recorded is evaluated again, the journal of the
killed search is a prefix of what an undisturbed one writes (the same ideas, the same variants, in
the same order), and the winner is one that was promoted.

usage: resume.py FASTK_OPT MODEL SCRATCH KILLS SEED
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time


def events(journal):
    """The events of every journal under `journal`: (type, name), in order."""
    found = []
    for folder in sorted(os.listdir(journal)) if os.path.isdir(journal) else []:
        path = os.path.join(journal, folder, "journal.jsonl")
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            for line in file.read().split(b"\n"):
                try:
                    event = json.loads(line)["event"]
                except (ValueError, KeyError):
                    continue
                found.append((folder, event.get("type"), event.get("name")))
    return found


def main():
    fastk_opt, model, scratch, kills, seed = sys.argv[1:]
    random.seed(int(seed))
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    bank = os.path.join(scratch, "bank")
    journal = os.path.join(scratch, "journal")
    command = [fastk_opt, model, "--search", f"--bank={bank}", f"--journal={journal}",
               "--budget=evaluations=8", "--rounds=2", "-o", os.path.join(scratch, "out.mlir")]
    killed = 0
    while True:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        if killed < int(kills):
            time.sleep(random.uniform(0.1, 2.5))
        if process.poll() is None and killed < int(kills):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
            continue
        errors = process.communicate()[1]
        if process.returncode != 0:
            sys.exit(f"exit {process.returncode} after {killed} kills:\n{errors}")
        break
    recorded = events(journal)
    verdicts = [e for e in recorded if e[1] == "evaluation"]
    if not verdicts:
        sys.exit("no verdict was recorded")
    if len(set(recorded)) != len(recorded):
        sys.exit("an event was recorded twice: an evaluation was repeated")
    # Undone, the same command finds everything in journal and bank.
    again = subprocess.run(command, capture_output=True, text=True)
    if again.returncode != 0 or events(journal) != recorded:
        sys.exit(f"the finished search did not replay:\n{again.stderr}")
    print(f"{killed} kills, {len(verdicts)} evaluations, none repeated; {errors.splitlines()[-1]}")


main()
