# ===- test_package_programs.py - Which fastk-opt is used -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The environment's variable goes before the package's own, and that before PATH."""

import shutil
import subprocess
import sys

import pytest
from conftest import PYTHON


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's module, a program in PATH, and a way to run Python."""
    folder = tmp_path / "fastk"
    folder.mkdir()
    for name in ("__init__.py", "library.py", "programs.py"):
        shutil.copy(PYTHON / "fastk" / name, folder)
    script(tmp_path / "path" / "bin" / "fastk-opt", "echo that of PATH")
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in ("FASTK_OPT", "FASTK_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def python(program, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments], text=True, capture_output=True
    )
    return result.stdout + result.stderr


def used():
    return python("from fastk import programs; print(programs.fastk_opt())").strip()


def test_the_order(package, monkeypatch, tmp_path):
    assert used() == str(tmp_path / "path/bin/fastk-opt")
    own = script(package / "native/bin/fastk-opt", "echo the own")
    assert used() == str(own)
    named = script(tmp_path / "named/bin/fastk-opt", "echo the named")
    monkeypatch.setenv("FASTK_OPT", str(named))
    assert used() == str(named)
    monkeypatch.setenv("FASTK_OPT", str(tmp_path / "none"))
    assert used() == "None"


def test_libraries_are_those_of_the_program(package, monkeypatch, tmp_path):
    program = "from fastk import library; print(library.installed('libx.so'))"
    assert python(program).strip() == "None"
    for folder in (package / "native", tmp_path / "named"):
        script(folder / "bin/fastk-opt", "")
        (folder / "lib").mkdir()
        (folder / "lib/libx.so").touch()
    assert python(program).strip() == str(package / "native/lib/libx.so")
    monkeypatch.setenv("FASTK_OPT", str(tmp_path / "named/bin/fastk-opt"))
    assert python(program).strip() == str(tmp_path / "named/lib/libx.so")


def test_a_launcher_becomes_the_program_of_its_name(package, tmp_path):
    launch = "import sys; sys.argv = sys.argv[1:]; from fastk.programs import launch; launch()"
    script(package / "native/bin/fastk-opt", 'echo "in one: $@"')
    script(package / "native/bin/fastk-worker", 'echo "the worker: $@"')
    assert python(launch, "bin/fastk-run", "a", "b c") == "in one: a b c\n"
    assert python(launch, "bin/fastk-worker", "-x") == "the worker: -x\n"
    script(package / "native/bin/fastk-opt", 'echo "$FASTK_PYTHON"')
    assert python(launch, "bin/fastk-opt") == f"{sys.executable}\n"
    (package / "native/bin/fastk-worker").unlink()
    assert "the package has no fastk-worker" in python(launch, "bin/fastk-worker")


def test_a_launcher_leaves_signals_as_they_were(package):
    """Python ignores SIGPIPE; what it becomes would never end for `| head`."""
    launch = "import sys; sys.argv = ['fastk-opt']; from fastk.programs import launch; launch()"
    script(package / "native/bin/fastk-opt", "/bin/grep SigIgn /proc/self/status")
    ignored = int(python(launch).split()[1], 16)
    assert not ignored & (1 << 12), hex(ignored)
