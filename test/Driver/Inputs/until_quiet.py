"""Runs a search until the machine was quiet enough for its winner's second measurement.

  until_quiet.py COMMAND...

The search says itself that its winner waits for that, and that the same command goes on
with it; up to six runs. Prints what each printed, and ends as the last did.
"""
import subprocess
import sys

for _ in range(6):
    ran = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(ran.stdout, end="", flush=True)
    if ran.returncode != 0 or "not promoted" not in ran.stdout:
        break
sys.exit(ran.returncode)
