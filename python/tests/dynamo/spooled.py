# ===- spooled.py - Winners without a measurement -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Winners for tests of what becomes of winners: a search whose jobs are answered here.

Times are made up, so that a test does not depend on what else the machine does. The
programs are the catalog's own; whether they are right the tests see by themselves.
"""

import json
import os
import subprocess


def _timing(nanoseconds):
    return {
        "median_ns": nanoseconds,
        "p10_ns": 0.95 * nanoseconds,
        "p90_ns": 1.1 * nanoseconds,
        "samples": 40,
    }


def _ratio(value):
    return {"median": value, "low": 0.99 * value, "high": 1.01 * value}


def answer(spool):
    """Answers the jobs of a spool: right, and four times the default's speed."""
    for name in sorted(os.listdir(spool)):
        folder = os.path.join(spool, name)
        verdict = os.path.join(folder, "verdict.json")
        if not name.startswith("job-") or os.path.exists(verdict):
            continue
        with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
            job = json.load(file)
        times = {
            "candidate": _timing(2000.0),
            "baseline": _timing(8000.0),
            "speedup_over_baseline": _ratio(4.0),
            "handshake_ns": 900.0,
        }
        if "incumbent" in job["programs"]:
            times["incumbent"] = _timing(2000.0)
            times["speedup_over_incumbent"] = _ratio(1.0)
        text = {
            "format": 1, "id": job["id"], "status": "ok", "reason": "",
            "precision": "ieee", "errors": [], "timing": times, "competitors": [],
            "protections": [], "missing_protections": [],
            "resources": {
                "peak_memory_bytes": 1, "cpu_seconds": 1.0, "wall_seconds": 1.0,
            },
            "audit": {
                "seed": 1, "candidate_hash": 2, "trials": 3,
                "distributions": ["normal"], "left_out": [],
                "timed_outputs_checked": 7, "audited_calls": 1,
            },
        }  # fmt: skip
        with open(verdict + ".new", "w", encoding="utf-8") as file:
            json.dump(text, file)
        os.rename(verdict + ".new", verdict)


def search(fastk_opt, text, folder, *options):
    """Searches the workloads of a text; the bank with a winner for each."""
    bank, spool, model = folder / "bank", folder / "spool", folder / "model.mlir"
    model.write_text(text)
    command = [
        fastk_opt, model, "--search", f"--bank={bank}", f"--evaluator=spool:{spool}",
        "--budget=evaluations=4", f"--journal={folder / 'journal'}",
        "-o", os.devnull, *options,
    ]  # fmt: skip
    for _ in range(30):
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode != 75:
            break
        answer(spool)
    assert done.returncode == 0, done.stderr
    return bank
