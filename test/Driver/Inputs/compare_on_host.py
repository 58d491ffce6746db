"""Runs the comparison of oracles in a spool where no GPU is, by the real worker: in the place of the
device's oracle is the host's own, or a program that a C file defines.

usage: compare_on_host.py SPOOL [FILE.c]   prints the verdict's status and reason
"""
import json
import os
import subprocess
import sys
import tempfile


def main():
    spool = sys.argv[1]
    for name in sorted(os.listdir(spool)):
        path = os.path.join(spool, name, "job.json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            job = json.load(file)
        if job["mode"] != "compare":
            continue
        programs = job["programs"]
        for program in programs.values():
            program["path"] = os.path.abspath(os.path.join(spool, name, program["path"]))
        del job["device"], job["machine"], job["sanitizer"], job["delays"]
        with tempfile.TemporaryDirectory() as scratch:
            other = programs["host_oracle"]["path"]
            if len(sys.argv) > 2:
                other = os.path.join(scratch, "oracle.so")
                subprocess.run(["clang-22", "-O1", "-shared", "-fPIC", sys.argv[2], "-o", other],
                               check=True)
            programs["oracle"] = {"path": other}
            result = subprocess.run(["fastk-worker"], input=json.dumps(job), text=True, check=True,
                                    stdout=subprocess.PIPE)
        verdict = json.loads(result.stdout)
        print(verdict["status"], verdict["reason"])
        print(f'{verdict["resources"]["wall_seconds"]:.2f} s', file=sys.stderr)


main()
