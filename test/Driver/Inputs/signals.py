"""Ends a command by each signal that asks it to, and looks at what it left.

The command is started with a temporary folder of its own and is ended when something has been in it
for a moment: it must die by the signal and leave nothing there. In the end it ignores SIGHUP, as
nohup has it, and must go on.

usage: signals.py SCRATCH COMMAND...
"""

import os
import shutil
import signal
import subprocess
import sys
import time


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    process.send_signal(number)
    try:
        code = process.wait(timeout=20)
    finally:
        # What it ran may not have heard of it.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if code != -number:
        sys.exit(f"{number.name}: exit {code}")
    if os.listdir(temporary):
        sys.exit(f"{number.name}: left {os.listdir(temporary)}")
    print(f"{number.name}: nothing left")


def main():
    scratch, *command = sys.argv[1:]
    temporary = os.path.join(os.path.realpath(scratch), "tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    os.makedirs(temporary)
    for number in ENDING:
        end(start(temporary, command), number, temporary)
    process = start(temporary, command, ignored=(signal.SIGHUP,))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    if process.poll() is not None or not os.listdir(temporary):
        sys.exit(f"SIGHUP, ignored: exit {process.poll()}, {os.listdir(temporary)} is left")
    print("SIGHUP, ignored: goes on")
    end(process, signal.SIGTERM, temporary)


main()
