"""Runs a search until nothing waits for a quieter machine.

  until_quiet.py COMMAND...

A second measurement that noise spoiled, and an evaluation that failed through no fault of
its variant, are made again by the same command: a run after one of them may find other
winners. Up to twelve runs, the later ones after a pause, as noise comes and goes. Prints
what each printed, and ends as the last did; 1 where the machine was never quiet enough.
"""
import re
import subprocess
import sys
import time

RUNS = 12
LONGEST_PAUSE = 10.0
WAITS = re.compile("not promoted|failed through no fault of")


def runs_until_quiet(command):
    """Each run of `command` as it ends, with all that it said in `stdout`."""
    for earlier in range(RUNS):
        # Noise is often over at once: the first runs follow each other.
        time.sleep(min(max(0.0, 2.0 * (earlier - 2)), LONGEST_PAUSE))
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield ran
        if ran.returncode != 0 or not WAITS.search(ran.stdout):
            return
    sys.exit(f"until_quiet.py: the machine was too noisy in each of {RUNS} runs")


def main():
    status = 0
    for ran in runs_until_quiet(sys.argv[1:]):
        print(ran.stdout, end="", flush=True)
        status = ran.returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
