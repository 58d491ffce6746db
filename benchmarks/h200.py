# ===- h200.py - Operators on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times GPU programs beside torch, in one process and one run.

    python3 benchmarks/h200.py PROGRAMS [--rounds=50] [-o docs/benchmarks/h200.md]

PROGRAMS holds a folder per operator (softmax, layernorm, matmul_f32, ...), and in it a
folder per contender: `winner`, `default`, as `fastk-opt --compile-kernel=program
--target=cuda:sm_90a ... -o FOLDER` writes them, or one with the model as library.so, of
`fastk-opt --emit=so`, for what is cut into several programs; libfastk_runtime.so is then
that of FASTK_RUNTIME. Beside them run torch eager,
torch.compile and torch.compile with max-autotune, all at torch's default precision
flags, attention by cuDNN and flash attention, too, and the winner once more as A/A control.
Operands are in the order of the
workload; where FOLDER/operands.json is, that says which of torch's they are. The models are
those of test/Inputs/golden
of the same names; `elementwise` is that of h200_models.py.

Before every timed call 512 MB are written, which empties the L2 cache; inputs rotate
over three sets at different addresses; contenders take turns in random order; printed
are medians of CUDA events. Each result is compared with torch in float64 on N(0,1), and
must not be farther off than 4 times torch's own error in the same type.

Needs a GPU, its driver and torch; NVRTC where a program is CUDA-C. Exit codes: 0 done;
1 wrong use, or something could not be run; 2 a result was wrong.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import time
import typing

import attention
import cuda_program
import h200_models
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
BEGIN = "<!-- numbers: written by benchmarks/h200.py, do not edit -->"
END = "<!-- end of numbers -->"
SETS = 3
FLUSH_BYTES = 512 << 20


@dataclasses.dataclass(frozen=True)
class Specification:
    """What torch computes, on operands of which shapes, and what is asked for."""

    reference: typing.Callable
    shapes: typing.List[typing.Tuple[int, ...]]
    #: Milliseconds of a winner.
    bar: typing.Optional[float] = None
    #: Time of the default lowering, in torch eager's.
    default_bar: typing.Optional[float] = None
    dtype: torch.dtype = torch.float32
    #: Further ways of torch to compute it, by name.
    others: dict = dataclasses.field(default_factory=dict)

    def asked(self):
        parts = []
        if self.bar:
            parts.append(f"a winner in {self.bar:g} ms")
        if self.default_bar:
            parts.append(f"the default lowering in {self.default_bar:g} of eager's time")
        return ", asked: " * bool(parts) + ", ".join(parts)


def layer_norm(x, weight, bias):
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)


def convolution(x, bias, weight):
    return torch.nn.functional.conv2d(x, weight, bias, stride=4, padding=2)


def convolution_relu_maxpool(x, bias, weight):
    y = torch.relu(convolution(x, bias, weight))
    return torch.nn.functional.max_pool2d(y, 3, 2)


OPERATORS = {
    "softmax": Specification(
        lambda x: torch.softmax(x, 1), [(4096, 65536)], 0.60, 1.2
    ),
    "layernorm": Specification(
        layer_norm, [(16, 64, 256, 256), (64, 256, 256), (64, 256, 256)], 0.22, 1.2
    ),
    "matmul_f32": Specification(
        torch.matmul, [(4096, 4096), (4096, 4096)], 1.5, 1.6
    ),
    "matmul_f16": Specification(
        torch.matmul, [(4096, 4096), (4096, 4096)], None, 2.5, torch.float16
    ),
    "conv2d": Specification(
        convolution, [(100, 3, 224, 224), (96,), (96, 3, 11, 11)], None, 3
    ),
    "conv2d_relu_maxpool": Specification(
        convolution_relu_maxpool, [(100, 3, 224, 224), (96,), (96, 3, 11, 11)]
    ),
    "attention_f16": Specification(
        torch.nn.functional.scaled_dot_product_attention,
        [(4, 32, 4096, 128)] * 3,
        dtype=torch.float16,
        others={
            name: attention.by_backend(
                torch.nn.functional.scaled_dot_product_attention, attention.BACKENDS[name]
            )
            for name in ("cuDNN", "flash")
        },
    ),
    "elementwise": Specification(
        h200_models.gated, [(4096, 16384), (16384,)], None, 0.6
    ),
}


