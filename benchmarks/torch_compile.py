# ===- torch_compile.py - Models under torch.compile, fastk's and Inductor's -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures torch.compile(model, backend="fastk") beside Inductor, on a GPU or the host.

    PYTHONPATH=python python3 benchmarks/torch_compile.py run MODEL... --out rows.jsonl
    python3 benchmarks/torch_compile.py table rows.jsonl

MODEL is FILE.py:FUNCTION, whose result is (module, inputs), or a file as KernelBench has
them: Model, get_inputs and get_init_inputs. Each is run by a process of its own. Times of
calls are taken in turns, as duels' are (docs/pytorch.md); those of
first calls in new processes, with empty caches and with those that a process before has
filled.
FASTK_OPT, FASTK_BANK and the like are as in docs/pytorch.md.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def load(spec, options):
    """(module, inputs) of a model on the device, in its type and batch."""
    path, _, function = spec.partition(":")
    found = importlib.util.spec_from_file_location("model", path)
    code = importlib.util.module_from_spec(found)
    sys.path.insert(0, str(pathlib.Path(path).parent))
    sys.modules["model"] = code  # by which Dynamo finds its classes
    torch.manual_seed(0)
    found.loader.exec_module(code)
    if function:
        module, inputs = getattr(code, function)()
    else:
        module, inputs = code.Model(*code.get_init_inputs()), code.get_inputs()
    dtype = DTYPES[options.dtype]

    def move(value):
        if not isinstance(value, torch.Tensor):
            return value
        value = value.to(options.device)
        value = value.to(dtype) if value.is_floating_point() else value
        return value.repeat(options.batch, *[1] * (value.dim() - 1))

    return module.eval().to(options.device, dtype), tuple(map(move, inputs))


def synchronize(options):
    if options.device == "cuda":
        torch.cuda.synchronize()


def first_call(spec, options):
    """Seconds from torch.compile to its first result; in a process of its own."""
    if options.backend == "fastk":
        import fastk.dynamo  # noqa: F401
    module, inputs = load(spec, options)
    torch.zeros(1, device=options.device)
    synchronize(options)
    start = time.perf_counter()
    with torch.no_grad():
        torch.compile(module, backend=options.backend)(*inputs)
        synchronize(options)
    return {"seconds": time.perf_counter() - start}


class Watch:
    """What fastk does with a model: its workloads, and the ops that are in its graphs."""

    def __init__(self, backend):
        self.workloads, self.ops = [], []
        self.ask, self.rewrite = backend.compiler.workloads_of, backend.rewrite
        backend.compiler.workloads_of = self.workloads_of
        backend.rewrite = self.rewritten

    def workloads_of(self, *arguments):
        found = self.ask(*arguments)
        self.workloads += found
        return found

    def rewritten(self, *arguments, **keywords):
        module = self.rewrite(*arguments, **keywords)
        for node in module.graph.nodes:
            if getattr(node.target, "namespace", "") == "fastk":
                self.ops.append(node.target.name().partition("::")[2])
        return module


def tensors_of(result):
    from torch.utils import _pytree

    leaves = _pytree.tree_leaves(result)
    return [each for each in leaves if isinstance(each, torch.Tensor)]


def error_of(got, wanted):
    """The largest difference of two results, relative to the wanted one's largest."""
    worst = 0.0
    for ours, theirs in zip(tensors_of(got), tensors_of(wanted)):
        ours, theirs = ours.double(), theirs.double()
        scale = theirs.abs().max().item() or 1.0
        worst = max(worst, (ours - theirs).abs().max().item() / scale)
    return worst


def function_of(module, name):
    """The module as a function with code of its own. Dynamo looks up what it compiled by
    the code: two backends of one code would wait for each other's guards."""

    def call(*inputs):
        return module(*inputs)

    code = call.__code__.replace(co_name=f"call_{name}")
    return types.FunctionType(code, globals(), closure=call.__closure__)


def compare(spec, options):
    """A row of what calls take; in a process of its own."""
    import warnings

    from fastk.dynamo import backend, duel

    watch = Watch(backend)
    module, inputs = load(spec, options)
    row = {}
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wanted = module(*inputs)
        memory = {}
        calls = {}
        for name in ("inductor", "fastk"):
            function = function_of(module, name)
            calls[name] = torch.compile(
                function, backend=name, dynamic=False, mode=options.mode
            )
            got = calls[name](*inputs)
            row[f"{name}_error"] = error_of(got, wanted)
            if options.device == "cuda":
                torch.cuda.reset_peak_memory_stats()
                calls[name](*inputs)
                memory[name] = torch.cuda.max_memory_allocated()
        del got, wanted
        result = duel.measure(
            lambda: calls["fastk"](*inputs),
            lambda: calls["inductor"](*inputs),
            duel.clock_of(torch.device(options.device)),
            options.rounds,
        )
    told = [str(each.message) for each in caught if "fastk" in str(each.message)]
    hits = [each for each in watch.workloads if each["outcome"] == "hit"]
    row.update(
        fastk=result.ours, inductor=result.inductors, ratio=result.ratio,
        low=result.low, high=result.high, noise=result.noise,
        workloads=len(watch.workloads), hits=len(hits), ops=watch.ops, told=told,
        memory=memory,
    )  # fmt: skip
    return row


