# ===- __main__.py - python -m fastk.kernelbench -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: python -m fastk.kernelbench CHECKOUT -o OUT."""

import argparse
import fnmatch
import importlib.metadata
import os
import subprocess
import sys

from .. import commandline, locks, programs
from ..importer import files
from . import page, problems, rows, runner

_DESCRIPTION = """\
Runs the problems of a KernelBench checkout: imports, compiles, checks them against
torch and times them beside torch eager and torch.compile.
"""

_EPILOG = """\
The checkout is of https://github.com/ScalingIntelligence/KernelBench. Nothing of it
is copied: OUT gets a folder a problem with the imported model and the library, and
OUT/rows.json and OUT/page.md with the results.

    git clone https://github.com/ScalingIntelligence/KernelBench
    python -m fastk.kernelbench KernelBench -o out --level 1 --only '*Softmax*'

A run that was ended goes on: what stands in OUT/rows.json and was made by the same
programs is not done again. To compile for a GPU on a machine that has none:

    python -m fastk.kernelbench KernelBench -o out --target cuda:sm_90a --steps import,compile

and --steps measure with the same folder on a machine that has one; --jobs N prepares
N problems side by side there, and times each alone.

Exit codes: 0 every step passed; 1 the options are wrong; 2 some step did not;
130 interrupted.
"""


