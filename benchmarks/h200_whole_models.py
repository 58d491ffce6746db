# ===- h200_whole_models.py - Whole models on a GPU, beside Inductor -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times whole models in f16, compiled by fastk alone, beside torch.compile.

    python3 benchmarks/h200_whole_models.py make LIBRARIES [--bank=DIR] [MODEL...]
    python3 benchmarks/h200_whole_models.py time LIBRARIES [--rounds=60] [-o PAGE.md]

The models are those of whole_models.py, in f16 and at the batches of
docs/benchmarks/torch-compile.md, with random weights.

`make` needs no GPU: it imports each and compiles it with --winners-from=family, weights
as arguments. LIBRARIES/MODEL.so is the library, MODEL.mlir.json says what its arguments
are, MODEL.txt what fastk-opt said, the workloads that no family serves among it.

`time` needs a GPU, its driver, torch and transformers; FASTK_RUNTIME names
libfastk_runtime.so. Each model has a process of its own. They draw weights, let Inductor
compile and check results side by side, and are timed one after the other, while nothing
else runs. Each contender is captured into a CUDA graph, and the graph is replayed; fastk
and torch.compile are also called as they are. 512 MB are written before every call, which
empties the L2 cache; contenders take turns in random order; medians of CUDA events. The
ratio is torch.compile's time over ours, both in graphs, with the interval of 95 % of its
median; torch.compile's graph is replayed twice a round, and its ratio to itself is the
noise.

Errors are the largest difference to the model in f64 on the same GPU, relative to the root
mean square; right is at most twice torch's worse one, or eight roundings.

