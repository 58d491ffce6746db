"""Runs a search until the machine was quiet enough for its winner's second measurement.

  until_quiet.py COMMAND...

The search says itself that its winner waits for that, and that the same command goes on
with it; up to six runs. Prints what each printed, and ends as the last did.
"""
import subprocess
import sys


def runs_until_quiet(command):
    """Each run of `command` as it ends, with all that it said in `stdout`."""
    for _ in range(6):
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield ran
        if ran.returncode != 0 or "not promoted" not in ran.stdout:
            return


def main():
    status = 0
    for ran in runs_until_quiet(sys.argv[1:]):
        print(ran.stdout, end="", flush=True)
        status = ran.returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
