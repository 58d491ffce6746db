# ===- random_programs.py - Random programs, host and GPU -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Compiles random programs and compares what they compute with their oracle in f64.

    .venv/bin/python python/tests/random_programs/random_programs.py host OUT --programs 2000
    .venv/bin/python python/tests/random_programs/random_programs.py pack OUT --programs 2000
    python3 random_programs.py run OUT/pack          # on a machine with a GPU
    .venv/bin/python python/tests/random_programs/random_programs.py report OUT

Programs have numbers, which are the seeds they are made of; OUT/rows.json keeps what was
done with which, so a run that was ended goes on, and another --first makes other ones.
`pack` compiles for a GPU on a machine that needs none; `run` needs python3 with torch,
the driver and the folder, nothing else of fastk's: python/fastk/library.py lies in it.
`report` compares what came back (OUT/pack/results.npz) and prints the table of docs.

Exit codes: 0 nothing was found; 1 wrong use; 2 a program does not compile or is wrong.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

#: Programs of one module.
MODULE = 50

# What only machines with a compiler have is imported where it is used.


def library_of(path, seed):
    if (HERE / "library.py").exists():
        from library import Library
    else:
        from fastk.library import Library
    return Library(path, f"program_{seed}")


class Rows:
    """OUT/rows.json: a row for each module and target."""

    def __init__(self, folder):
        self.path = folder / "rows.json"
        self.rows = {}
        if self.path.exists():
            self.rows = json.loads(self.path.read_text())

    def put(self, key, row):
        from fastk.importer import files

        self.rows[key] = row
        text = json.dumps(self.rows, indent=0, sort_keys=True) + "\n"
        files.write_all({os.fspath(self.path): text})


def commit():
    made = subprocess.run(
        ["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=9"],
        text=True, capture_output=True,
    )  # fmt: skip
    return made.stdout.strip() or "unknown"


def prepare(folder, first, count):
    """The programs of a module with their oracle and conditions, and a first row."""
    import random_functions

    folder.mkdir(parents=True, exist_ok=True)
    functions = random_functions.split(random_functions.text_of(first, count))
    libraries = {}
    for role in random_functions.ROLES:
        library = folder / f"{role}.so"
        seeds = random_functions.compile_role(functions, role, library)
        libraries[role] = dict.fromkeys(seeds, library)
    row = {"first": first, "programs": count, "commit": commit(),
           "date": datetime.date.today().isoformat(), "with_conditions":
           len(libraries["condition"]), "findings": []}  # fmt: skip
    return functions, libraries, row


def references(libraries, seed, law, operands):
    """What the oracle and the conditions are for these operands."""
    want = library_of(libraries["oracle"][seed], seed)(*operands)
    condition = None
    if seed in libraries["condition"]:
        condition = library_of(libraries["condition"][seed], seed)(*operands)
    return want, condition


def compare_program(seed, law, text, signature, got, want, condition):
    """Findings of one program on one law, and counts."""
    import judge

    counts, findings = {"judged": 0, "masked": 0}, []
    for place, (one, exact, each) in enumerate(zip(got, want, signature["outputs"])):
        found = judge.compare(
            each["dtype"], one, exact, condition[place] if condition else None,
            judge.narrowest(text),
        )  # fmt: skip
        counts["judged"] += found.judged
        counts["masked"] += found.masked
        if found.wrong:
            findings.append({"program": seed, "law": law, "result": place, "wrong":
                             found.wrong, "of": one.numel(), "reason": found.reason,
                             "conditions": condition is not None})  # fmt: skip
    return counts, findings


def add(row, counts):
    for name, count in counts.items():
        row[name] = row.get(name, 0) + count


def run_on_host(folder, first, count, winners_from="here"):
    """A module on this machine's processor; returns its row."""
    import inputs
    import random_functions

    start = time.monotonic()
    functions, libraries, row = prepare(folder, first, count)
    own, failed = random_functions.largest_that_compile(
        functions, "host", folder / "host.so", winners_from)  # fmt: skip
    row["findings"] += [{"program": seed, "reason": said} for seed, said in failed.items()]
    for seed, path in own.items():
        library = library_of(path, seed)
        for law in inputs.LAWS:
            operands = inputs.draw(seed, law, library.signature["inputs"])
            want, condition = references(libraries, seed, law, operands)
            counts, findings = compare_program(
                seed, law, functions[seed], library.signature, library(*operands),
                want, condition)  # fmt: skip
            add(row, counts)
            row["findings"] += findings
    row["seconds"] = round(time.monotonic() - start, 1)
    shutil.rmtree(folder)
    return row


