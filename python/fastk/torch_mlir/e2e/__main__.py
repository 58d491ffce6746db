# ===- __main__.py - python -m fastk.torch_mlir.e2e -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: python -m fastk.torch_mlir.e2e --torch-mlir=CHECKOUT -o table."""

import argparse
import functools
import os
import re
import signal
import sys
import time

from ... import commandline, locks
from ...importer import files, load_once, quick_loading
from . import child, gpu, pack, results, suite, table

_DESCRIPTION = """\
Runs torch-mlir's own end-to-end tests through fastk, beside its reference backend.
"""

_EPILOG = """\
It needs the wheels that fastk.importer needs, fastk-opt, and a checkout of
https://github.com/llvm/torch-mlir of about the wheel's date: the tests are there.

Each test runs in a process of its own. OUT.json keeps the results: a run that was
ended goes on, and what the same fastk-opt did already is not done again.

For a GPU (--target=cuda:sm_90a) there are three steps, which may run on different
machines with the folder OUT.pack between them: compile, run, compare. The first and
the last need the checkout, the wheels and fastk-opt, but no GPU; the second needs
Python and NVIDIA's driver, and nothing else:

    python -m fastk.torch_mlir.e2e --target=cuda:sm_90a --steps=run -o OUT

Exit codes: 0 fails what it is expected to fail and no more; 1 the options are wrong;
2 another test fails, or one passes that is expected to fail; 130 interrupted.
"""


#: Signals that came.
_interrupts = []


