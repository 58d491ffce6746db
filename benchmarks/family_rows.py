# ===- family_rows.py - What families give for rows of a table -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the benchmarks of families have in common: families.py, reductions.py,
attention.py.

`make` needs no GPU: each row is compiled with --winners-from=family. Where the bank has
no winner, what is timed is the first choice of a family, which nobody has measured. It
writes PROGRAMS/ROW/{first,winner}/{plan.json,kernel.*}. `make --text=DIR` writes the rows
as DIR/ROW.mlir and no more, to be searched.

`time` needs a GPU, its driver, torch and NVRTC. The protocol is that of h200.py: 512 MB
are written before every call, three sets of operands, contenders in random order,
medians of CUDA events, results compared with torch in float64. The ratio is torch's
best over ours.

Exit codes: 0 done; 1 wrong use, or something could not be run; 2 a result was wrong.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

#: What fastk-opt says of a workload, and what is made of it.
MADE = {"1 by a family, unproved": "first", "1 workload: 1 hit,": "winner"}


@dataclasses.dataclass
class Row:
    #: The workload as MLIR, when it is wanted.
    text: typing.Callable
    #: What torch computes of operands of these shapes, and its dtype by fastk's name.
    reference: typing.Callable
    shapes: list
    kind: str
    #: Ratios are averaged by it.
    group: str
    #: What a call does, in 10^12 of the unit.
    work: float
    unit: str
    #: torch.compile is a contender, too.
    is_compiled: bool = True
    #: Further ways of torch to compute it, by name; one that fails is left out.
    others: dict = dataclasses.field(default_factory=dict)


def _make(options, chosen):
    for number, (name, row) in enumerate(chosen.items(), 1):
        if options.text:
            options.text.mkdir(parents=True, exist_ok=True)
            (options.text / f"{name}.mlir").write_text(row.text())
            continue
        print(f"[{number}/{len(chosen)}] {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as work:
            source, applied = pathlib.Path(work, "row.mlir"), pathlib.Path(work, "applied.mlir")
            source.write_text(row.text())
            common = [options.fastk_opt, "--target=cuda:sm_90a", f"--precision={options.precision}"]
            said = subprocess.run(
                [*common, source, f"--bank={options.bank or work + '/bank'}"]
                + ["--winners-from=family", "--fusion=whole", "-o", applied],
                capture_output=True,
                text=True,
                check=False,
            )
            made = [what for text, what in MADE.items() if text in said.stderr]
            if not said.returncode and "1 workload: 0 hits, 1 miss" in said.stderr:
                print(f"{name}: left out, no family serves it", file=sys.stderr)
                continue
            if said.returncode or len(made) != 1:
                print(f"error: {name}: {said.stderr}", file=sys.stderr)
                return 1
            folder = options.programs / name / made[0]
            folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [*common, applied, "--compile-kernel=program", "-o", folder], check=True
            )
            (folder / "operands.json").write_text(json.dumps(_order(applied.read_text())))
    return 0


def _order(applied):
    """Which arguments of the function the workload's operands are, in their order."""
    (operands,) = re.findall(r"fastk\.call @\w+\(([^)]*)\)", applied)
    return [int(each.removeprefix("%arg")) for each in operands.split(", ")]


def _time_rows(options, chosen):
    import h200
    import torch

    # In the class of ours; its convolutions round f32 by default.
    torch.backends.cuda.matmul.allow_tf32 = options.precision != "ieee"
    kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    flush = torch.empty(h200.FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    lines, wrong, ratios = [], [], {}
    unit = next(iter(chosen.values())).unit
    for name, row in chosen.items():
        folder = options.programs / name
        if not folder.is_dir():
            continue
        specification = h200.Specification(
            row.reference, row.shapes, dtype=kinds[row.kind], others=row.others
        )
        operator = h200.Operator(name, specification, folder, row.is_compiled)
        errors = operator.check()
        wrong += [f"{name}: {n}" for n, e in errors.items() if not e[2]]
        times = operator.time(options.rounds, flush)
        medians = {n: values[len(values) // 2] for n, values in times.items()}
        theirs = min((time, n) for n, time in medians.items() if n.startswith("torch"))
        (mine,) = (n for n in MADE.values() if n in medians)
        ratio = theirs[0] / medians[mine]
        ratios.setdefault(row.group, []).append(ratio)
        lines.append(
            f"| {name} | {mine} | {medians[mine]:.4f} | {1e3 * row.work / medians[mine]:.3g} "
            f"| {theirs[0]:.4f} | {theirs[1].removeprefix('torch ')} "
            f"| {ratio:.2f} | {errors[mine][0]:.2g} | {errors['torch eager'][0]:.2g} |"
        )
        print(lines[-1], flush=True)
        del operator
        torch.cuda.empty_cache()
    head = [
        f"| row | is | family, ms | {unit} | torch's best, ms | which | ratio "
        "| largest error | torch's |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    means = [
        f"Geometric mean of {len(each)} ratios, {group}: "
        f"{math.exp(sum(map(math.log, each)) / len(each)):.3f}; least {min(each):.2f}."
        for group, each in ratios.items()
    ]
    text = "\n".join([h200.describe(options.rounds), "", *head, *lines, "", *means])
    print(text)
    if options.output:
        h200.write_page(options.output, text)
    for each in wrong:
        print(f"wrong result: {each}", file=sys.stderr)
    return 2 if wrong else 0


def main(description, every):
    """Runs `make` or `time` for rows by name."""
    parser = argparse.ArgumentParser(
        description=f"{description}\n\n{__doc__.partition(chr(10))[2].strip()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("make", "time"))
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="default: all")
    parser.add_argument("--fastk-opt", default="fastk-opt")
    parser.add_argument("--bank", help="winners of searched rows; default: none")
    parser.add_argument(
        "--precision",
        default="ieee",
        choices=("ieee", "tf32", "half"),
        help="the loosest class accepted; default: ieee",
    )
    parser.add_argument(
        "--text", type=pathlib.Path, metavar="DIR", help="write the rows there and no more"
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("-o", "--output", help="the page to put the table into")
    options = parser.parse_intermixed_args()
    for name in options.rows:
        if name not in every:
            parser.error(f"there is no row {name}; rows are {', '.join(every)}")
    chosen = {name: every[name] for name in options.rows or every}
    return (_make if options.action == "make" else _time_rows)(options, chosen)
