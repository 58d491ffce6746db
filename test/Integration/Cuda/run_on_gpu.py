#!/usr/bin/env python3
# ===- run_on_gpu.py - The integration tests on another machine -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the lit tests of this folder with a build that was made elsewhere.

    run_on_gpu.py --build BUILD [--filter REGEX] [lit's options]

BUILD has bin/fastk-opt, bin/fastk-run, bin/fastk-worker and lib/libfastk_runtime.so;
it is only read. FileCheck, not and count are taken from BUILD/bin, from PATH or from
LLVM's own folder, lit from there or from PYTHONPATH. clang-22 is not needed: where it
is missing libraries are linked by cc. Whatever else the programs load, such as
libLLVM and libMLIR, LD_LIBRARY_PATH has to name.

Tests that cannot run here are failures: this is for machines that have what they need.
Exit codes: 0 all ran and passed, 1 one failed or did not run, or an argument is wrong.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
LLVM = pathlib.Path("/usr/lib/llvm-22")
LIT = "from lit.main import main; main()"


def fail(text):
    sys.exit(f"run_on_gpu.py: error: {text}")


def folder_of(tool, build):
    """Where a tool of the tests is."""
    places = [build / "bin", LLVM / "bin"]
    for place in places:
        if (place / tool).exists():
            return place
    found = shutil.which(tool)
    if not found:
        fail(f"{tool} was found neither in {places[0]} nor in PATH nor in {places[1]}")
    return pathlib.Path(found).parent


def configure(work, build):
    """A folder that looks like a build's, with the tests' output in it."""
    for name in ("bin", "lib"):
        if not (build / name).is_dir():
            fail(f"{build} has no folder {name}: name a build by --build")
        (work / name).symlink_to(build / name)
    test = work / "test"
    test.mkdir()
    (test / "lit.site.cfg.py").write_text(
        f"config.fastk_source_dir = {str(SOURCE)!r}\n"
        f"config.fastk_build_dir = {str(work)!r}\n"
        "config.fastk_sanitize = False\n"
        f"config.llvm_tools_dir = {str(folder_of('FileCheck', build))!r}\n"
        f"lit_config.load_config(config, {str(SOURCE / 'test' / 'lit.cfg.py')!r})\n"
    )
    return test


def run_lit(test, work, options):
    """What became of each test."""
    environment = dict(os.environ)
    paths = [environment.get("PYTHONPATH"), str(LLVM / "utils" / "lit")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    results = work / "results.json"
    # One after the other: they share the GPU, and some look at times.
    command = [sys.executable, "-c", LIT, "-v", "-j1", f"--output={results}"]
    subprocess.run([*command, *options, str(test)], env=environment, check=False)
    if not results.exists():
        fail("lit did not run: see above")
    return json.loads(results.read_text())["tests"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "dev")
    parser.add_argument(
        "--filter",
        default=r"Integration/Cuda/(run|exploits)\.test",
        help="which tests, as lit's (default: %(default)s)",
    )
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="fastk-gpu-") as folder:
        work = pathlib.Path(folder).resolve()
        # The worker gives its rights away; what it works on stays readable.
        work.chmod(0o755)
        test = configure(work, arguments.build.resolve())
        tests = run_lit(test, work, [f"--filter={arguments.filter}", *options])
    codes = {test["name"]: test["code"] for test in tests if test["code"] != "EXCLUDED"}
    bad = {name: code for name, code in codes.items() if code != "PASS"}
    print(f"{len(codes) - len(bad)} passed, {len(bad)} failed or did not run")
    for name, code in bad.items():
        unsupported = code == "UNSUPPORTED"
        remedy = ": needs what its REQUIRES line says" if unsupported else ""
        print(f"  {name}: {code}{remedy}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