def parser():
    made = argparse.ArgumentParser(
        prog="python -m fastk.kernelbench",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commandline.use_exit_code_1(made)
    add = made.add_argument
    add("checkout", metavar="CHECKOUT", help="a folder with KernelBench/level1 and so on")
    add("-o", "--output", required=True, metavar="OUT", help="folder for results")
    add("--level", type=int, action="append", metavar="N",
        help="problems of this level; repeatable (default: 1 to 3)")  # fmt: skip
    add("--only", action="append", metavar="GLOB",
        help="problems whose name it matches, as '1/23_*'; repeatable")  # fmt: skip
    add("--target", default="host", help="as of fastk-opt (default: host)")
    add("--bank", action="append", default=[], metavar="DIR",
        help="as of fastk-opt; repeatable")  # fmt: skip
    add("--precision", metavar="CLASS",
        help="as of fastk-opt; torch's own flags are ieee,convolution=tf32")  # fmt: skip
    add("--winners-from", metavar="FROM",
        help="as of fastk-opt: family takes unproved instances of families")  # fmt: skip
    add("--steps", default=",".join(rows.STEPS), metavar="LIST",
        help="which steps, of import,compile,measure (default: all)")  # fmt: skip
    add("--timeout", type=float, default=300, metavar="SECONDS",
        help="limit of one step of one problem (default 300)")  # fmt: skip
    add("--jobs", type=int, default=1, metavar="N",
        help="problems at a time (default 1); what is timed is timed alone")  # fmt: skip
    add("--budget", type=float, metavar="SECONDS",
        help="end the run after so long; the next one goes on (default: none)")  # fmt: skip
    add("--again", choices=["failed", "all"], help="do steps again that did not pass, or all")
    add("--fastk-opt", metavar="PROGRAM", help="default: $FASTK_OPT, the package's, then PATH")
    return made


def main(arguments=None):
    options_parser = parser()
    options = options_parser.parse_args(arguments)

    def refuse(message):
        commandline.fail(options_parser, message)

    steps = options.steps.split(",")
    if unknown := [step for step in steps if step not in rows.STEPS]:
        refuse(f"--steps: no step '{unknown[0]}'; there are {', '.join(rows.STEPS)}")
    if options.jobs < 1:
        refuse("--jobs is 1 or more")
    if options.timeout <= 0:
        refuse("--timeout is more than 0")
    if options.budget is not None and options.budget <= 0:
        refuse("--budget is more than 0")
    try:
        chosen = _choose(problems.find(options.checkout), options)
    except problems.CheckoutError as error:
        refuse(str(error))
    if not chosen:
        refuse("no problem is of these levels and names")
    fastk_opt = programs.fastk_opt(options.fastk_opt)
    if "compile" in steps and not fastk_opt:
        refuse("fastk-opt was not found: build it, or name it by --fastk-opt")
    for bank in options.bank:
        if not os.path.isdir(bank):
            refuse(f"--bank={bank}: no such folder")
    try:
        os.makedirs(options.output, exist_ok=True)
        kept = rows.Rows(os.path.join(options.output, "rows.json"))
    except (OSError, rows.RowsError, locks.BusyError) as error:
        refuse(str(error))
    return _run(options, kept, chosen, sorted(steps, key=rows.STEPS.index), fastk_opt)


def _choose(found, options):
    levels = options.level or [1, 2, 3]
    return [
        each
        for each in found
        if each.level in levels
        and any(fnmatch.fnmatch(each.name, glob) for glob in options.only or ["*"])
    ]


def _run(options, kept, chosen, steps, fastk_opt):
    made_by = _made_by(options, fastk_opt)
    kept.versions = _versions(options, kept, made_by, steps)
    print(f"{len(chosen)} problems: {', '.join(steps)}", file=sys.stderr)
    done = runner.Runner(kept, options.output, fastk_opt and os.path.abspath(fastk_opt),
                         options.target, options.bank, options.timeout, options.budget,
                         _commit(), _choices(options))  # fmt: skip
    again = {"failed": ("fail", "crash", "timeout", "wrong")}.get(options.again, ())
    if options.again == "all":
        again = ("ok", "fail", "crash", "timeout", "wrong", "open")
    names = [each.name for each in chosen]
    try:
        done.run(chosen, steps, made_by, again, options.jobs,
                 lambda text: print(text, file=sys.stderr, flush=True))  # fmt: skip
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    finally:
        text = page.page(kept, names, _command(options))
        files.write_all({os.path.join(options.output, "page.md"): text})
    if done.stopped:
        print("--budget is spent; the same command goes on", file=sys.stderr)
    print(text.split("\n## ")[0], end="")
    bad = [name for name in names for step in steps
           if (kept.step(name, step) or {}).get("status") != "ok"]  # fmt: skip
    return 2 if bad else 0


def _choices(options):
    """What else fastk-opt is told: {option: value}."""
    named = {"precision": options.precision, "winners-from": options.winners_from}
    return {name: value for name, value in named.items() if value}


def _made_by(options, fastk_opt):
    """{step: what its results depend on, besides the problem}"""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    importer = [os.path.join(package, "importer", name)
                for name in sorted(os.listdir(os.path.join(package, "importer")))
                if name.endswith(".py")]  # fmt: skip
    made = {
        "import": runner.digest(*importer),
        "measure": runner.digest(*(os.path.join(package, "kernelbench", name)
                                   for name in ("measure.py", "peer.py"))),  # fmt: skip
    }
    if fastk_opt:
        words = [runner.digest(fastk_opt, *options.bank), options.target]
        words += [f"--{name}={value}" for name, value in _choices(options).items()]
        made["compile"] = " ".join(words)
    return made


def _commit():
    """Fastk's commit, with a + where files differ from it; None outside a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def git(*words):
        return subprocess.run(["git", "-C", package, *words], capture_output=True,
                              text=True, check=True).stdout.strip()  # fmt: skip

    try:
        # An installed package can lie in a folder of somebody else's checkout.
        if not git("ls-files", "__init__.py"):
            return None
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return problems.commit(package)[:12] + ("+" if changed else "")


def _versions(options, kept, made_by, steps):
    versions = dict(kept.versions)
    # A folder that was brought here has its files, and no history.
    commit = problems.commit(options.checkout)
    if commit != "unknown" or "KernelBench" not in versions:
        versions["KernelBench"] = commit
    # Where it is only measured, another torch may do that: its rows name it.
    if "import" in steps or "compile" in steps:
        for name in ("fastk", "torch", "torch-mlir"):
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                versions.setdefault(name, "unknown")
    if "compile" in made_by:
        versions["fastk-opt"] = made_by["compile"]
    return versions


def _command(options):
    """The command without the paths of a machine."""
    words = ["python -m fastk.kernelbench KernelBench -o OUT"]
    words += [f"--level {level}" for level in options.level or []]
    words += [f"--only '{glob}'" for glob in options.only or []]
    words.append(f"--target {options.target}")
    words += [f"--bank {os.path.basename(bank.rstrip('/'))}" for bank in options.bank]
    words += [f"--{name} {value}" for name, value in _choices(options).items()]
    words.append(f"--steps {options.steps}")
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
