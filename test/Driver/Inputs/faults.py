"""A search that meets a fault at calls to the file system, and goes on.

usage: faults.py SHIM FOLDER STEP fastk-opt ARGUMENTS...
The command is a search; --bank, --journal and -o are added, all of them under FOLDER. At every
STEP-th call that changes something there, one of the faults of unittests/Faults/FileFaults.h
befalls it; then it is run again without. Its end must be that of a run without faults, and what
its journal had before is still there.
"""
import os
import shutil
import signal
import subprocess
import sys

KILL_AFTER, KILL_TORN, NO_SPACE, NO_SPACE_ONCE, IO_ONCE = 2, 3, 5, 6, 8
FAULTS = {KILL_AFTER: "killed after", KILL_TORN: "killed within", NO_SPACE: "disk full from",
          NO_SPACE_ONCE: "disk full at", IO_ONCE: "EIO at"}


def search(shim, folder, command, fault=0, at=0):
    """Runs it in `folder`; its exit code, what it said, and how many calls the shim saw."""
    count = folder + ".count"
    environment = dict(os.environ, LD_PRELOAD=shim, FASTK_FAULT=f"{fault} {at} {folder}/",
                       FASTK_FAULT_COUNT=count)
    if fault is None:
        environment = os.environ
    done = subprocess.run(
        [*command, f"--bank={folder}/bank", f"--journal={folder}/journal", "-o",
         f"{folder}/out.mlir"], env=environment, stderr=subprocess.PIPE, text=True, check=False)
    calls = 0
    if os.path.exists(count):
        with open(count, encoding="utf-8") as file:
            calls = int(file.read())
    return done.returncode, done.stderr, calls


def contents(folder):
    """What a run leaves that does not tell the time: the winner and the module."""
    found = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each != "journal"]
        for name in files:
            # Beside the output a killed process leaves what it had of it, under a name that nobody
            # asked for.
            if name in (".lock", "trajectory.json") or name.startswith("out.mlir."):
                continue
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def journal(folder):
    """The whole lines of the one journal under `folder`."""
    top = os.path.join(folder, "journal")
    for each in os.listdir(top) if os.path.isdir(top) else []:
        path = os.path.join(top, each, "journal.jsonl")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read().rpartition(b"\n")[0]
    return b""


def main():
    shim, folder, step, *command = sys.argv[1:]
    reference = os.path.join(folder, "reference")
    os.makedirs(reference)
    code, errors, calls = search(shim, reference, command)
    if code != 0 or calls < 100:
        sys.exit(f"without a fault: exit code {code}, {calls} calls\n{errors}")
    expected = contents(reference)
    ends = {}
    tries = 0
    for number, at in enumerate(range(1, calls + 1, int(step))):
        fault = list(FAULTS)[number % len(FAULTS)]
        where = f"{FAULTS[fault]} call {at} of {calls}"
        run = os.path.join(folder, "run")
        shutil.rmtree(run, ignore_errors=True)
        os.makedirs(run)
        code, errors, _ = search(shim, run, command, fault, at)
        tries += 1
        if fault in (KILL_AFTER, KILL_TORN):
            if code != -signal.SIGKILL:
                sys.exit(f"{where}: exit code {code}\n{errors}")
        elif code not in (0, 1) or (code == 1 and run not in errors):
            sys.exit(f"{where}: exit code {code}, or an error without its place\n{errors}")
        ends[code] = ends.get(code, 0) + 1
        recorded = journal(run)
        code, errors, _ = search(shim, run, command, None)
        if code != 0:
            sys.exit(f"{where}: the next run ended with {code}\n{errors}")
        if not journal(run).startswith(recorded):
            sys.exit(f"{where}: the journal lost what it had")
        if contents(run) != expected:
            sys.exit(f"{where}: the next run came to another end")
    print(f"{tries} faults in {calls} calls: {ends.get(-signal.SIGKILL, 0)} killed, "
          f"{ends.get(1, 0)} refused, {ends.get(0, 0)} unharmed; all went on to the same end")


main()