def child(what, spec, options, environment=None, **changed):
    """The row that a process prints, or {"failed": why}."""
    command = [sys.executable, __file__, what, spec, f"--device={options.device}"]
    command += [f"--dtype={options.dtype}", f"--batch={options.batch}"]
    command += [f"--rounds={options.rounds}", f"--mode={options.mode}"]
    command += [f"--{name}={value}" for name, value in changed.items()]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            timeout=options.timeout, env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {options.timeout} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"left with {done.returncode}"]
        return {"failed": lines[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def first_calls(spec, options):
    """Seconds: Inductor's, fastk's with empty caches, fastk's in the next process."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, backend, cache in (
            ("inductor_first", "inductor", "inductor"),
            ("fastk_first", "fastk", "fastk"),
            ("fastk_next", "fastk", "fastk"),
            ("inductor_next", "inductor", "inductor"),
        ):
            environment = {
                "TORCHINDUCTOR_CACHE_DIR": f"{folder}/{cache}",
                "FASTK_TORCH_CACHE": f"{folder}/store",
            }
            row = child("first", spec, options, environment, backend=backend)
            found[name] = row.get("seconds")
    return found


def run(options):
    for spec in options.models:
        start = time.monotonic()
        row = {"model": spec, "dtype": options.dtype, "batch": options.batch}
        row["mode"] = options.mode
        row.update(child("compare", spec, options))
        if options.first_calls and "failed" not in row:
            row.update(first_calls(spec, options))
        with open(options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        said = row.get("failed") or f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
        name = pathlib.Path(spec).name
        print(f"{name}: {said}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def seconds(value):
    return "" if value is None else f"{value:.1f}"


def table(options):
    """The rows in Markdown, and what they come to."""
    rows = [json.loads(line) for line in open(options.models[0], encoding="utf-8")]
    timed = [row for row in rows if "failed" not in row]
    print("| model | mode | workloads | hits | ops | Inductor, ms | fastk, ms | ratio | Inductor to "
          "itself | first call, s: Inductor, fastk | next process | error: Inductor, fastk |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in timed:
        first = " ".join(seconds(row.get(n)) for n in ("inductor_first", "fastk_first"))
        after = " ".join(seconds(row.get(n)) for n in ("inductor_next", "fastk_next"))
        name = pathlib.Path(row["model"].replace(":", "/")).name.removesuffix(".py")
        print(f"| {name} {row['dtype']} | {row['mode']} | {row['workloads']} | {row['hits']} | {len(row['ops'])} | "
              f"{row['inductor'] * 1e3:.3f} | {row['fastk'] * 1e3:.3f} | {row['ratio']:.3f} "
              f"({row['low']:.3f} to {row['high']:.3f}) | "
              f"within {row['noise']:.1%} | {first} | {after} | "
              f"{row['inductor_error']:.1e} {row['fastk_error']:.1e} |")
    for row in rows:
        if "failed" in row:
            print(f"\n{row['model']} failed: {row['failed']}")
    # A graph that fastk left to Inductor says nothing of fastk.
    for row in timed:
        for message in row["told"]:
            print(f"\n{row['model']}: {message}")
    mean = statistics.geometric_mean([row["ratio"] for row in timed])
    least = min(row["ratio"] for row in timed)
    print(f"\n{len(timed)} models: geometric mean {mean:.3f}, the least {least:.3f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("what", choices=["run", "table", "compare", "first"])
    add("models", nargs="+", metavar="MODEL")
    add("--out", default="rows.jsonl", help="where rows are added (%(default)s)")
    add("--device", default="cuda", choices=["cuda", "cpu"])
    add("--dtype", default="f32", choices=DTYPES)
    add("--batch", type=int, default=1, help="inputs are repeated so often")
    add("--mode", default="default", help="of torch.compile (%(default)s)")
    add("--rounds", type=int, default=60, help="of four calls (%(default)s)")
    add("--first-calls", action="store_true", help="in new processes, four a model")
    add("--timeout", type=int, default=300, help="seconds of a process (%(default)s)")
    add("--backend", default="fastk", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what == "run":
        run(options)
    elif options.what == "table":
        table(options)
    else:
        of = {"compare": compare, "first": first_call}[options.what]
        print(json.dumps(of(options.models[0], options)))


if __name__ == "__main__":
    sys.exit(main())
