#!/usr/bin/env python3
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives the kernels of races/ to the worker, on a GPU: each as it is, and with
one synchronisation removed (-DBROKEN). Says by which means a broken one is
found, and whether the right one passes. Exit code 1: a right one does not, or
a broken one is not found by anything though its file does not say `missed`.

Needs Python 3.8 and nothing else, a worker, a driver, NVRTC and ptxas;
compute-sanitizer where racecheck is to be compared. Docs: README.md.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import run_exploits

HERE = pathlib.Path(__file__).resolve().parent


def read_pair(path):
    """The fields of a kernel's head, `// name: value` lines."""
    text = path.read_text()
    fields = dict(re.findall(r"^// (class|broken|workload|plan|missed): (.*)$", text, re.M))
    fields.update(name=path.parent.name, text=text)
    return fields


def job_of(spool, pair, is_broken, options, alone):
    """Writes a job. alone: delays have to find it without racecheck and rules."""
    name = pair["name"] + ("-broken" if is_broken else "") + ("-delays" if alone else "")

    def programs(job, entry):
        trusted = HERE / "workloads" / pair["workload"]
        kernel = job / "candidate.cu"
        kernel.write_text(("#define BROKEN 1\n" if is_broken else "") + pair["text"])
        made = {part: run_exploits.program(trusted, job, pathlib.Path(part + ".cu"),
                                           part + ".json", part)
                for part in ("oracle", "baseline")}
        made["candidate"] = {"path": kernel.name, "code": "cuda",
                             "plan": json.loads(pair["plan"])}
        return made

    workloads = json.loads((HERE / "workloads" / "workloads.json").read_text())
    entry = {"name": name, "mode": "promote", "honest": True, "job": {
        "validate": {"trials": 3}, "time": {"max_seconds": 0.3},
        "sanitizer": {"when": "never" if alone else "installed", "seconds": 20},
        "delays": {"when": "installed", "seconds": options.seconds,
                   "schedules": options.schedules, "rules": not alone}}}
    return run_exploits.write_job(spool, entry, workloads[pair["workload"]], "cuda", programs)


def verdicts(worker, spool, jobs):
    subprocess.run([worker, "--spool", str(spool)], check=False)
    for job in jobs:
        try:
            yield json.loads((job / "verdict.json").read_text())
        except OSError:
            yield {"status": "none", "reason": "there is no verdict"}


def means_of(verdict):
    """By what a verdict rejects: a means and a word on it; none for `ok`."""
    reason, status = verdict["reason"], verdict["status"]
    if status == "ok":
        return "", ""
    if "lacks synchronisation" in reason:
        return "rule", "rule"
    if "its warps are held back" in reason:
        return "delays", str(verdict["gpu"]["delays"]["schedules"])
    tool = re.search(r"compute-sanitizer's (\w+)", reason)
    if tool:
        return tool.group(1), tool.group(1)
    if status in ("wrong", "crash", "timeout"):
        return "at once", status
    return "?", status + ": " + reason


def delays_text(verdict):
    """What delays say of it in a verdict that may rest on something else."""
    means, word = means_of(verdict)
    delays = verdict.get("gpu", {}).get("delays")
    if means == "delays":
        return "schedule " + word
    if delays and delays["result"] == "ok":
        return f"not in {delays['schedules']}"
    return "not run" if delays else "–"


def racecheck_text(verdict):
    text = verdict.get("gpu", {}).get("sanitizer", {}).get("racecheck", "–")
    return ("opinion" if "an opinion" in text else "found" if text.startswith("found")
            else "nothing" if text == "ok" else "not run" if text.startswith("not run")
            else text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", default="fastk-worker", help="the worker to test")
    parser.add_argument("--only", default="", help="names that match this regex")
    parser.add_argument("--spool", help="an empty or new folder for jobs and "
                        "verdicts, kept; default: a temporary one")
    parser.add_argument("--table", help="a Markdown file to write the table into")
    parser.add_argument("--seconds", type=float, default=1.5, help="of delays, each program")
    parser.add_argument("--schedules", type=int, default=300, help="of delays, each program")
    options = parser.parse_args()
    pairs = [read_pair(path) for path in sorted((HERE / "races").glob("*/kernel.cu"))
             if re.search(options.only, path.parent.name)]
    if not pairs:
        sys.exit("error: no pair is called " + options.only)

    with tempfile.TemporaryDirectory() as temporary:
        spool = pathlib.Path(options.spool or temporary)
        (spool / "all").mkdir(parents=True)
        jobs = [job_of(spool / "all", pair, is_broken, options, False)
                for pair in pairs for is_broken in (False, True)]
        found = list(verdicts(options.worker, spool / "all", jobs))
        # What something else rejects before its delays come: would they have?
        again = [pair for pair, verdict in zip(pairs, found[1::2])
                 if means_of(verdict)[0] not in ("", "delays", "at once")]
        alone = {}
        if again:
            (spool / "alone").mkdir()
            jobs = [job_of(spool / "alone", pair, True, options, True) for pair in again]
            alone = dict(zip((pair["name"] for pair in again),
                             verdicts(options.worker, spool / "alone", jobs)))

    rows, refused, missed = [], 0, 0
    for pair, right, broken in zip(pairs, found[0::2], found[1::2]):
        is_right = right["status"] == "ok"
        refused += not is_right
        means, word = means_of(broken)
        missed += means in ("", "?") and "missed" not in pair
        delays = delays_text(alone.get(pair["name"], broken))
        slowdown = right.get("gpu", {}).get("delays", {})
        rows.append([pair["class"], pair["broken"], "`" + pair["name"] + "`",
                     means + (f" ({word})" if means == "at once" else "") or "**not found**",
                     delays, racecheck_text(broken),
                     "passes" if is_right else "**" + right["status"] + "**",
                     f"{slowdown.get('schedules', 0)}, {slowdown.get('slowdown', 0):.0f}×",
                     racecheck_text(right)])
        for name, verdict in (("right", right), ("broken", broken)):
            text = " ".join(verdict["reason"].split())
            print(f"{pair['name']:22} {name:6} {verdict['status']:8} {text[:230]}")
        if not is_right:
            print(f"{'':22} the right one must pass; delays: "
                  f"{right.get('gpu', {}).get('delays', {}).get('result', '–')}")
        if pair["name"] in alone:
            text = " ".join(alone[pair["name"]]["reason"].split())
            print(f"{'':22} delays alone: {delays}: {text[:200]}")
    head = ["class", "what is removed", "pair", "found by", "delays", "racecheck",
            "right one", "its schedules, slowdown", "racecheck of it"]
    table = "\n".join("| " + " | ".join(row) + " |" for row in
                      [head, ["---"] * len(head), *sorted(rows)]) + "\n"
    if options.table:
        pathlib.Path(options.table).write_text(table)
    print(f"{len(pairs)} pairs: {refused} right ones refused, {missed} broken ones not found")
    return 1 if refused or missed else 0


if __name__ == "__main__":
    sys.exit(main())