def parser():
    made = argparse.ArgumentParser(
        prog="python -m fastk.torch_mlir.e2e",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commandline.use_exit_code_1(made)
    add = made.add_argument
    add("--torch-mlir", metavar="CHECKOUT", help="torch-mlir's sources")
    add("--target", default="host", help="as of fastk-opt (default: host)")
    add(
        "--steps",
        default=",".join(gpu.STEPS),
        metavar="LIST",
        help="for a GPU: which of compile,run,compare (default: all)",
    )
    add(
        "--most-mib",
        type=float,
        default=16,
        metavar="MIB",
        help="for a GPU: tests with larger operands are not packed (default 16)",
    )
    add("--filter", default="", metavar="REGEX", help="tests whose name it is found in")
    add("--jobs", type=int, default=1, metavar="N", help="tests at a time (default 1)")
    add(
        "--timeout",
        type=float,
        default=120,
        metavar="SECONDS",
        help="limit of one test with one backend (default 120)",
    )
    add(
        "-o", "--output", required=True, metavar="OUT", help="writes OUT.md and OUT.json"
    )
    add("--fastk-opt", metavar="PROGRAM", help="default: $FASTK_OPT, the package's, then PATH")
    add("--bank", action="append", metavar="DIR", help="as of fastk-opt; repeatable")
    add(
        "--winners-from",
        default="here",
        metavar="LIST",
        help="as of fastk-opt: with family, what families serve is compiled by them (default: here)",
    )
    add(
        "--again",
        choices=["failed", "all"],
        help="run those again that OUT.json says fail, and no others; or all",
    )
    add(
        "--no-reference",
        dest="reference",
        action="store_false",
        help="do not run the reference backend",
    )
    return made


def main(arguments=None):
    options_parser = parser()
    options = options_parser.parse_args(arguments)
    try:
        pattern = re.compile(options.filter)
    except re.error as error:
        commandline.fail(options_parser, f"--filter: {error}")
    if options.jobs < 1:
        commandline.fail(options_parser, "--jobs is 1 or more")
    is_gpu = options.target != "host"
    steps = options.steps.split(",")
    if unknown := [step for step in steps if step not in gpu.STEPS]:
        known = ", ".join(gpu.STEPS)
        commandline.fail(
            options_parser, f"--steps: no step '{unknown[0]}'; there are {known}"
        )
    if is_gpu and steps == ["run"]:
        return _run_on_gpu(options_parser, options, pattern)
    if not options.torch_mlir:
        commandline.fail(options_parser, "--torch-mlir names a checkout of torch-mlir")
    try:
        tests = suite.load(options.torch_mlir)
        kept = results.Results(options.output + ".json")
    except (locks.BusyError, results.ResultsError, suite.SuiteError, OSError) as error:
        commandline.fail(options_parser, str(error))
    names = sorted(name for name in tests if pattern.search(name))
    if not names:
        commandline.fail(options_parser, f"--filter={options.filter} finds no test")
    try:
        if is_gpu:
            return _for_gpu(options_parser, options, kept, tests, names, steps, pattern)
        return _all(options_parser, options, kept, tests, names)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    finally:
        kept.close()


def _all(options_parser, options, kept, tests, names):
    backends, made_by = _backends(options_parser, options, kept)
    plan = _plan(options, kept, names, made_by)
    makers = {name: lambda _, make=make: make() for name, make in backends.items()}
    print(f"{len(names)} tests, {len(plan)} of them to run", file=sys.stderr)

    def keep(name, backend, outcome):
        kept.add(name, backend, outcome, made_by[backend])
        return outcome.status

    _run(options, kept, tests, plan, makers, keep)
    return _report(options, kept, names, made_by)


def _for_gpu(options_parser, options, kept, tests, names, steps, pattern):
    """The steps that need the checkout, and the one between them."""
    options.reference = False
    backends, made_by = _backends(options_parser, options, kept)
    packed = pack.Pack(options.output + ".pack")
    backend, program = backends["fastk"](), made_by["fastk"]
    try:
        runtime = gpu.runtime_of(backend.program())
        packed.make(runtime)
    except (pack.PackError, OSError) as error:
        commandline.fail(options_parser, str(error))
    plan = _plan(options, kept, names, made_by)
    if "compile" in steps:
        most = options.most_mib * 2**20
        step = gpu.Compile(packed, backend, program, runtime, most)
        _step(options, kept, tests, plan, step, program, "compile")
    if "run" in steps:
        gpu.run(packed, pattern, options.jobs, options.timeout, options.again)
    if "compare" in steps:
        step = gpu.Compare(packed, program)
        kept.versions["GPU"] = step.machine(names)
        _step(options, kept, tests, plan, step, program, "compare")
    if steps[-1] == "compile":
        made = sum(packed.has(name, program) for name in names)
        print(f"{made} tests are packed in {packed.folder}", file=sys.stderr)
        return 0
    return _report(options, kept, names, made_by)


def _step(options, kept, tests, plan, step, program, what):
    wanted = []
    for name, backends in plan:
        if not step.wants(name):
            continue
        early = step.early(name) if what == "compare" else None
        if early:
            kept.add(name, "fastk", early, program)
        else:
            wanted.append((name, backends))
    print(f"{len(wanted)} tests to {what}", file=sys.stderr)

    def keep(name, backend, outcome):
        outcome = step.outcome(name, outcome)
        if outcome is None:
            return "packed"
        kept.add(name, backend, outcome, program)
        return outcome.status

    _run(options, kept, tests, wanted, {"fastk": step.backend_for}, keep)


def _run_on_gpu(options_parser, options, pattern):
    """The step run alone: no checkout, no torch."""
    packed = pack.Pack(options.output + ".pack")
    try:
        packed.names()
        packed.make(packed.runtime)
        lost = gpu.run(packed, pattern, options.jobs, options.timeout, options.again)
    except (pack.PackError, OSError) as error:
        commandline.fail(options_parser, str(error))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 2 if lost else 0


def _report(options, kept, names, made_by):
    page = table.page(kept, names, made_by, _command(options), options.target)
    results.write_whole(options.output + ".md", page)
    failed, passed = table.unexpected(kept, names, options.target)
    for name in failed:
        print(f"fails unexpectedly: {name}", file=sys.stderr)
    for name in passed:
        print(f"is expected to fail, and passes: {name}", file=sys.stderr)
    return 2 if failed or passed else 0


def _backends(options_parser, options, kept):
    """({name: function that makes it}, {name: what its results are made by})"""
    import importlib.metadata

    from .. import Error, FastkLinalgOnTensorsBackend

    is_gpu = options.target != "host"
    try:
        fastk = FastkLinalgOnTensorsBackend(
            banks=options.bank,
            fastk_opt=options.fastk_opt,
            timeout=options.timeout,
            options=[f"--winners-from={options.winners_from}"]
            + ([f"--target={options.target}"] if is_gpu else []),
        )
        program = fastk.program()
        digest = files.digest(program)
    except (Error, OSError) as error:
        commandline.fail(options_parser, str(error))
    wheel = importlib.metadata.version("torch-mlir")
    kept.versions = {
        "fastk": f"{importlib.metadata.version('fastk')}, fastk-opt {digest}",
        "torch": importlib.metadata.version("torch"),
        "torch-mlir, the wheel": wheel,
        "torch-mlir, the tests": suite.commit(options.torch_mlir),
    }
    backends = {"fastk": lambda: fastk}
    made_by = {"fastk": f"{digest} {options.target}" if is_gpu else digest}
    if options.winners_from != "here":
        made_by["fastk"] += f" {options.winners_from}"
    if options.reference:
        backends["reference"] = suite.reference_backend
        made_by["reference"] = wheel
    return backends, made_by


def _plan(options, kept, names, made_by):
    """[(test, [backends to run])]"""
    plan = []
    for name in names:
        wanted = []
        for backend, program in made_by.items():
            before = kept.get(name, backend)
            if options.again == "failed" and backend == "fastk":
                run = before is not None and before.status != "pass"
            elif options.again == "all":
                run = True
            else:
                run = not kept.has(name, backend, program)
            if run:
                wanted.append(backend)
        if wanted:
            plan.append((name, wanted))
    return plan


def _warm_up(tests):
    """What each test would load; forks share it. Nothing here makes MLIR's threads."""
    with quick_loading():
        import torch
    load_once()

    # A fork has no copy of its parent's thread pool; one thread uses none.
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),), strict=True)
    program.run_decompositions()
    suite.warm_up(tests)
    # Busy waiting of one test takes the processor from the others.
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def _run(options, kept, tests, plan, makers, keep):
    """Runs the backends of a plan: `makers` makes one of {backend: function of the
    test's name}; `keep(name, backend, outcome)` takes what came of it, and names it."""
    try:
        _warm_up([tests[name] for name, _ in plan])
        _run_children(options, kept, tests, plan, makers, keep)
    finally:
        kept.write()


