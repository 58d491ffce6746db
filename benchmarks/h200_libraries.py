# ===- h200_libraries.py - Compiled models on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs libraries of `fastk-opt --target=cuda:sm_90a --emit=so` beside torch.

    python3 benchmarks/h200_libraries.py LIBRARIES [--time NAME...] [-o PAGE.md]

LIBRARIES holds NAME.so for golden inputs (python/fastk/importer/golden.py has the
models of those names). Each is called on the model's own weights and inputs, through
libfastk_runtime on torch's stream, and

* compared with the model in float64 on the same GPU: the largest error relative to
  the root mean square, at most 1e-4; where results are f16, 8 roundings more, or torch
  eager's own error in f16 where that is larger;
* captured into a CUDA graph on a stream that it was only prepared for, replayed on
  new values, and compared with a plain call bit for bit;
* timed, where --time names it: 512 MB are written before every call, which empties
  the L2 cache; contenders take turns in random order; medians of CUDA events.
  torch runs at its default precision flags.

Needs a GPU, its driver and torch; FASTK_RUNTIME names libfastk_runtime.so. Exit codes:
0 done; 1 wrong use, or something could not be run; 2 a result was wrong.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
from statistics import median

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
BEGIN = "<!-- numbers: written by benchmarks/h200_libraries.py, do not edit -->"
END = "<!-- end of numbers -->"
FLUSH_BYTES = 512 << 20


