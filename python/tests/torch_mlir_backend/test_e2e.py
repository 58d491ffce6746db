# ===- test_e2e.py - The command for torch-mlir's own tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""python -m fastk.torch_mlir.e2e, on a checkout of our own with four tests in it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from compiled import BIN
from conftest import PYTHON, ROOT, python

from fastk.torch_mlir.e2e import expected, table
from fastk.reasons import shorten
from fastk.torch_mlir.e2e.child import Outcome
from fastk.torch_mlir.e2e.results import Results, ResultsError

HERE = PYTHON / "tests" / "torch_mlir_backend"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    package = root / "projects/pt1/python/torch_mlir_e2e_test"
    shutil.copytree(HERE / "checkout", package)
    relu = (ROOT / "test/Driver/Inputs/relu.mlir").read_text()
    (package / "relu.mlir").write_text(relu)
    return root


def arguments(checkout, output, *more):
    return [
        *("-m", "fastk.torch_mlir.e2e", f"--torch-mlir={checkout}", f"-o{output}"),
        *(f"--fastk-opt={BIN / 'fastk-opt'}", "--timeout=60", *more),
    ]


@pytest.fixture(scope="module")
def finished(checkout, tmp_path_factory):
    """The folder with the table of a whole run."""
    folder = tmp_path_factory.mktemp("table")
    result = python(*arguments(checkout, folder / "table", "--jobs=4", "--timeout=15"))
    return folder, result


def test_each_test_has_a_result_of_each_backend(finished):
    folder, result = finished
    assert result.returncode == 2, result.stderr
    data = json.loads((folder / "table.json").read_text())
    outcomes = {
        (test, backend): (fields["status"], fields.get("phase", ""))
        for test, backends in data["tests"].items()
        for backend, fields in backends.items()
    }
    assert outcomes == {
        ("Passes", "fastk"): ("pass", ""),
        ("Fails", "fastk"): ("fail", "compile"),
        ("Crashes", "fastk"): ("crash", "import"),
        ("Hangs", "fastk"): ("timeout", "import"),
        ("Passes", "reference"): ("pass", ""),
        ("Fails", "reference"): ("fail", "compile"),
        # A crash with the one says nothing of the other.
        ("Crashes", "reference"): ("pass", ""),
        ("Hangs", "reference"): ("pass", ""),
    }
    assert "SIGABRT" in data["tests"]["Crashes"]["fastk"]["reason"]
    assert data["tests"]["Fails"]["fastk"]["reason"] == "ERROR: 1 is not 2"
    assert "fails unexpectedly: Hangs" in result.stderr
    assert not (folder / "table.json.lock").exists()


def test_the_page(finished):
    folder, _ = finished
    page = (folder / "table.md").read_text()
    assert "| fastk | 1 | 1 | 1 | 1 | 0 | 4 |" in page
    assert "| reference | 3 | 1 | 0 | 0 | 0 | 4 |" in page
    assert "--torch-mlir=CHECKOUT -o table" in page
    lost, both = page.index("that the reference backend passes"), page.index("of both")
    assert lost < page.index("| Crashes |") < page.index("| Hangs |") < both
    assert both < page.index("| Fails |")


def test_nothing_is_run_twice(checkout, finished):
    folder, _ = finished
    before = json.loads((folder / "table.json").read_text())
    result = python(*arguments(checkout, folder / "table"))
    assert "4 tests, 0 of them to run" in result.stderr
    assert json.loads((folder / "table.json").read_text()) == before
    again = python(*arguments(checkout, folder / "table", "--filter=^P", "--again=all"))
    assert "1 tests, 1 of them to run" in again.stderr
    assert again.returncode == 0, again.stderr


def test_an_interrupted_run_goes_on(checkout, tmp_path):
    command = arguments(checkout, tmp_path / "table", "--filter=Passes|Hangs")
    process = subprocess.Popen(
        [sys.executable, *command],
        env=dict(os.environ, PYTHONPATH=str(PYTHON)),
        stderr=subprocess.PIPE,
        text=True,
    )
    # Hangs comes first by name: it runs when this is interrupted.
    assert "2 of them to run" in process.stderr.readline()
    time.sleep(1)
    busy = python(*command)
    assert busy.returncode == 1 and "belongs to a run that goes on" in busy.stderr
    process.send_signal(signal.SIGTERM)
    said = process.stderr.read()
    assert "the same command goes on" in said, said
    assert process.wait() == 130
    rest = python(*command, "--filter=Passes")
    assert rest.returncode == 0, rest.stderr
    assert json.loads((tmp_path / "table.json").read_text())["tests"]["Passes"]


@pytest.mark.parametrize(
    "more, message",
    [
        (["--torch-mlir=/nowhere"], "/nowhere is no checkout of torch-mlir"),
        (["--filter=NoSuch"], "--filter=NoSuch finds no test"),
        (["--filter=("], "--filter: missing )"),
        (["--jobs=0"], "--jobs is 1 or more"),
        (["--fastk-opt=/nowhere"], "No such file or directory: '/nowhere'"),
    ],
)
def test_wrong_options(checkout, tmp_path, more, message):
    result = python(*arguments(checkout, tmp_path / "table", *more))
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.glob("*.json")) == []


def test_other_files_are_no_results(tmp_path):
    for text in ("", "[]", '{"format": "fastk.torch-mlir-e2e", "version": 9}'):
        (tmp_path / "table.json").write_text(text)
        with pytest.raises(ResultsError, match="holds no results of this version"):
            Results(str(tmp_path / "table.json"))


def test_results_survive_writing(tmp_path):
    path = str(tmp_path / "table.json")
    results = Results(path)
    results.versions = {"torch": "1"}
    results.add("A", "fastk", Outcome("fail", "run", 'a "reason"', 1.5), "one")
    results.add("B", "fastk", Outcome("pass"), "two")
    results.write()
    results.close()
    read = Results(path)
    assert read.get("A", "fastk") == Outcome("fail", "run", 'a "reason"', 1.5)
    assert read.has("B", "fastk", "two") and not read.has("A", "fastk", "two")
    assert read.get("A", "reference") is None
    page = table.page(read, ["A", "B", "C"], {"fastk": "two"}, "command")
    assert "1 results of fastk are by an earlier program" in page
    assert "| fastk | 1 | 1 | 0 | 0 | 1 | 3 |" in page
    read.close()


@pytest.mark.parametrize(
    "said, log, short",
    [
        ("Error: x\nfastk.Error: /tmp/a/m.mlir:1:2: error: no", "", "error: no"),
        ("a\n@ output\nERROR: value (1) is not 2", "", "ERROR: value (1) is not 2"),
        ("x\ntorch._dynamo.Unsupported: this", "", "torch._dynamo.Unsupported: this"),
        ("TorchMlirCompilerError: x", 'loc("/a/b.py":3:0): error: left', "error: left"),
        ("E: at 0x7f12345678 of /home/u/m.py", "", "E: at 0x… of m.py"),
    ],
)
def test_reasons_are_short_and_of_no_machine(said, log, short):
    assert shorten(said, log) == short


def test_expected_failures_have_reasons():
    assert expected.load()
    for test, reason in expected.load().items():
        assert test.isidentifier() and len(reason) > 10, test