class Operator:
    """One operator with its contenders."""

    def __init__(self, name, specification, folder, compile_torch, left=lambda: 1.0):
        self.name = name
        self.specification = specification
        self.reference = self.specification.reference
        self.sets = [
            [
                torch.randn(s, device="cuda", dtype=self.specification.dtype)
                for s in self.specification.shapes
            ]
            for _ in range(SETS)
        ]
        self.outputs = [
            torch.empty_like(self.reference(*inputs)) for inputs in self.sets
        ]
        self.calls = {}
        self.keep = []
        for contender in sorted(folder.iterdir()):
            if (contender / "plan.json").exists():
                self.calls[contender.name] = self.bind(contender)
            elif (contender / "library.so").exists():
                self.calls[contender.name] = self.bind_library(contender)
        if "winner" in self.calls:
            self.calls["winner again (A/A)"] = self.calls["winner"]
        self.calls["torch eager"] = lambda i: self.reference(*self.sets[i])
        for other, function in specification.others.items():
            try:
                function(*self.sets[0])
            except RuntimeError:
                continue  # It does not take the operands.
            self.calls[f"torch {other}"] = lambda i, f=function: f(*self.sets[i])
        if compile_torch:
            for label, mode, least in (
                ("torch.compile", "default", 0.15),
                ("torch.compile max-autotune", "max-autotune-no-cudagraphs", 0.5),
            ):
                if left() < least:
                    continue
                torch._dynamo.reset()
                compiled = torch.compile(self.reference, mode=mode, dynamic=False)
                for inputs in self.sets:
                    compiled(*inputs)
                self.calls[label] = lambda i, f=compiled: f(*self.sets[i])

    def bind(self, folder):
        program = cuda_program.Program(folder)
        order = range(len(self.specification.shapes))
        if (folder / "operands.json").exists():
            order = json.loads((folder / "operands.json").read_text())
        workspaces = [
            torch.full((count,), 255, dtype=torch.uint8, device="cuda")
            for count in program.workspace_bytes()
        ]
        runs = [
            program.bind(
                [inputs[i].data_ptr() for i in order],
                [output.data_ptr()],
                [w.data_ptr() for w in workspaces],
            )
            for inputs, output in zip(self.sets, self.outputs)
        ]
        self.keep.append((program, workspaces))

        def call(i):
            runs[i](torch.cuda.current_stream().cuda_stream)
            return self.outputs[i]

        return call

    def bind_library(self, folder):
        from fastk.library import Library

        library = Library(folder / "library.so")
        order = json.loads((folder / "operands.json").read_text())

        def call(i):
            library(*(self.sets[i][j] for j in order), out=[self.outputs[i]])
            return self.outputs[i]

        return call

    def check(self):
        """Contender -> largest error and Frobenius error, and whether they pass."""
        exact = self.reference(*[x.double() for x in self.sets[0]])
        scale = exact.abs() + exact.abs().mean(-1, keepdim=True)

        def errors(result):
            difference = (result.double() - exact).abs()
            return (
                (difference / scale).max().item(),
                (difference.norm() / exact.norm()).item(),
            )

        result_type = self.outputs[0].dtype
        theirs = errors(self.calls["torch eager"](0))
        found = {}
        for name, call in self.calls.items():
            if name.startswith("torch") or name.endswith("(A/A)"):
                continue
            self.outputs[0].fill_(float("nan"))
            mine = errors(call(0))
            right = (
                mine[0] <= 4 * theirs[0] + 2 * torch.finfo(result_type).eps
                and mine[1] <= 2 * theirs[1] + torch.finfo(result_type).eps
            )
            found[name] = (*mine, right)
        found["torch eager"] = (*theirs, True)
        return found

    def time(self, rounds, flush):
        """Contender -> sorted milliseconds."""
        samples = {name: [] for name in self.calls}
        for number in range(rounds + 3):
            order = list(self.calls)
            random.shuffle(order)
            for name in order:
                flush.fill_(number % 251)
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                self.calls[name](number % SETS)
                end.record()
                if number >= 3:
                    samples[name].append((begin, end))
            torch.cuda.synchronize()
        return {
            name: sorted(a.elapsed_time(b) for a, b in events)
            for name, events in samples.items()
        }