def load(path, name):
    """A module of its own: the importer around golden.py wants torch-mlir."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = load(ROOT / "python/fastk/importer/golden.py", "golden")
library = load(ROOT / "python/fastk/library.py", "library")


class Model:
    """A golden model, its library, and the arguments of both."""

    def __init__(self, path):
        self.name = path.stem
        torch.manual_seed(1)
        self.module, inputs = getattr(golden, self.name)()
        self.module = self.module.cuda()
        self.inputs = [x.cuda() for x in inputs]
        about = ROOT / f"test/Inputs/golden/{self.name}.mlir.json"
        state = {**dict(self.module.named_parameters())}
        state.update(self.module.named_buffers())
        rest = iter(self.inputs)
        self.arguments = []
        for argument in json.loads(about.read_text())["arguments"]:
            own = argument["role"] != "input"
            value = state[argument["name"]] if own else next(rest)
            self.arguments.append(value.detach().contiguous())
        self.library = library.Library(path)

    def eager(self):
        with torch.no_grad():
            result = self.module(*self.inputs)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def exact(self):
        """In float64. The model stays as it is."""
        import copy

        module = copy.deepcopy(self.module).double()
        inputs = [x.double() if x.is_floating_point() else x for x in self.inputs]
        with torch.no_grad():
            result = module(*inputs)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def errors(self):
        """Ours, torch's, and the limit: the worst of all results."""
        ours, theirs, limit = 0.0, 0.0, 1e-4
        results = zip(self.library(*self.arguments), self.eager(), self.exact())
        for got, torchs, want in results:
            torch.cuda.synchronize()
            if not want.is_floating_point():
                ours = max(ours, 0.0 if torch.equal(got, want) else float("inf"))
                continue
            half = got.dtype in (torch.float16, torch.bfloat16)
            scale = want.double().square().mean().sqrt().clamp_min(1e-300)
            error, other = (
                ((x.double() - want).abs().max() / scale).item() for x in (got, torchs)
            )
            ours = max(ours, error if error == error else float("inf"))
            theirs = max(theirs, other)
            if half:
                roundoff = 2**-11 if got.dtype == torch.float16 else 2**-8
                limit = max(limit, 1e-4 + 8 * roundoff, other)
        return ours, theirs, limit

    def capture(self):
        """A graph of the first call on a stream, without a call before it."""
        stream = torch.cuda.Stream()
        results = self.library.empty("cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            self.library.prepare()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self.library(*self.arguments, out=results)
        return graph, results

    def same_in_graph(self, graph, results):
        """Whether a replay gives the bits of a call, also on other values."""
        data = [x for x in self.arguments if x.is_floating_point()]
        with torch.no_grad():
            for scale in (1.0, 0.5):
                for tensor in data[-1:]:
                    tensor.mul_(scale)
                for result in results:
                    result.reshape(-1).view(torch.uint8).fill_(0xFF)
                graph.replay()
                plain = self.library(*self.arguments)
                torch.cuda.synchronize()
                for got, want in zip(results, plain):
                    bits = (x.reshape(-1).view(torch.uint8) for x in (got, want))
                    if not torch.equal(*bits):
                        return False
        return True


def time_all(calls, rounds, flushed):
    """Contender -> milliseconds of each round."""
    times = {name: [] for name in calls}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    order = list(calls)
    for number in range(rounds + 3):
        random.shuffle(order)
        for name in order:
            flushed.zero_()
            begin.record()
            calls[name]()
            end.record()
            end.synchronize()
            if number >= 3:
                times[name].append(begin.elapsed_time(end))
    return times


def time_model(model, graph, rounds, flushed):
    results = model.library.empty("cuda")
    calls = {
        "fastk": lambda: model.library(*model.arguments, out=results),
        "fastk, CUDA graph": graph.replay,
        "torch eager": model.eager,
    }
    model.eager()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model.eager()
    torch.cuda.synchronize()
    eager_graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(eager_graph, stream=stream):
        model.kept = model.eager()
    calls["torch eager, CUDA graph"] = eager_graph.replay
    return time_all(calls, rounds, flushed)


def describe_machine():
    query = "name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu"
    smi = subprocess.run(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return (
        f"{smi.stdout.strip()} (name, driver, SM and memory clock, power, temperature "
        f"after the run); torch {torch.__version__}, CUDA {torch.version.cuda}, Python "
        f"{sys.version.split()[0]}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("--time", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--commit", default="", help="what the libraries were made by")
    parser.add_argument("-o", dest="page", type=pathlib.Path)
    options = parser.parse_args()
    paths = sorted(options.libraries.glob("*.so"))
    paths = [path for path in paths if path.stem in golden.NAMES]
    if not paths:
        sys.exit(f"{options.libraries} holds no library of a golden input")
    flushed = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    checks, timings, wrong, broken = [], [], 0, 0
    for path in paths:
        try:
            model = Model(path)
            ours, theirs, limit = model.errors()
            graph, results = model.capture()
            same = model.same_in_graph(graph, results)
        except (library.Error, RuntimeError) as error:
            broken += 1
            print(f"{path.stem}: error: {error}", flush=True)
            checks.append(f"| {path.stem} | error: {str(error)[:200]} | | | |")
            continue
        good = ours <= limit and same
        wrong += not good
        checks.append(
            f"| {model.name} | {ours:.1e} | {theirs:.1e} | {limit:.1e} | "
            f"{'same bits' if same else 'DIFFERS'} |{'' if good else ' WRONG'}"
        )
        print(checks[-1], flush=True)
        if model.name in options.time:
            times = time_model(model, graph, options.rounds, flushed)
            eager = median(times["torch eager"])
            row = [f"{median(times[each]):.4f}" for each in times]
            row.append(f"{median(times['fastk']) / eager:.2f}")
            workspace = model.library.signature["workspace"] / 2**20
            timings.append(
                f"| {model.name} | " + " | ".join(row) + f" | {workspace:.1f} |"
            )
            print(timings[-1], flush=True)
        del model, graph, results
        torch.cuda.empty_cache()
    command = " ".join(["python3", "benchmarks/h200_libraries.py", *sys.argv[1:]])
    text = [
        BEGIN,
        "",
        "<!-- not-run: needs a GPU -->",
        "```console",
        f"$ {shlex.join(shlex.split(command))}",
        "```",
        "",
        f"{datetime.date.today()}, commit {options.commit}. {describe_machine()}. "
        f"{options.rounds} rounds.",
        "",
        "| model | fastk ms | in a CUDA graph | torch eager | eager in a CUDA graph | "
        "fastk / eager | workspace MiB |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *timings,
        "",
        f"{len(paths)} libraries, {wrong} wrong, {broken} not run. Largest error relative "
        "to the root mean square of the model in float64:",
        "",
        "| model | fastk | torch eager | limit | graph against call |",
        "|---|--:|--:|--:|---|",
        *checks,
        "",
        END,
    ]
    if options.page:
        before, after = "", ""
        if options.page.exists() and BEGIN in options.page.read_text():
            old = options.page.read_text()
            before, after = old.split(BEGIN)[0], old.split(END)[1]
        options.page.write_text(before + "\n".join(text) + after)
    sys.exit(2 if wrong else 1 if broken else 0)


if __name__ == "__main__":
    main()
