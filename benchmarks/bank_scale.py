# ===- bank_scale.py - What a large bank costs a compile -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what a bank of very many winners costs a compile.

    python3 benchmarks/bank_scale.py --winners=10000,1000000 --folder=DIR

A bank is made of winners for products of other sizes than anybody's, in the places where a
spread bank has them, and of one for the first workload of the models of many_keys.py. All
of them hold: keys, patterns, seals and digests are right, and `fastk-bank verify` reads a
sample. Their program is one and the same, which nobody runs.

Then `fastk-opt` compiles models of one and of 101 workloads with a bank of that one winner
and with this one, in turns: what is printed are medians of the differences, of whole
processes. As root the bank lies on a file system of its own, in a file: cold is when that
has just been mounted and nothing of it is in memory; what is not the bank stays as it is.
FASTK_OPT and FASTK_BANK name the programs. A million winners take 10 GB.
"""

import argparse
import hashlib
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FASTK_OPT = os.environ.get("FASTK_OPT", "fastk-opt")
FASTK_BANK = os.environ.get("FASTK_BANK", "fastk-bank")
CPUS = pathlib.Path("/proc/cpuinfo")
MANY_KEYS = pathlib.Path(__file__).with_name("many_keys.py")
WORKLOADS = (1, 101)
#: How many names a file has at most on ext4, rounded down.
MOST_LINKS = 60000

PROGRAM = "void fastk_kernel(void) {} // Stands for a program; nobody runs it.\n"
RECORD = """record = {baseline_ns = 4.000000e+03 : f64, bitwise_deterministic = true, idea = {
    category = "memory access", id = "test/packed", text = "Both operands are packed into panels that fit the cache.",
    title = "packed panels"}, machine = "%(machine)s", cpu = "", mlir_version = "22.1.8", name = "product",
    shapes = "%(m)dx%(k)dxf16_%(k)dx%(n)dxf16", threads = %(threads)d : i64, evaluations = 120 : i64, fastk_version = "0.1.0",
    speedup = {high = 4.100000e+00 : f64, low = 3.900000e+00 : f64, median = 4.000000e+00 : f64},
    time = {median_ns = 1.000000e+03 : f64, p10_ns = 9.900000e+02 : f64, p90_ns = 1.100000e+03 : f64}}"""


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def output_of(*command, given=None):
    return subprocess.run(
        list(map(str, command)), text=True, capture_output=True, check=True, input=given
    ).stdout


class Winners:
    """Prints winners for products of any size, after one that fastk has printed."""

    def __init__(self):
        model = output_of(sys.executable, MANY_KEYS, 1)
        passes = ["--fastk-form-workloads", "--fastk-lower-workloads"]
        command = [FASTK_OPT, *passes, "--mlir-print-local-scope", "-"]
        plain = output_of(*command, given=model)
        generic = output_of(*command, "--mlir-print-op-generic", given=model)
        m, k = map(int, re.search(r"%a0: tensor<(\d+)x(\d+)xf16>", model).groups())
        n = int(re.search(r"%b0: tensor<\d+x(\d+)xf16>", model)[1])
        cpu = re.search(r"^model name\s*: (.*)$", CPUS.read_text(), re.M)[1]
        self.here = {"machine": cpu, "threads": len(os.sched_getaffinity(0))}
        #: Of the models' first workload.
        self.sizes = (m, n, k)
        assert len({m, n, k}) == 3
        lowering = re.search(r"^  fastk\.lowering .*?^  }$", plain, re.M | re.S)[0]
        self.key = re.search(r"key = \"(\w+)\"", lowering)[1]
        pattern = re.search(r"pattern {\n.*", lowering, re.S)[0]
        self.pattern = self.template(pattern.replace("\n  ", "\n"))
        self.serialized = self.template(self.region_of(generic))
        assert self.printed(*self.sizes)[0] == self.key, "the key is made otherwise"

    def template(self, text):
        """With the sizes of its tensors to be filled in."""
        names = {str(size): name for size, name in zip(self.sizes, "mnk", strict=True)}

        def fill(tensor):
            return re.sub(r"(?<=[<x])\d+(?=x)", lambda size: f"%({names[size[0]]})d", tensor[0])

        return re.sub(r"tensor<[^>]*>", fill, text.replace("%", "%%"))

    def region_of(self, module):
        """The pattern as its key is made of it (lib/Dialect/Fastk/Key.cpp)."""
        region = re.search(
            r"^( *)\"fastk\.lowering\".*\n *\^bb0\((.*)\):\n((?:.*\n)*?)\1}", module, re.M
        )
        indent = len(region[1]) + 2
        body = [line[indent:] for line in region[3].splitlines()]
        return f"({region[2]})\n" + "\n".join(body) + "\n"

    def printed(self, m, n, k):
        """The key of a product with a ReLU, and its lowering.mlir."""
        sizes = {"m": m, "n": n, "k": k} | self.here
        key, digest = sha256(self.serialized % sizes), sha256(PROGRAM)
        seal = sha256(f"{key}\nhost\nieee\nc\n0\n{digest}\n")
        text = f"""// RUN: fastk-opt %s
