# ===- told_worker.py - A judge that says what it is told -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Stands beside copies of fastk's programs as their fastk-worker: a judge whose measurements
do not depend on how busy a machine is.

`told.json` beside it has the gain that it measures, that of what is timed beside, and whether
bits repeat.
"""

import json
import os
import pathlib
import sys


def timing(ns):
    return {"median_ns": ns, "p10_ns": 0.95 * ns, "p90_ns": 1.1 * ns, "samples": 40}


def ratio(value):
    return {"median": value, "low": 0.99 * value, "high": 1.01 * value}


def verdict(job, told):
    base = 8000.0
    times = {
        "candidate": timing(base / told["gain"]),
        "baseline": timing(base),
        "speedup_over_baseline": ratio(told["gain"]),
        "handshake_ns": 10.0,
        "threads": len(os.sched_getaffinity(0)),
    }
    if "incumbent" in job["programs"]:
        times["incumbent"] = timing(base / told["incumbent"])
        times["speedup_over_incumbent"] = ratio(told["gain"] / told["incumbent"])
    return {
        "format": 1,
        "id": job["id"],
        "status": "ok",
        "reason": "",
        "precision": "ieee",
        "errors": [],
        "timing": times,
        "competitors": [],
        "protections": [],
        "missing_protections": [],
        "resources": {"peak_memory_bytes": 1, "cpu_seconds": 0.1, "wall_seconds": 0.1},
        "audit": {
            "seed": 1,
            "candidate_hash": 2,
            "trials": 3,
            "distributions": ["normal"],
            "left_out": [],
            "timed_outputs_checked": 7,
            "audited_calls": 1,
            "bitwise_deterministic": told["bits"],
            "repeated_calls": 20,
        },
    }


def main():
    if "--check" in sys.argv:
        return
    told = pathlib.Path(__file__).with_name("told.json").read_text()
    print(json.dumps(verdict(json.load(sys.stdin), json.loads(told))))


main()