Exit codes: 0 done; 1 wrong use, or something could not be run; 2 a result was wrong.
"""

import argparse
import copy
import json
import operator
import os
import pathlib
import random
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(pathlib.Path(__file__).parent)]

#: Name in whole_models.py -> how often its example is repeated.
BATCHES = {"gpt2": 8, "bert_base": 8, "llama": 8, "resnet50": 32, "unet_stage": 4}
GRAPH = " in a graph"
OURS, PEER, AGAIN, EAGER = "fastk", "torch.compile", "torch.compile again", "eager"
#: Of --budget, until when a model has to be ready to be timed.
READY = 0.65


def model(name, batch):
    """What the importer calls: the function that makes a model and its inputs."""

    def build():
        import torch
        import whole_models

        torch.manual_seed(1)
        module, inputs = getattr(whole_models, name)()

        def repeated(tensor):
            tensor = tensor.half() if tensor.is_floating_point() else tensor
            return tensor.repeat(batch, *[1] * (tensor.dim() - 1))

        return module.half(), tuple(map(repeated, inputs))

    return build


MODELS = {name: model(name, batch) for name, batch in BATCHES.items()}
globals().update(MODELS)


def make(options):
    from fastk import importer

    options.libraries.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.models or MODELS:
        start = time.monotonic()
        folder = options.libraries
        source, library = folder / f"{name}.mlir", folder / f"{name}.so"
        library.unlink(missing_ok=True)
        try:
            imported = importer.import_file(f"{__file__}:{name}", progress=False)
        except importer.ImporterError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            failed += 1
            continue
        imported.write(str(source))
        seconds = time.monotonic() - start
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as empty:
            command = [options.fastk_opt, source, "--target=cuda:sm_90a"]
            command += [f"--bank={options.bank or empty}", "--winners-from=family"]
            command += [f"--precision={options.precision}", "--explain-miss"]
            done = subprocess.run(
                [*command, "--emit=so", "-o", library],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        said = done.stderr.strip()
        (folder / f"{name}.txt").write_text(said + "\n")
        failed += bool(done.returncode)
        print(
            f"{name}: imported in {seconds:.0f} s, compiled in "
            f"{time.monotonic() - start:.0f} s: {said.splitlines()[-1] if said else ''}",
            flush=True,
        )
    return 1 if failed else 0


def summary(text):
    """Workloads and those that a family serves, as fastk-opt ends."""
    all_of = re.search(r"(\d+) workloads?: (\d+) hits?", text)
    by_family = re.search(r"(\d+) by a family", text)
    return (
        int(all_of[1]) if all_of else 0,
        (int(all_of[2]) if all_of else 0) + (int(by_family[1]) if by_family else 0),
    )


class Model:
    """A model on the GPU, its library, and what Inductor makes of it."""

    def __init__(self, name, folder):
        import torch
        from fastk.library import Library

        self.name = name
        module, inputs = MODELS[name]()
        self.module = module.cuda()
        self.inputs = [each.cuda() for each in inputs]
        self.library = Library(folder / f"{name}.so")
        sidecar = json.loads((folder / f"{name}.mlir.json").read_text())
        rest = iter(self.inputs)
        self.arguments = [
            next(rest)
            if each["role"] == "input"
            else operator.attrgetter(each["name"])(self.module).detach().contiguous()
            for each in sidecar["arguments"]
        ]
        self.outputs = [each["role"] == "output" for each in sidecar["results"]]
        self.results = self.library.empty("cuda")
        self.compiled = torch.compile(self.module, dynamic=False)

    def ours(self):
        got = self.library(*self.arguments, out=self.results)
        return [each for each, is_output in zip(got, self.outputs) if is_output]

    def errors(self):
        """Contender -> its error; and whether ours is right."""
        import torch
        from torch_compile import tensors_of

        wide = [x.double() if x.is_floating_point() else x for x in self.inputs]
        exact = tensors_of(copy.deepcopy(self.module).double()(*wide))
        found = {}
        for name, call in (
            (OURS, self.ours),
            (PEER, lambda: tensors_of(self.compiled(*self.inputs))),
            (EAGER, lambda: tensors_of(self.module(*self.inputs))),
        ):
            worst = 0.0
            for got, want in zip(call(), exact, strict=True):
                scale = want.square().mean().sqrt().clamp_min(1e-300)
                error = ((got.double() - want).abs().max() / scale).item()
                worst = max(worst, error if error == error else float("inf"))
            found[name] = worst
        limit = max(2 * found[PEER], 2 * found[EAGER], 8 * torch.finfo(torch.half).eps)
        return found, found[OURS] <= limit

    def contenders(self):
        """Name -> call. Also keeps what graphs write into."""
        import torch

        calls, self.kept = {}, []
        for name, call in (
            (OURS, self.ours),
            (PEER, lambda: self.compiled(*self.inputs)),
            (EAGER, lambda: self.module(*self.inputs)),
        ):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                if name == OURS:
                    self.library.prepare()
                else:
                    for _ in range(3):
                        call()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                self.kept.append(call())
            calls[name + GRAPH] = graph.replay
            if name != EAGER:
                calls[name] = call
        calls[AGAIN + GRAPH] = calls[PEER + GRAPH]
        return calls

    def is_same_in_graph(self, replay):
        """Whether a replay gives the bits of a call."""
        import torch

        called = [each.clone() for each in self.ours()]
        for each in self.results:
            each.reshape(-1).view(torch.uint8).fill_(0xFF)
        replay()
        torch.cuda.synchronize()
        return all(
            torch.equal(a.view(torch.int16), b.view(torch.int16))
            for a, b in zip(called, self.kept[0])
        )


def times_of(calls, rounds):
    """Contender -> milliseconds of each round."""
    import h200
    import torch

    flush = torch.empty(h200.FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in calls}
    order = list(calls)
    for number in range(rounds + 5):
        random.shuffle(order)
        for name in order:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.fill_(number % 251)
            begin.record()
            calls[name]()
            end.record()
            end.synchronize()
            if number >= 5:  # the first warm up
                times[name].append(begin.elapsed_time(end))
    return times


def child(options):
    """Prepares one model, says so, and times it when it is told to."""
    import torch

    answer = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what models print is no answer
    (name,) = options.models
    with torch.no_grad():
        made = Model(name, options.libraries)
        errors, is_right = made.errors()
        print(json.dumps({"ready": errors}), file=answer)
        if not sys.stdin.readline():
            return 1
        calls = made.contenders()
        same = made.is_same_in_graph(calls[OURS + GRAPH])
        times = times_of(calls, options.rounds)
    workspace = made.library.signature["workspace"]
    row = {"name": name, "errors": errors, "right": is_right, "same": same}
    print(json.dumps({**row, "workspace": workspace, "times": times}), file=answer)
    answer.flush()
    os._exit(0)  # Inductor's helpers are no reason to wait


class Process:
    """A child, and what it answers."""

    def __init__(self, name, options):
        self.name, self.buffer = name, b""
        self.errors = tempfile.TemporaryFile()
        command = [sys.executable, __file__, "time", options.libraries, name, "--child"]
        self.process = subprocess.Popen(
            [*command, f"--rounds={options.rounds}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True,
            env={"TORCHINDUCTOR_COMPILE_THREADS": "3", **os.environ},
        )  # fmt: skip

    def answer(self, until):
        """The next line as JSON; raises RuntimeError where none comes."""
        stream = self.process.stdout
        while b"\n" not in self.buffer:
            # What has come by then counts, also where another was waited for.
            left = max(until - time.monotonic(), 0)
            if not select.select([stream], [], [], left)[0]:
                raise RuntimeError("out of time")
            data = os.read(stream.fileno(), 1 << 16)
            if not data:
                self.errors.seek(0)
                said = self.errors.read().decode(errors="replace").splitlines()
                said = [line.strip() for line in said if line.strip(" ^~")]
                raise RuntimeError("; ".join(said[-3:])[-600:] or "it ended")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def go(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def time_models(options):
    start = time.monotonic()
    end = start + (options.budget or 1e9)
    names = [
        name for name in options.models or MODELS
        if (options.libraries / f"{name}.so").is_file()
    ]  # fmt: skip
    if not names:
        print(f"error: {options.libraries} holds no library of a model", file=sys.stderr)
        return 1
    rows, failed = [], {}
    running = {name: Process(name, options) for name in names}

    def said(text):
        print(f"[{time.monotonic() - start:.0f} s] {text}", flush=True)

    try:
        for name, process in running.items():
            try:
                ready = process.answer(start + READY * (end - start))["ready"]
                said(f"{name} is ready, errors {ready}")
            except RuntimeError as error:
                failed[name] = f"not ready: {error}"
                process.end()
        for name, process in running.items():
            if name in failed:
                said(f"{name}: {failed[name]}")
                continue
            try:
                process.go()
                rows.append(process.answer(end))
                said(line_of(rows[-1], options))
            except (RuntimeError, OSError) as error:
                failed[name] = str(error)
                said(f"{name}: {error}")
            process.end()
            write(rows, failed, options)
    finally:
        for process in running.values():
            process.end()
    print(write(rows, failed, options))
    if any(not row["right"] for row in rows):
        return 2
    return 1 if failed else 0


def ratio_of(row, over, under):
    """The median and its 95 % interval."""
    import host

    pairs = zip(row["times"][over + GRAPH], row["times"][under + GRAPH])
    found = host.interval([a / b for a, b in pairs])
    return found["median"], found["low"], found["high"]


def line_of(row, options):
    medians = {name: statistics.median(times) for name, times in row["times"].items()}
    order = [OURS + GRAPH, PEER + GRAPH, EAGER + GRAPH, OURS, PEER]
    cells = [f"{medians[name]:.3f}" for name in order]
    cells.insert(3, "{:.3f} ({:.3f} to {:.3f})".format(*ratio_of(row, PEER, OURS)))
    _, low, high = ratio_of(row, AGAIN, PEER)
    cells.insert(4, f"{low:.3f} to {high:.3f}")
    cells += [f"{row['errors'][name]:.1e}" for name in (OURS, PEER, EAGER)]
    text = (options.libraries / f"{row['name']}.txt").read_text()
    count, served = summary(text)
    notes = ("" if row["right"] else " WRONG") + ("" if row["same"] else " DIFFERS")
    return (
        f"| {row['name']}, {BATCHES[row['name']]} | {count} | {served} | "
        + " | ".join(cells) + f" | {row['workspace'] / 2**20:.0f} |{notes}"
    )  # fmt: skip


def write(rows, failed, options):
    """The page of what there is, and every time as JSON beside it."""
    import h200

    lines = [
        h200.describe(options.rounds),
        "",
        "| model, batch | workloads | by families | fastk, ms | torch.compile | eager | ratio "
        "| torch.compile to itself | fastk, called | torch.compile, called | error: fastk "
        "| torch.compile | eager | workspace MiB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(line_of(row, options) for row in rows),
        "",
        *(f"{name} failed: {reason}" for name, reason in failed.items()),
    ]
    if rows:
        ratios = [ratio_of(row, PEER, OURS)[0] for row in rows]
        mean = statistics.geometric_mean(ratios)
        lines.append(f"{len(rows)} models: geometric mean {mean:.3f}, least {min(ratios):.3f}.")
    text = "\n".join(lines)
    if options.output:
        h200.write_page(options.output, text)
        pathlib.Path(options.output).with_suffix(".json").write_text(json.dumps(rows))
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("action", choices=("make", "time"))
    add("libraries", type=pathlib.Path)
    add("models", nargs="*", metavar="MODEL", help=f"default: {', '.join(MODELS)}")
    add("--fastk-opt", default=os.environ.get("FASTK_OPT") or "fastk-opt")
    add("--bank", help="winners of searches; default: none")
    add("--precision", default="ieee", help="as of fastk-opt (default: ieee)")
    add("--rounds", type=int, default=60)
    add("--budget", type=float, help="seconds of `time`; what is not done then is left out")
    add("-o", "--output", help="the page to put the table into; its times go beside it")
    add("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"there is no model {name}; there are {', '.join(MODELS)}")
    if options.action == "make":
        return make(options)
    return child(options) if options.child else time_models(options)


if __name__ == "__main__":
    sys.exit(main())