def describe(rounds):
    smi = subprocess.run(
        [
            "nvidia-smi",
            "--query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu",
            "--format=csv,noheader",
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    commit = os.environ.get("FASTK_COMMIT", "") or subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    script = "benchmarks/" + os.path.basename(sys.argv[0])
    command = shlex.join(["python3", script, *sys.argv[1:]])
    return (
        f"<!-- not-run: needs a GPU -->\n```console\n$ {command}\n```\n\n"
        f"{datetime.date.today().isoformat()}, commit {commit or 'unknown'}. "
        f"{smi} (name, driver, SM and memory clock, power, temperature after the run); "
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN "
        f"{torch.backends.cudnn.version()}, Python {sys.version.split()[0]}. {rounds} rounds."
    )


def table(operator, times, errors):
    rows = [
        f"### {operator.name}{operator.specification.asked()}",
        "",
        "| contender | median ms | p10 | p90 | best torch / it | it / eager | largest error | Frobenius |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]

    def median(name):
        return times[name][len(times[name]) // 2]

    best = min(median(name) for name in times if name.startswith("torch"))
    for name in sorted(times, key=median):
        values = times[name]
        error = errors.get(name)
        rows.append(
            f"| {name} | {median(name):.4f} | {values[len(values) // 10]:.4f} "
            f"| {values[len(values) * 9 // 10]:.4f} | {best / median(name):.2f}× "
            f"| {median(name) / median('torch eager'):.2f} "
            + (f"| {error[0]:.2g} | {error[1]:.2g} |" if error else "| – | – |")
        )
    return "\n".join(rows)


def write_page(path, text):
    """Puts the text between the page's marks."""
    page = pathlib.Path(path)
    whole = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = whole.partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument(
        "--no-compile", action="store_true", help="leave torch.compile out"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=1e9,
        help="seconds: when half of them are over, max-autotune is left out, at 0.85 "
        "torch.compile, and at 0.95 the rest",
    )
    parser.add_argument("-o", "--output", help="the page to put the tables into")
    options = parser.parse_args()
    begin = time.time()

    def left():
        return 1 - (time.time() - begin) / options.budget

    if not torch.cuda.is_available():
        print("h200.py: error: torch sees no GPU", file=sys.stderr)
        return 1
    folders = [options.programs / name for name in OPERATORS]
    folders = [folder for folder in folders if folder.is_dir()]
    if not folders:
        print(
            f"h200.py: error: {options.programs} holds none of {', '.join(OPERATORS)}",
            file=sys.stderr,
        )
        return 1
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    parts, wrong = [], []
    for folder in folders:
        start = time.time()
        name = folder.name
        if left() < 0.05:
            print(f"{name}: left out, --budget is spent", flush=True)
            continue
        try:
            operator = Operator(name, OPERATORS[name], folder, not options.no_compile, left)
            errors = operator.check()
        except Exception as error:
            print(f"h200.py: error: {name}: {error}", file=sys.stderr, flush=True)
            wrong.append(f"{name}: {error}")
            continue
        wrong += [f"{folder.name}: {n}" for n, e in errors.items() if not e[2]]
        parts.append(table(operator, operator.time(options.rounds, flush), errors))
        print(parts[-1], f"\n{time.time() - start:.0f} s\n", flush=True)
        del operator
        torch.cuda.empty_cache()
    text = describe(options.rounds) + "\n\n" + "\n\n".join(parts) + "\n"
    print(text)
    if options.output:
        write_page(options.output, text)
    for each in wrong:
        print(f"h200.py: wrong result: {each}", file=sys.stderr)
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
