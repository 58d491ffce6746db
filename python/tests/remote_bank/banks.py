# ===- banks.py - fastk's programs with banks behind HTTP -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A user of fastk-opt and fastk-bank with a home of their own, and models with winners."""

import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("FASTK_BIN", ROOT / "build" / "dev" / "bin"))
MAKE_BANK = ROOT / "test" / "Bank" / "Inputs" / "make_bank.py"


@dataclass
class User:
    """Somebody on a machine of their own: home, cache and environment."""

    home: pathlib.Path
    environment: dict = field(default_factory=dict)
    #: Where fastk's programs are.
    bin: pathlib.Path = BIN

    def run(self, tool, *arguments, expect=0):
        """What the program said on both outputs; it must end with `expect`."""
        self.home.mkdir(exist_ok=True)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "FASTK_")) and "proxy" not in name.lower()
        }
        environment |= {
            "HOME": str(self.home),
            "FASTK_CACHE_DIR": str(self.cache),
            **self.environment,
        }
        ran = subprocess.run(
            [self.bin / tool, *map(str, arguments)],
            env=environment,
            text=True,
            capture_output=True,
            timeout=300,
        )
        said = ran.stdout + ran.stderr
        assert expect is None or ran.returncode == expect, said
        return said

    def run_any(self, tool, *arguments):
        """The same, however it ends."""
        return self.run(tool, *arguments, expect=None)

    @property
    def cache(self):
        return self.home / "cache"

    def compile(self, model, *banks, options=(), expect=0):
        """Compiles with these banks; what was said beside the module."""
        banks = [f"--bank={bank}" for bank in banks]
        return self.run(
            "fastk-opt", model, *banks, "-o", os.devnull, *options, expect=expect
        )

    def bank(self, *arguments, expect=0):
        return self.run("fastk-bank", *arguments, expect=expect)


def hits(said):
    """The hits and misses of a compile."""
    return tuple(map(int, re.search(r": (\d+) hits?, (\d+) miss", said).groups()))


def warnings(said):
    return [line for line in said.splitlines() if "warning:" in line]


def many(folder, count):
    """A model of so many workloads, and a bank of a winner for each, of this machine."""
    model, bank = folder / "many.mlir", folder / "many-bank"
    program = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "many_keys.py", str(count)],
        text=True,
        capture_output=True,
        check=True,
    )
    model.write_text(program.stdout)
    passes = ["--fastk-form-workloads", "--fastk-lower-workloads"]
    lowered = subprocess.run(
        [BIN / "fastk-opt", model, *passes, "--mlir-print-local-scope"],
        text=True,
        capture_output=True,
        check=True,
    )
    subprocess.run(
        [sys.executable, MAKE_BANK, bank, "--here"],
        input=lowered.stdout,
        text=True,
        capture_output=True,
        check=True,
    )
    return model, bank
