"""Stores a winner, with the tool, where others store it too, where nobody may, and where it does not fit.

One real search fills a journal; what follows replays copies of it, so that nothing is measured again
and every run comes to the moment of storing. The model is a product of integers, for which the
default lowering is far from the variant given: there is a winner once the machine is quiet for a moment.

usage: bank_writes.py FASTK_OPT FASTK_BANK INPUTS SAMPLE_BANK SCRATCH
"""
import ctypes
import os
import shutil
import subprocess
import sys

from until_quiet import runs_until_quiet

FASTK_OPT, FASTK_BANK, INPUTS, SAMPLE, SCRATCH = sys.argv[1:]
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def path(*names):
    return os.path.join(SCRATCH, *names)


def check(condition, message):
    if not condition:
        sys.exit(message)


def command(bank, journal):
    """A search that stores into `bank`."""
    return [FASTK_OPT, os.path.join(INPUTS, "model.mlir"), "--search", f"--bank={path(bank)}",
            f"--journal={path(journal)}", "--budget=evaluations=5", "-o", path(journal + ".mlir"),
            "--proposer=files:" + os.path.join(INPUTS, "variants")]


def start(bank, journal, **options):
    """That search as a process."""
    return subprocess.Popen(command(bank, journal), stderr=subprocess.PIPE, text=True, **options)


def copy_of_journal(name):
    shutil.rmtree(path(name), ignore_errors=True)
    shutil.copytree(path("measured"), path(name))
    return name


def read(name):
    with open(name, "rb") as file:
        return file.read()


def content(folder):
    """Every file below `folder`, hidden ones too, with its bytes; but for the lock, which holds the
    process that took it last."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in files:
            if name == ".lock":
                continue
            found[os.path.relpath(os.path.join(parent, name), folder)] = read(
                os.path.join(parent, name))
        for name in folders:
            found[os.path.relpath(os.path.join(parent, name), folder) + "/"] = b""
    return found


def verdicts(journal):
    return sum(text.count(b'"type":"evaluation"')
               for name, text in content(path(journal)).items() if name.endswith("journal.jsonl"))


def expect_one_winner(bank):
    check(len(os.listdir(path(bank, "host"))) == 1, f"not one winner: {os.listdir(path(bank, 'host'))}")
    check(not [n for n in os.listdir(path(bank)) if n.startswith(".tmp")], "debris was left")
    subprocess.run([FASTK_BANK, "verify", path(bank)], check=True)


def two_at_once():
    for attempt in range(5):
        shutil.rmtree(path("shared"), ignore_errors=True)
        both = [start("shared", copy_of_journal(f"writer{i}")) for i in (1, 2)]
        for process in both:
            errors = process.communicate()[1]
            check(process.returncode == 0, f"exit {process.returncode}:\n{errors}")
            check("1 workload: 1 hit" in errors, errors)
        expect_one_winner("shared")
        check(read(path("writer1.mlir")) == read(path("writer2.mlir")), "outputs differ")
    print("two writers: one winner")


def refused(what, bank, journal, **options):
    """The winner cannot be stored: says so, changes nothing, and loses nothing."""
    before = content(path(bank))
    process = start(bank, journal, **options)
    errors = process.communicate()[1]
    check(process.returncode == 1, f"{what}: exit {process.returncode}:\n{errors}")
    check(content(path(bank)) == before, f"{what}: the bank changed: {content(path(bank)).keys()}")
    check(verdicts(journal) == verdicts("measured"), f"{what}: the journal lost verdicts")
    check(not os.path.exists(path(journal + ".mlir")), f"{what}: an output was written")
    print(f"{what}:")
    print(*[line for line in errors.splitlines()
            if line.startswith(("fastk-opt: error:", "nothing that", "the search has"))], sep="\n")


def without_root():
    """Makes root obey permissions, as others do."""
    if os.geteuid() == 0:
        check(ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0,
              "cannot drop CAP_DAC_OVERRIDE")


def permit(bank, mode):
    for parent, _, _ in os.walk(path(bank), topdown=False):
        os.chmod(parent, mode)


def full_disk():
    """The environment of a process that finds no room in the folder "small"."""
    library = path("full_disk.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "full_disk.c")
    subprocess.run(["clang-22", "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    return {**os.environ, "LD_PRELOAD": library}


def main():
    if os.path.isdir(path("read-only")):
        permit("read-only", 0o755)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
    *_, first = runs_until_quiet(command("first", "measured"))
    check(first.returncode == 0 and "stored in" in first.stdout, f"no winner:\n{first.stdout}")
    two_at_once()

    for name in ("read-only", "small"):
        shutil.copytree(SAMPLE, path(name))
        os.chmod(path(name), 0o755)
    permit("read-only", 0o555)
    refused("read-only", "read-only", copy_of_journal("read-only.journal"),
            preexec_fn=without_root)
    permit("read-only", 0o755)
    refused("full", "small", copy_of_journal("small.journal"), env=full_disk())

    # With room again the same commands store it, and measure nothing.
    for bank in ("read-only", "small"):
        process = start(bank, bank + ".journal")
        errors = process.communicate()[1]
        check(process.returncode == 0 and "stored in" in errors, errors)
        check(verdicts(bank + ".journal") == verdicts("measured"), "it was measured again")
    print("stored afterwards")


main()
