"""Searches while another process searches one of the workloads, which is this script: it holds the lock
of that journal.

usage: shared_journal.py FASTK_OPT INPUTS SCRATCH
"""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading

from until_quiet import runs_until_quiet

FASTK_OPT, INPUTS, SCRATCH = sys.argv[1:]


def check(condition, message):
    if not condition:
        sys.exit(message)


def path(*names):
    return os.path.join(SCRATCH, *names)


def command(model, variants, name):
    return [FASTK_OPT, os.path.join(INPUTS, model), "--search", "--repairs=0",
            "--proposer=files:" + os.path.join(INPUTS, variants), "--budget=evaluations=10",
            f"--bank={path(name)}", "-o", path(name + ".mlir")]


def start(*arguments):
    return subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)


def folder_of(journal, word):
    """The folder of the search whose workload holds `word`."""
    for name in sorted(os.listdir(path(journal))):
        with open(path(journal, name, "journal.jsonl"), encoding="utf-8") as file:
            if word in file.readline():
                return name
    return sys.exit(f"no search of {word} in {journal}")


class Holder:
    """Holds a journal as a search does."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.file = open(os.path.join(folder, ".lock"), "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.file.write("4711\n")
        self.file.flush()

    def release(self):
        self.file.close()


def until(process, text):
    """What it says up to a line with `text`."""
    said = ""
    timer = threading.Timer(300, process.kill)
    timer.start()
    while text not in said:
        line = process.stderr.readline()
        check(line, f"it never said '{text}':\n{said}")
        said += line
    timer.cancel()
    return said


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
    subprocess.run(command("two.mlir", "files", "alone"), check=True, capture_output=True)
    relu = folder_of("alone.journal", "arith.maximumf")

    # The first of two workloads is searched elsewhere: the second one is not kept waiting.
    holder = Holder(path("both.journal", relu))
    process = start("two.mlir", "files", "both")
    said = until(process, "waiting for process 4711")
    check("relu [1/2]: process 4711 searches it at this moment: its turn comes after" in said, said)
    check(said.index("mul [2/2]\n") < said.index("relu [1/2]: waiting"), said)
    check(process.poll() is None, "it does not wait")
    holder.release()
    said = process.communicate()[1]
    check(process.returncode == 0 and "relu [1/2]\n" in said, said)
    print("others first, then this one")

    # An interrupt ends the waiting.
    holder = Holder(path("ended.journal", relu))
    process = start("two.mlir", "files", "ended")
    until(process, "waiting for process 4711")
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    check(process.returncode == 130 and "interrupted; the same command goes on" in said, said)
    holder.release()
    print("interrupted")

    # What the other one found is taken.
    model, variants = "int_matmul/model.mlir", "int_matmul/variants"
    *_, found = runs_until_quiet(command(model, variants, "found"))
    check(found.returncode == 0 and "stored in" in found.stdout, f"no winner:\n{found.stdout}")
    matmul = folder_of("found.journal", "linalg.")
    holder = Holder(path("taken.journal", matmul))
    process = start(model, variants, "taken")
    until(process, "waiting for process 4711")
    shutil.copytree(path("found"), path("taken"), dirs_exist_ok=True)
    holder.release()
    said = process.communicate()[1]
    check(process.returncode == 0 and "its winner is in the bank now" in said, said)
    check("1 workload: 1 hit" in said and "evaluation" not in said, said)
    print("taken from the bank")


main()
