# ===- __main__.py - python -m fastk.torch_mlir.e2e -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: python -m fastk.torch_mlir.e2e --torch-mlir=CHECKOUT -o table."""

import argparse
import os
import re
import signal
import sys
import time

from ... import commandline, locks
from ...importer import files
from . import child, results, suite, table

_DESCRIPTION = """\
Runs torch-mlir's own end-to-end tests through fastk, beside its reference backend.
"""

_EPILOG = """\
It needs the wheels that fastk.importer needs, fastk-opt, and a checkout of
https://github.com/llvm/torch-mlir of about the wheel's date: the tests are there.

Each test runs in a process of its own. OUT.json keeps the results: a run that was
ended goes on, and what the same fastk-opt did already is not done again.

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
    add("--torch-mlir", required=True, metavar="CHECKOUT", help="torch-mlir's sources")
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
    add("--fastk-opt", metavar="PROGRAM", help="default: $FASTK_OPT, then PATH")
    add("--bank", action="append", metavar="DIR", help="as of fastk-opt; repeatable")
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
    try:
        tests = suite.load(options.torch_mlir)
        kept = results.Results(options.output + ".json")
    except (locks.BusyError, results.ResultsError, suite.SuiteError, OSError) as error:
        commandline.fail(options_parser, str(error))
    names = sorted(name for name in tests if pattern.search(name))
    if not names:
        commandline.fail(options_parser, f"--filter={options.filter} finds no test")
    try:
        return _all(options_parser, options, kept, tests, names)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    finally:
        kept.close()


def _all(options_parser, options, kept, tests, names):
    backends, made_by = _backends(options_parser, options, kept)
    plan = _plan(options, kept, names, made_by)
    print(f"{len(names)} tests, {len(plan)} of them to run", file=sys.stderr)
    try:
        _warm_up([tests[name] for name, _ in plan])
        _run(options, kept, tests, plan, backends, made_by)
    finally:
        kept.write()
    page = table.page(kept, names, made_by, _command(options))
    results.write_whole(options.output + ".md", page)
    failed, passed = table.unexpected(kept, names)
    for name in failed:
        print(f"fails unexpectedly: {name}", file=sys.stderr)
    for name in passed:
        print(f"is expected to fail, and passes: {name}", file=sys.stderr)
    return 2 if failed or passed else 0


def _backends(options_parser, options, kept):
    """({name: function that makes it}, {name: what its results are made by})"""
    import importlib.metadata

    from .. import Error, FastkLinalgOnTensorsBackend

    try:
        fastk = FastkLinalgOnTensorsBackend(
            banks=options.bank, fastk_opt=options.fastk_opt, timeout=options.timeout
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
    made_by = {"fastk": digest}
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
    import torch

    # A fork has no copy of its parent's thread pool; one thread uses none.
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),), strict=True)
    program.run_decompositions()
    suite.warm_up(tests)
    # Busy waiting of one test takes the processor from the others.
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def _run(options, kept, tests, plan, backends, made_by):
    waiting, running = list(reversed(plan)), []
    done, written = 0, time.monotonic()
    try:
        while waiting or running:
            if _interrupts:
                raise KeyboardInterrupt
            while waiting and len(running) < options.jobs:
                name, wanted = waiting.pop()
                chosen = {backend: backends[backend] for backend in wanted}
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
                for backend, outcome in each.outcomes.items():
                    kept.add(each.name, backend, outcome, made_by[backend])
                if each.waiting:
                    waiting.append((each.name, each.waiting))
                    continue
                done += 1
                _progress(each, kept, done, len(plan))
                if time.monotonic() > written + 10:
                    kept.write()
                    written = time.monotonic()
    finally:
        for each in running:
            each.kill()


def _progress(each, kept, done, count):
    parts = []
    for backend in ("fastk", "reference"):
        outcome = kept.get(each.name, backend)
        if outcome:
            parts.append(f"{backend} {outcome.status} {outcome.seconds:.1f} s")
    line = f"[{done}/{count}] {each.name}: {', '.join(parts)}"
    print(line, file=sys.stderr, flush=True)


def _command(options):
    """The command that makes the same table, without this machine's paths."""
    command = "python -m fastk.torch_mlir.e2e --torch-mlir=CHECKOUT"
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