def in_a_process(folder, first, count, winners_from):
    """run_on_host, where a crash costs one module."""
    done = subprocess.run(
        [sys.executable, __file__, "module", folder, "--first", str(first),
         "--programs", str(count), "--winners-from", winners_from],
        text=True, capture_output=True,
    )  # fmt: skip
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if count == 1:
        return {"first": first, "programs": 1, "commit": commit(), "findings": [
            {"program": first, "reason": f"exit code {done.returncode}: "
             + done.stderr.strip()[-300:]}]}  # fmt: skip
    # Down to the one that does it.
    half = count // 2
    rows = [in_a_process(folder, first, half, winners_from),
            in_a_process(folder, first + half, count - half, winners_from)]  # fmt: skip
    for name in ("judged", "masked", "seconds", "with_conditions"):
        rows[0][name] = rows[0].get(name, 0) + rows[1].get(name, 0)
    rows[0]["findings"] += rows[1]["findings"]
    return rows[0] | {"programs": count}


def modules(options):
    last = options.first + options.programs
    return [(first, min(MODULE, last - first)) for first in range(options.first, last, MODULE)]


def host(options):
    rows = Rows(options.folder)
    start = time.monotonic()
    by = "" if options.winners_from == "here" else f" {options.winners_from}"
    wanted = [each for each in modules(options) if f"host {each[0]}{by}" not in rows.rows]

    def one(each):
        if options.seconds and time.monotonic() > start + options.seconds:
            return None
        return in_a_process(
            options.folder / f"host-{each[0]}", *each, options.winners_from)  # fmt: skip

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for each, row in zip(wanted, pool.map(one, wanted)):
            if row:
                rows.put(f"host {each[0]}{by}", row)
                print(f"{each[0]}: {row['programs']} programs, "
                      f"{len(row['findings'])} findings, {row.get('seconds', 0)} s",
                      flush=True)  # fmt: skip
    return report_rows(rows)


def pack(options):
    """Compiles modules for a GPU into OUT/pack."""
    import random_functions
    from compiled import BIN

    folder = options.folder / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"modules": []}

    def one(each):
        first, count = each
        functions = random_functions.split(random_functions.text_of(first, count))
        own, failed = random_functions.largest_that_compile(
            functions, options.target, folder / f"{first}.so", options.winners_from)  # fmt: skip
        return {"first": first, "programs": count, "commit": commit(),
                "failed": {str(seed): said for seed, said in failed.items()},
                "libraries": {str(seed): path.name for seed, path in own.items()}}  # fmt: skip

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for each in pool.map(one, modules(options)):
            manifest["modules"].append(each)
            print(f"{each['first']}: {len(each['libraries'])} compile", flush=True)
    for text in folder.glob("*.mlir"):
        text.unlink()
    shutil.rmtree(folder / "no-winners", ignore_errors=True)
    for path in (BIN.parent / "lib" / "libfastk_runtime.so", HERE / "inputs.py",
                 HERE / "random_programs.py",
                 HERE.parents[1] / "fastk" / "library.py"):  # fmt: skip
        shutil.copy(path, folder)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    print(f"{len(manifest['modules'])} modules, {size / 2**20:.1f} MiB in {folder}")
    return 0


def run(options):
    """Runs a pack on a GPU: results and what the machine is, into results.npz."""
    import numpy
    import torch

    os.environ.setdefault("FASTK_RUNTIME", str(options.folder / "libfastk_runtime.so"))
    manifest = json.loads((options.folder / "manifest.json").read_text())
    arrays, start = {}, time.monotonic()

    def one(module):
        """A module in a process of its own: a fault on a GPU ends all that its process
        does there."""
        if options.seconds and time.monotonic() > start + options.seconds:
            return {}
        name = str(module["first"])
        path = options.folder / f"{name}.npz"
        try:
            done = subprocess.run(
                [sys.executable, __file__, "run-module", options.folder, "--first", name],
                text=True, capture_output=True, timeout=300,
            )  # fmt: skip
            why = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            why = "did not end in 300 s"
        if not path.exists():
            print(f"{name}: {why}", flush=True)
            return {}
        with numpy.load(path) as file:
            made = {key: file[key] for key in file.files}
        path.unlink()
        return made

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for made in pool.map(one, manifest["modules"]):
            arrays |= made
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem",
         "--format=csv,noheader"], text=True, capture_output=True,
    )  # fmt: skip
    machine = f"{said.stdout.strip()}, torch {torch.__version__}"
    arrays["machine"] = numpy.array(machine)
    numpy.savez_compressed(options.folder / "results.npz", **arrays)
    ran = len({key.split("/")[0] for key in arrays}) - 1
    print(f"{ran} programs on {machine}, in {time.monotonic() - start:.1f} s")
    return 0


