# ===- gpu_results.py - The table of ops on another machine -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the table of ops on a machine that has a GPU and no compiler.

    .venv/bin/python python/tests/ops/gpu_results.py pack DIR
    python3 python/tests/ops/gpu_results.py run DIR        # on the other machine
    .venv/bin/python python/tests/ops/gpu_results.py report DIR

`pack` compiles each row's program and oracle, and writes them to DIR with their
operands. `run` needs DIR, python3 with numpy, and NVIDIA's driver; it writes
DIR/results.npz. `report` compares that with the references, by the bounds of the
host's tests, and lists what deviates. `--target=host` makes the same of this
machine's processor.

Exit codes: 0 done and nothing deviates; 1 wrong use, or a row was not run; 2 a
result deviates.
"""

import argparse
import json
import math
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

#: What the folder's files mean.
FORMAT = 2
ROLES = ("program", "oracle")

# Each command imports what it needs: `run` works without mpmath and the compiler.


def pack_program(program, group, role, target, folder):
    """Compiles one program into `folder`; returns what is said of it there."""
    import numpy
    import op_jobs
    from op_launch import IMAGE, steps_for
    from op_programs import memory_type, result_kind, shape_of, to_memory

    own = folder / group / role
    own.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        workload = op_jobs.form(program, scratch, target)
        plan = None
        if target == "host":
            code = own / "kernel.so"
            op_jobs.compile_role(workload, role, code)
        else:
            code = own / "kernel.cubin"
            op_jobs.compile_role(workload, role, scratch / role)
            plan = op_jobs.assemble(scratch / role, code)
            for step in plan["steps"]:
                if "launch" in step:
                    step["launch"] = f"{IMAGE}::{step['launch']}"
    arrays, inputs = program.arrays(), []
    for place in workload.inputs:
        inputs.append(own / f"in{place}.npy")
        array = arrays[place].ravel()
        numpy.save(inputs[-1], to_memory(array, program.operands[place][1]))
    outputs = {
        output: (
            numpy.dtype(memory_type(result_kind(row, role))).str,
            math.prod(shape_of(row)),
        )
        for output, row in zip(workload.results, program.result_rows, strict=True)
    }
    # A kernel that overwrites what it reads does not name its result last: then
    # steps cannot be left out.
    whole = program.has_tensors or bool(
        plan and steps_for(plan, range(len(outputs))) != plan["steps"]
    )
    return {
        "name": f"{group}.{role}", "group": group, "role": role, "target": target,
        "digest": program.digest(), "whole": whole, "code": str(code.relative_to(folder)), "plan": plan,
        "inputs": [str(path.relative_to(folder)) for path in inputs],
        "outputs": [outputs[output] for output in range(len(outputs))],
        "results": workload.results,
        "rows": [row.name for row in program.result_rows],
    }  # fmt: skip


def pack(folder, target, groups, sample=False):
    from all_rows import GROUPS, rows_of
    from compiled import BIN
    from op_programs import Program

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.npz").unlink(missing_ok=True)
    programs = []
    for group in groups or GROUPS:
        for role in ROLES:
            program = Program(rows_of(group, role, target, sample))
            programs.append(pack_program(program, group, role, target, folder))
    if target != "host":
        shutil.copy(BIN.parent / "lib" / "libfastk_runtime.so", folder)
    manifest = {"format": FORMAT, "sample": sample, "programs": programs}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    rows = sum(len(set(program["rows"])) for program in programs)
    print(f"{len(programs)} programs of {rows} rows, {size / 2**20:.1f} MiB")


def findings(folder, results):
    """What ran, and for each role the Finding of each row: None without a result."""
    import numpy
    from all_rows import rows_of
    from op_programs import Program, compare, from_memory, result_kind

    manifest = json.loads((folder / "manifest.json").read_text())
    found = {role: {} for role in ROLES}
    with numpy.load(results) as file:
        arrays = dict(file)
    for packed in manifest["programs"]:
        role = packed["role"]
        rows = rows_of(packed["group"], role, packed["target"], manifest["sample"])
        program = Program(rows)
        if packed["digest"] != program.digest():
            sys.exit(f"{folder} is of another table: pack it again")
        values = [
            from_memory(arrays[key], result_kind(row, role)) if key in arrays else None
            for row, key in zip(
                program.result_rows,
                (f"{packed['name']}/{output}" for output in packed["results"]),
                strict=True,
            )
        ]
        for row, parts in zip(program.rows, program.by_row(values), strict=True):
            whole = all(part is not None for part in parts)
            found[role][row.name] = compare(row, parts, role) if whole else None
    return str(arrays.get("machine", "no machine")), found


def report(folder, results):
    machine, found = findings(folder, results)
    lines, missing, deviating, count = [], 0, 0, 0
    for role in ROLES:
        for name, finding in found[role].items():
            count += 1
            if finding is None:
                missing += 1
                lines.append(f"| {name} | {role} | | | | no result |")
            elif finding.deviates:
                deviating += 1
                lines.append(
                    f"| {name} | {role} | {finding.error:.3g} | {finding.limit:g} | "
                    f"{finding.wrong} | {finding.operands}: {finding.got}, not "
                    f"{finding.want} |"
                )
    if lines:
        print("| row | | ulps | allowed | beyond | worst |\n|---|---|--:|--:|--:|---|")
        print("\n".join(lines))
    print(f"{count} rows on {machine}: {deviating} deviate, {missing} without a result")
    return 2 if deviating else 1 if missing else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("pack", "run", "report"):
        command = commands.add_parser(name)
        command.add_argument("folder", metavar="DIR", type=pathlib.Path)
        if name == "pack":
            command.add_argument("--target", default="cuda:sm_90a")
            command.add_argument(
                "--group", action="append", help="one operand type; default: all"
            )
            continue
        command.add_argument(
            "--results", type=pathlib.Path, help="default: DIR/results.npz"
        )
        if name == "run":
            command.add_argument("--processes", type=int, default=4)
            command.add_argument(
                "--seconds", type=float, default=60, help="for all (default 60)"
            )
            command.add_argument(
                "--timeout", type=float, default=15, help="for one program (default 15)"
            )
    options = parser.parse_args()
    if options.command == "pack":
        return pack(options.folder, options.target, options.group)
    results = options.results or options.folder / "results.npz"
    if options.command == "report":
        return report(options.folder, results)
    from op_launch import run

    return run(
        options.folder, results, options.processes, options.seconds, options.timeout
    )


if __name__ == "__main__":
    sys.exit(main())
