"""Searches, then changes what measures, and looks at which verdicts are replayed.

usage: rebuilt.py FASTK_OPT MODEL VARIANTS SCRATCH
"""
import os
import re
import shutil
import subprocess
import sys


def main():
    fastk_opt, model, variants, scratch = sys.argv[1:]
    shutil.rmtree(scratch, ignore_errors=True)
    tools = os.path.join(scratch, "bin")
    os.makedirs(tools)
    real = os.path.dirname(os.path.realpath(shutil.which(fastk_opt)))
    shutil.copy(os.path.join(real, "fastk-opt"), tools)
    starts = os.path.join(scratch, "starts")
    worker = os.path.join(tools, "fastk-worker")

    def build(comment):
        """A worker whose file differs by a comment, and which counts its starts."""
        with open(worker, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n# {comment}\n[ $# -gt 0 ] || echo x >> {starts}\n"
                       f"exec {real}/fastk-worker \"$@\"\n")
        os.chmod(worker, 0o755)

    def search(name):
        if os.path.exists(starts):
            os.remove(starts)
        # Winners would be hits, and hits are not searched: each run has its own bank.
        command = [os.path.join(tools, "fastk-opt"), model, "--search",
                   f"--bank={scratch}/bank-{name}", f"--journal={scratch}/journal",
                   f"--proposer=files:{variants}", "--repairs=0",
                   "-o", os.path.join(scratch, "out.mlir")]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{name}: exit {run.returncode}\n{run.stderr}")
        started = 0
        if os.path.exists(starts):
            with open(starts, encoding="utf-8") as file:
                started = len(file.readlines())
        counted = re.search(r"^  (\d+) evaluations?( \((\d+) from the journal\))?,", run.stderr, re.M)
        total, replayed = int(counted[1]), int(counted[3] or 0)
        if started != total - replayed:
            sys.exit(f"{name}: {started} workers for {total} evaluations, {replayed} replayed")
        replay = {0: "none", total: "all"}.get(replayed, replayed)
        print(f"{name}: {replay} replayed")
        for line in run.stderr.splitlines():
            if "another fastk" in line:
                print(line)

    build("first")
    search("first")
    search("unchanged")
    build("second")
    search("rebuilt")
    search("again")
    print(*sorted(name for folder in os.listdir(f"{scratch}/journal")
                  for name in os.listdir(f"{scratch}/journal/{folder}") if "jsonl" in name))


main()
