"""Variants of a relu for a GPU whose times are fixtures of answer_spool.py, for searches that are killed."""
import os

VARIANTS = 12
#: Those, one promotion and one comparison of oracles.
JOBS = VARIANTS + 2
FASTEST = "number 7"


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


def jobs_of(spool):
    """Names of all jobs."""
    return sorted(name for name in os.listdir(spool) if name.startswith("job-"))


def problem_of(spool, recorded):
    """What is wrong with the jobs, or with the events of the journal, after a search that found the
    fastest; None: nothing."""
    jobs = jobs_of(spool)
    if len(jobs) != JOBS:
        return f"{len(jobs)} jobs for {VARIANTS} variants, one promotion, one comparison"
    for job in jobs:
        if not os.path.exists(os.path.join(spool, job, "verdict.json")):
            return f"{job} was never answered"
    if len(set(recorded)) != len(recorded):
        return "an event was recorded twice"
    verdicts = [event for event in recorded if event[1] == "evaluation"]
    if len(verdicts) != VARIANTS + 1:
        return f"{len(verdicts)} verdicts for {len(jobs)} jobs"
    if [name for name in os.listdir(spool) if name.startswith(".tmp")]:
        return "half a job was left behind"
    return None