def run_module(options):
    import inputs
    import numpy
    import torch

    manifest = json.loads((options.folder / "manifest.json").read_text())
    (module,) = [m for m in manifest["modules"] if m["first"] == options.first]
    arrays = {}
    for seed, name in module["libraries"].items():
        with library_of(options.folder / name, seed) as library:
            for law in inputs.LAWS:
                operands = inputs.draw(int(seed), law, library.signature["inputs"])
                arrays[f"{seed}/{law}/inputs"] = numpy.array(inputs.digest(operands))
                results = library(*[each.cuda() for each in operands])
                torch.cuda.synchronize()
                for place, each in enumerate(results):
                    arrays[f"{seed}/{law}/{place}"] = inputs.bytes_of(each)
    numpy.savez(options.folder / f"{options.first}.npz", **arrays)
    return 0


def compare_packed(options, rows):
    """Results of a GPU against the oracle of this host: rows of target cuda."""
    import inputs
    import numpy

    folder = options.folder / "pack"
    if not (folder / "results.npz").exists():
        return
    manifest = json.loads((folder / "manifest.json").read_text())
    with numpy.load(folder / "results.npz") as file:
        arrays = {key: file[key] for key in file.files}
    for module in manifest["modules"]:
        first = module["first"]
        scratch = options.folder / f"gpu-{first}"
        functions, libraries, row = prepare(scratch, first, module["programs"])
        row["commit"], row["machine"] = module["commit"], str(arrays["machine"])
        row["findings"] = [{"program": int(seed), "reason": said}
                           for seed, said in module["failed"].items()]  # fmt: skip
        for seed in map(int, module["libraries"]):
            signature = signature_of(functions[seed])
            for law in inputs.LAWS:
                operands = inputs.draw(seed, law, signature["inputs"])
                key = f"{seed}/{law}"
                drawn = arrays.get(f"{key}/inputs")
                if drawn is None or int(drawn) != inputs.digest(operands):
                    why = "did not run" if drawn is None else "drew other operands"
                    row["findings"].append({"program": seed, "law": law, "reason": why})
                    continue
                got = [inputs.from_bytes(arrays[f"{key}/{place}"], want)
                       for place, want in enumerate(signature["outputs"])]  # fmt: skip
                want, condition = references(libraries, seed, law, operands)
                counts, findings = compare_program(
                    seed, law, functions[seed], signature, got, want, condition)  # fmt: skip
                add(row, counts)
                row["findings"] += findings
        shutil.rmtree(scratch)
        rows.put(f"cuda {first}", row)


def signature_of(text):
    """Of a program for a GPU, whose library cannot be loaded here."""
    arguments, results = re.match(r"func\.func @\w+\((.*?)\) -> \((.*?)\) {", text).groups()

    def types(names):
        found = re.findall(r"tensor<((?:\d+x)*)(\w+)>", names)
        return [{"dtype": kind, "shape": [int(n) for n in shape.split("x")[:-1]]}
                for shape, kind in found]  # fmt: skip

    return {"inputs": types(arguments), "outputs": types(results)}


def report_rows(rows):
    print("\n| target | programs | results judged, masked | with conditions | findings |")
    print("|---|--:|--:|--:|--:|")
    found = []
    for target in ("host", "cuda"):
        some = [row for key, row in rows.rows.items() if key.startswith(target + " ")]
        if not some:
            continue
        total = {name: sum(row.get(name, 0) for row in some)
                 for name in ("programs", "judged", "masked", "with_conditions")}  # fmt: skip
        findings = [each for row in some for each in row["findings"]]
        found += findings
        wrong = len({each["program"] for each in findings})
        print(f"| {target} | {total['programs']:,} | {total['judged']:,}, {total['masked']:,} "
              f"| {total['with_conditions']:,} | {wrong} |")  # fmt: skip
    for each in found:
        print(json.dumps(each))
    return 2 if found else 0


def report(options):
    rows = Rows(options.folder)
    compare_packed(options, rows)
    return report_rows(rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("command", choices=["host", "pack", "run", "report", "module",
                                            "run-module"])  # fmt: skip
    parser.add_argument("folder", type=pathlib.Path, help="where results are kept")
    parser.add_argument("--first", type=int, default=0, help="the first program (default 0)")
    parser.add_argument("--programs", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--target", default="cuda:sm_90a", help="of pack")
    parser.add_argument("--winners-from", default="here", metavar="LIST",
                        help="as of fastk-opt: family compiles what families serve by "
                             "them (default here; the bank is empty)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time (default 1)")
    parser.add_argument("--seconds", type=float, help="begin no module after so long")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.folder = options.folder.resolve()
    if options.command == "module":
        print(json.dumps(run_on_host(
            options.folder, options.first, options.programs, options.winners_from)))  # fmt: skip
        return 0
    commands = {"host": host, "pack": pack, "run": run, "report": report,
                "run-module": run_module}  # fmt: skip
    return commands[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
