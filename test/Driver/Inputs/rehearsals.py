"""What the tests share that rehearse a search: it is answered once, and workers give those answers again."""
import json
import os
import random
import subprocess
import sys

import relu_variants
from kills import run


def search_command(fastk_opt, model, scratch, name, evaluator):
    """A search of SCRATCH/variants whose bank, journal and output are in SCRATCH/NAME."""
    return [fastk_opt, model, "--target=cuda:sm_90a", "--search", f"--bank={scratch}/{name}/bank",
            f"--journal={scratch}/{name}/journal", f"--proposer=files:{scratch}/variants",
            f"--evaluator={evaluator}", "-o", f"{scratch}/{name}/out.mlir"]


def record(fastk_opt, model, scratch, seconds):
    """Answers a search as a GPU would; its spool, SCRATCH/recorded/spool, is what is rehearsed. An
    evaluation takes from seconds[0] to seconds[1]."""
    answer = [sys.executable, os.path.join(os.path.dirname(__file__), "answer_spool.py"), f"{scratch}/recorded/spool"]
    evaluator = f"spool:{scratch}/recorded/spool?wait=0.01"
    for _ in range(20):
        _, code, errors = run(search_command(fastk_opt, model, scratch, "recorded", evaluator))
        if code == 0:
            break
        if code != 75:
            sys.exit(f"exit {code} without a kill:\n{errors}")
        subprocess.run(answer, check=True, stdout=subprocess.DEVNULL)
    spool = f"{scratch}/recorded/spool"
    for job in relu_variants.jobs_of(spool):
        path = os.path.join(spool, job, "verdict.json")
        with open(path, encoding="utf-8") as file:
            verdict = json.load(file)
        verdict["resources"]["wall_seconds"] = random.uniform(*seconds)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(verdict, file)


def verdicts_of(spool):
    """{job: its answer, without how long it took to come}."""
    answers = {}
    for job in relu_variants.jobs_of(spool):
        with open(os.path.join(spool, job, "verdict.json"), encoding="utf-8") as file:
            answers[job] = json.load(file)
    return answers


def says(verdict, recorded):
    """Whether a verdict says all that the recorded one does: a worker writes every field."""
    if not isinstance(recorded, dict):
        return verdict == recorded
    return all(name in verdict and says(verdict[name], value) for name, value in recorded.items())


def winner_in(bank):
    """What the bank's only winner is called, and its program."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(bank) for name in names if name == "kernel.cu"]
    if len(found) != 1:
        sys.exit(f"{len(found)} winners in {bank}")
    with open(found[0], encoding="utf-8") as file:
        return file.read()