fastk.lowering @w_{key[:16]} attributes {{
  digest = "{digest}",
  file = "kernel.c",
  format_version = 1 : i64,
  key = "{key}",
  language = #fastk.language<c>,
  precision = #fastk.precision<ieee>,
  {RECORD % sizes},
  seal = "{seal}",
  target = "host",
  workspace = 0 : i64
}} {self.pattern % sizes}
"""
        return key, text

    def write(self, bank, sizes, program):
        """Into the bank, where a spread one has it; its folder."""
        key, text = self.printed(*sizes)
        m, n, k = sizes
        place = f"{bank}/host/reductions-1/{key[:3]}"
        folder = f"{place}/product-{m}x{k}xf16_{k}x{n}xf16-{key[:8]}"
        try:
            os.mkdir(folder)
        except FileNotFoundError:
            os.makedirs(folder)
        with open(f"{folder}/lowering.mlir", "w") as file:
            file.write(text)
        os.link(program, f"{folder}/kernel.c")
        return folder


def other_sizes(number):
    """Of no workload of many_keys.py, whose sizes are multiples of 8."""
    return 2 * (number // 10000) + 3, 2 * (number // 100 % 100) + 3, 2 * (number % 100) + 3


def write_part(job):
    """Winners of these numbers; a thousandth of their folders."""
    winners, bank, numbers = job
    sample = []
    program = pathlib.Path(bank, f".program-{numbers.start}")
    program.write_text(PROGRAM)
    for number in numbers:
        folder = winners.write(bank, other_sizes(number), program)
        if number % 1000 == 0:
            sample.append(folder)
    program.unlink()
    return sample


def make_bank(winners, bank, count):
    """So many winners and the models'; the folders of some."""
    os.makedirs(bank)
    step = max(1, min(MOST_LINKS, count // (4 * os.cpu_count())))
    jobs = [
        (winners, str(bank), range(start, min(start + step, count)))
        for start in range(0, count, step)
    ]
    with multiprocessing.Pool() as pool:
        sample = [folder for part in pool.map(write_part, jobs, 1) for folder in part]
    program = bank / ".program"
    program.write_text(PROGRAM)
    winners.write(bank, winners.sizes, program)
    program.unlink()
    return sample


def verify(bank, sample, place):
    """Whether these winners hold, where they lie."""
    random.Random(1).shuffle(sample)
    for folder in sample[:100]:
        shutil.copytree(folder, place / pathlib.Path(folder).relative_to(bank))
    return output_of(FASTK_BANK, "verify", place).strip().splitlines()[-1]


class Place:
    """A folder for banks, as root on a file system of its own."""

    def __init__(self, folder, count):
        self.folder, self.can_be_cold = folder / "place", os.geteuid() == 0
        self.folder.mkdir()
        if not self.can_be_cold:
            return
        self.image = folder / "image"
        self.image.touch()
        os.truncate(self.image, 200 * 10**6 + 9500 * count)
        inodes = 10000 + 2 * count + count // 50
        options = ["-b", "4096", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
        output_of("mkfs.ext4", "-q", "-F", "-N", inodes, *options, self.image)
        self.mount()

    def mount(self):
        output_of("mount", "-o", "loop", self.image, self.folder)

    def chill(self):
        """Leaves nothing of it in memory."""
        self.unmount()
        with open(self.image, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.mount()

    def reads(self):
        """How often its disk was read; 0 where it has none of its own."""
        device = os.stat(self.folder).st_dev
        stat = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
        return int(pathlib.Path(stat).read_text().split()[0]) if self.can_be_cold else 0

    def unmount(self):
        output_of("umount", self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.can_be_cold:
            self.unmount()


def size_of(folder):
    """Bytes on the disk, and files."""
    names = output_of("find", folder, "-type", "f", "-printf", ".")
    return int(output_of("du", "-s", "--block-size=1", folder).split()[0]), len(names)


def seconds(command):
    """Of the wall and of the processor, and what the program said last."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return (wall, processor), ran.stderr.strip().splitlines()[-1]


def compare(model, place, runs, cold):
    """For wall and processor, in seconds, and reads of the disk the median with the small
    bank and the median of what the large one takes more, each pair of runs by itself; and
    what was said."""
    times = {"small": [], "bank": []}
    for _ in range(runs):
        for each, taken in times.items():
            if cold:
                place.chill()
            bank = f"--bank={place.folder / each}"
            command = [FASTK_OPT, model, bank, "-o", "/dev/null"]
            before = place.reads()
            once, said = seconds(command)
            taken.append((*once, place.reads() - before))
    results = []
    for alone, among in zip(zip(*times["small"]), zip(*times["bank"])):
        longer = [b - a for a, b in zip(alone, among, strict=True)]
        results.append((statistics.median(alone), statistics.median(longer)))
    return results, said


def measure(arguments, winners, count, folder):
    with Place(folder, count) as place:
        start = time.perf_counter()
        make_bank(winners, place.folder / "small", 0)
        sample = make_bank(winners, place.folder / "bank", count)
        os.sync()
        taken = time.perf_counter() - start
        size, files = size_of(place.folder / "bank")
        said = verify(place.folder / "bank", sample, folder / "sample")
        print(f"  made in {taken:.0f} s; of a sample: {said}", file=sys.stderr)
        for workloads in WORKLOADS:
            model = folder / f"{workloads}.mlir"
            model.write_text(output_of(sys.executable, MANY_KEYS, workloads))
            for cold in (False, True) if place.can_be_cold else (False,):
                [wall, processor, reads], said = compare(model, place, arguments.runs, cold)
                print(
                    f"| {count:,} | {size / 1e9:.2f} GB | {files:,} | {workloads} |"
                    f" {'cold' if cold else 'warm'} | {1e3 * wall[0]:.0f} |"
                    f" {1e3 * wall[1]:+.1f} | {1e3 * processor[1]:+.1f} | {reads[1]:+.0f} |",
                    flush=True,
                )
                print(f"  {said}; load {os.getloadavg()[0]:.1f}", file=sys.stderr)


def alone():
    """As root goes on where nobody else sees what is mounted: who did would keep it."""
    if os.geteuid() == 0 and "FASTK_ALONE" not in os.environ:
        os.environ["FASTK_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def main():
    alone()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--winners", default="10000,1000000")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    winners = Winners()
    print("| winners | on the disk | files | workloads | caches | one winner, ms | longer, ms | of it processor, ms | reads more |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for count in map(int, arguments.winners.split(",")):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            os.environ["FASTK_CACHE_DIR"] = f"{name}/cache"
            measure(arguments, winners, count, pathlib.Path(name))


if __name__ == "__main__":
    main()
