"""Answers the jobs of a spool as a worker with a GPU would: the logic of a search is tested where
no GPU is. A candidate's time is what its source says ("// fixture: 2000 ns", which is also that of
PTX, where no comment is left), the baseline's 8000 ns.

Comparisons of oracles are answered first and are not counted: they agree, or with --disagree do not.

usage: answer_spool.py DIR [MOST | --disagree | --fail | --gpu | --wrong]
answers at most MOST jobs, in order of name; prints how many. With --fail the worker fails, whatever
the candidate. With --gpu it says on what GPU a candidate was judged, and with --wrong that it is wrong.
"""
import hashlib
import json
import os
import re
import sys

PRELUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "lib", "Cuda", "Prelude",
                       "fastk_prelude.cuh")
with open(PRELUDE, "rb") as prelude:
    DIGEST = hashlib.sha256(prelude.read()).hexdigest()
GPU = {"name": "NVIDIA H200", "arch": "sm_90a", "driver": "13.0", "compiler": "13.0", "prelude": DIGEST, "kernels": [],
       "warnings": [], "compile_ms": 1.0, "clocks": [], "missing_clocks": [], "readings": 0,
       "throttled": 0, "throttle_reasons": []}


def timing(ns):
    return {"median_ns": ns, "p10_ns": 0.95 * ns, "p90_ns": 1.1 * ns, "samples": 40}


def ratio(value):
    return {"median": value, "low": 0.99 * value, "high": 1.01 * value}


def read(folder):
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    # What a worker needs must lie in the job's folder.
    for name, program in job["programs"].items():
        assert os.path.basename(program["path"]) == program["path"], program["path"]
        assert os.path.getsize(os.path.join(folder, program["path"])) > 0
        assert job["device"] == "cuda"
        assert name.startswith("host_") or program["plan"]["format"] == 1
    assert job["id"] == os.path.basename(folder)
    return job


def write(folder, job, changed):
    verdict = {"format": 1, "id": job["id"], "status": "ok", "reason": "", "precision": "ieee",
               "errors": [], "timing": {"handshake_ns": 900.0}, "competitors": [],
               "protections": [], "missing_protections": [],
               "resources": {"peak_memory_bytes": 1, "cpu_seconds": 1.0, "wall_seconds": 1.0},
               "audit": {"seed": 1, "candidate_hash": 2, "trials": 3, "distributions": ["normal"],
                         "left_out": [], "timed_outputs_checked": 7, "audited_calls": 1}}
    temporary = os.path.join(folder, ".verdict.json")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(verdict | changed, file)
    os.rename(temporary, os.path.join(folder, "verdict.json"))


def answer(folder, job, changed):
    def nanoseconds(name):
        path = os.path.join(folder, job["programs"][name]["path"])
        with open(path, encoding="utf-8") as file:
            found = re.search(r"fixture: (\d+) ns", file.read())
        return float(found[1]) if found else 2000.0

    mine, base = nanoseconds("candidate"), 8000.0
    times = {"candidate": timing(mine), "baseline": timing(base),
             "speedup_over_baseline": ratio(base / mine), "handshake_ns": 900.0}
    if "incumbent" in job["programs"]:
        other = nanoseconds("incumbent")
        times["incumbent"] = timing(other)
        times["speedup_over_incumbent"] = ratio(other / mine)
    write(folder, job, {"timing": times} | changed)


def main():
    spool = sys.argv[1]
    words = ("--disagree", "--fail", "--gpu", "--wrong")
    disagree, fails, gpu, wrong = (sys.argv[2:] == [word] for word in words)
    most = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] not in words else 1 << 30
    done = 0
    for name in sorted(os.listdir(spool)):
        folder = os.path.join(spool, name)
        if not name.startswith("job-") or os.path.exists(os.path.join(folder, "verdict.json")):
            continue
        job = read(folder)
        if job["mode"] == "compare":
            write(folder, job,
                  {"status": "disagreement", "reason": "on normal, result 0: as told"}
                  if disagree else {})
        elif done < most:
            if fails:
                write(folder, job, {"status": "error", "reason": "the GPU is lost"})
            elif wrong:
                write(folder, job, {"status": "wrong", "reason": "on normal, result 0: as told"})
            elif gpu and job["mode"] == "validate":
                write(folder, job, {"gpu": GPU})
            else:
                answer(folder, job, {"gpu": GPU} if gpu else {})
            done += 1
    print(f"{done} answered")


if __name__ == "__main__":
    main()