def _run_children(options, kept, tests, plan, makers, keep):
    waiting, running = list(reversed(plan)), []
    done, written = 0, time.monotonic()
    try:
        while waiting or running:
            if _interrupts:
                raise KeyboardInterrupt
            while waiting and len(running) < options.jobs:
                name, wanted = waiting.pop()
                chosen = {
                    backend: functools.partial(makers[backend], name)
                    for backend in wanted
                }
                running.append(child.Child(tests[name], chosen, options.timeout))
            child.wait(running, min(each.left for each in running))
            ready = child.wait(running, 0)
            for each in list(running):
                if each in ready:
                    if not each.read():
                        continue
                elif each.left > 0:
                    continue
                else:
                    each.kill()
                running.remove(each)
                said = []
                for backend, outcome in each.outcomes.items():
                    status = keep(each.name, backend, outcome)
                    said.append(f"{backend} {status} {outcome.seconds:.1f} s")
                if each.waiting:
                    waiting.append((each.name, each.waiting))
                    continue
                done += 1
                line = f"[{done}/{len(plan)}] {each.name}: {', '.join(said)}"
                print(line, file=sys.stderr, flush=True)
                if time.monotonic() > written + 10:
                    kept.write()
                    written = time.monotonic()
    finally:
        for each in running:
            each.kill()


def _command(options):
    """The command that makes the same table, without this machine's paths."""
    command = "python -m fastk.torch_mlir.e2e --torch-mlir=CHECKOUT"
    if options.target != "host":
        command += f" --target={options.target}"
    if options.winners_from != "here":
        command += f" --winners-from={options.winners_from}"
    if options.filter:
        command += f" --filter='{options.filter}'"
    return f"{command} -o {os.path.basename(options.output)}"


def _interrupt(number, frame):
    # Some of what may run now, finalizers among it, swallows exceptions.
    _interrupts.append(number)
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    status = main()
    if _interrupts:
        # What torch was in the middle of may end in another exception.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
