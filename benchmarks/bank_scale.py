# ===- bank_scale.py - What a large bank costs a compile -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what a bank of very many winners costs a compile.

    python3 benchmarks/bank_scale.py WINNER MODEL --winners=10000,1000000 --folder=DIR

WINNER is the folder of a winner, MODEL a model for its target. A bank is made of copies
of it under keys that nobody has, in the places where a spread bank has them, and of the
winner itself. Then `fastk-opt MODEL` runs with a bank of that winner alone and with this one, in
turns: what is printed are medians of the differences, of whole processes, warm and, where
the script may drop the system's caches (root), cold. FASTK_OPT names fastk-opt.
"""

import argparse
import hashlib
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

FASTK_OPT = os.environ.get("FASTK_OPT", "fastk-opt")
DROP_CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def make_bank(folder, winner, count):
    """Copies of `winner` with keys of their own; the folder of the target."""
    target = folder / winner.parent.name
    text = (winner / "lowering.mlir").read_text()
    key = re.search(r"\bkey = \"([0-9a-f]{64})\"", text)[1]
    program = re.search(r"\bfile = \"([^\"]+)\"", text)[1]
    reductions = len(
        re.findall(r"iterator_types = \[[^\]]*\"reduction\"[^\]]*\]", text)
    )
    for number in range(count):
        other = hashlib.sha256(str(number).encode()).hexdigest()
        place = target / f"reductions-{reductions}" / other[:3]
        copy = place / winner.name.replace(key[:8], other[:8])
        if copy.exists():  # Of another key that begins alike.
            copy = place / winner.name.replace(key[:8], other[:16])
        copy.mkdir(parents=True)
        (copy / "lowering.mlir").write_text(text.replace(key, other))
        # A file system allows so many names of one file.
        source = target / f".programs-{number // 30000}"
        if not source.exists():
            shutil.copy(winner / program, source)
        (copy / program).hardlink_to(source)
    place = target / f"reductions-{reductions}" / key[:3]
    shutil.copytree(winner, place / winner.name)


def size_of(folder):
    """Bytes on the disk, and files."""
    blocks = subprocess.run(
        ["du", "-s", "--block-size=1", folder],
        text=True,
        capture_output=True,
        check=True,
    )
    names = subprocess.run(
        ["find", folder, "-type", "f"], text=True, capture_output=True, check=True
    )
    return int(blocks.stdout.split()[0]), names.stdout.count("\n")


def seconds(command, cold):
    """Of the wall and of the processor, and what the program said last."""
    if cold:
        os.sync()
        DROP_CACHES.write_text("2\n")  # Folders and inodes.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return (wall, processor), ran.stderr.strip().splitlines()[-1]


def compare(arguments, bank, small, cold):
    """For wall and processor the median with the small bank and the median of what this
    one takes longer, each pair of runs by itself, in seconds; and what was said."""
    times = {small: [], bank: []}
    for _ in range(arguments.runs):
        for each, taken in times.items():
            command = [FASTK_OPT, arguments.model, f"--target={arguments.target}"]
            command += [f"--bank={each}", "-o", "/dev/null"]
            once, said = seconds(command, cold)
            taken.append(once)
    results = []
    for alone, among in zip(zip(*times[small]), zip(*times[bank])):
        longer = [b - a for a, b in zip(alone, among, strict=True)]
        results.append((statistics.median(alone), statistics.median(longer)))
    return results, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("winner", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--winners", default="10000,1000000")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    may_be_cold = os.access(DROP_CACHES, os.W_OK)
    print("| winners | on the disk | files | caches | one winner, ms | longer, ms | of it processor, ms |")
    print("|---|---|---|---|---|---|---|")
    for count in map(int, arguments.winners.split(",")):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            bank, small = pathlib.Path(name, "bank"), pathlib.Path(name, "small")
            make_bank(small, arguments.winner, 0)
            make_bank(bank, arguments.winner, count)
            size, files = size_of(bank)
            for cold in (False, True) if may_be_cold else (False,):
                [wall, processor], said = compare(arguments, bank, small, cold)
                print(
                    f"| {count} | {size / 1e9:.2f} GB | {files} |"
                    f" {'cold' if cold else 'warm'} | {1e3 * wall[0]:.0f} |"
                    f" {1e3 * wall[1]:+.1f} | {1e3 * processor[1]:+.1f} |",
                    flush=True,
                )
            print(f"  {said}", flush=True)


if __name__ == "__main__":
    main()
