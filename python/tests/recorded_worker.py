#!/usr/bin/env python3
# ===- recorded_worker.py - A fastk-worker of this machine -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-------------------------------------------------------------------===#
"""What `--evaluator=local` of the tests starts for a fastk-worker: it gives the verdicts of
$RECORDED, an answered spool. A job on stdin is known by its mode and its candidate; workers at
a spool are $REAL_FASTK_WORKER, which rehearses."""

import json
import os
import pathlib
import sys

REAL = os.environ["REAL_FASTK_WORKER"]
RECORDED = pathlib.Path(os.environ["RECORDED"])


def asked(job, folder):
    """What is asked: (mode, the candidate's text)."""
    candidate = job["programs"].get("candidate")
    text = (folder / candidate["path"]).read_text() if candidate else ""
    return job["mode"], text


def answer(job):
    for folder in RECORDED.glob("job-*"):
        recorded = json.loads((folder / "job.json").read_text())
        if asked(recorded, folder) == asked(job, pathlib.Path("/")):
            return json.loads((folder / "verdict.json").read_text()) | {"id": job["id"]}
    sys.exit(f"no verdict on {asked(job, pathlib.Path('/'))} is recorded")


if any(word.startswith("--spool") for word in sys.argv):
    os.execv(REAL, [REAL, *sys.argv[1:], f"--rehearse={RECORDED}"])
if "--check" not in sys.argv:
    print(json.dumps(answer(json.load(sys.stdin))))
