"""Ends a command by each signal that asks it to, and looks at what it left.

The command is started with a temporary folder of its own and is ended when something has been in it
for a moment: it must die by the signal and leave nothing there. In the end it ignores SIGHUP, as
nohup has it, and must go on. What was over before the signal came is done again.

usage: signals.py SCRATCH COMMAND...
"""

import os
import shutil
import signal
import subprocess
import sys
import time


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ATTEMPTS = 10


def set_signals(ignored):
    """Whatever runs the test ignores."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def start(temporary, command, ignored=()):
    """The command in the middle of its work."""
    process = subprocess.Popen(
        command,
        env=dict(os.environ, TMPDIR=temporary),
        start_new_session=True,
        preexec_fn=lambda: set_signals(ignored),
        stdout=subprocess.DEVNULL,
    )
    deadline = time.time() + 100
    while not os.listdir(temporary):
        if process.poll() is not None or time.time() > deadline:
            sys.exit(f"never had a temporary file; exit {process.poll()}")
        time.sleep(0.005)
    time.sleep(0.3)
    return process


def end(process, number, temporary):
    """False where it came to its end in spite of the signal: that came too late, or never."""
    process.send_signal(number)
    try:
        code = process.wait(timeout=120)
    finally:
        # What it ran may not have heard of it.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if code == 0:
        return False
    if code != -number:
        sys.exit(f"{number.name}: exit {code}")
    if os.listdir(temporary):
        sys.exit(f"{number.name}: left {os.listdir(temporary)}")
    print(f"{number.name}: nothing left")
    return True


def goes_on(process, temporary):
    """Whether it does after a SIGHUP that it ignores, and still has its files."""
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    # Between two steps there may be none.
    while process.poll() is None:
        if os.listdir(temporary):
            print("SIGHUP, ignored: goes on")
            return True
        time.sleep(0.005)
    if process.returncode != 0:
        sys.exit(f"SIGHUP, ignored: exit {process.returncode}, {os.listdir(temporary)} is left")
    return False


def until(attempt, what):
    if not any(attempt() for _ in range(ATTEMPTS)):
        sys.exit(f"{what}: it was always over before, or does not heed it")


def main():
    scratch, *command = sys.argv[1:]
    temporary = os.path.join(os.path.realpath(scratch), "tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    os.makedirs(temporary)
    for number in ENDING:
        until(lambda: end(start(temporary, command), number, temporary), number.name)

    processes = []

    def ignores():
        processes.append(start(temporary, command, ignored=(signal.SIGHUP,)))
        return goes_on(processes[-1], temporary)

    until(ignores, "SIGHUP, ignored")
    if not end(processes[-1], signal.SIGTERM, temporary):
        until(lambda: end(start(temporary, command), signal.SIGTERM, temporary), "SIGTERM")


main()
