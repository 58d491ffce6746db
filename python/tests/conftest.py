# ===- conftest.py - What the Python tests share -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Fixtures: the project's folders, MLIR's tools, and the importer's command."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from import_server import Server

PYTHON = pathlib.Path(__file__).resolve().parents[1]
ROOT = PYTHON.parent
GOLDEN = ROOT / "test" / "Inputs" / "golden"
GOLDEN_PY = PYTHON / "fastk" / "importer" / "golden.py"

#: What options of scripts/install-deps.sh install, by the tests that need it.
OPTIONAL = {
    "test_model_wires.py": ("--llm", ["openai", "anthropic", "google.genai"]),
    "test_llama_server.py": ("--llm", ["xllamacpp", "gguf"]),
    "test_whole_models.py": ("--models", ["transformers"]),
    "test_from_triton.py": ("--triton", ["triton"]),
    "remote_bank": ("--remote", ["nginx", "moto", "boto3"]),
    "test_notebooks.py": ("--notebooks", ["nbclient", "ipykernel"]),
    "test_ray.py": ("--ray --cuda", ["ray", "nvidia.cu13"]),
    "test_site.py": ("--site", ["sphinx", "myst_parser", "furo"]),
}


def is_installed(module):
    if module == "nginx":
        return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The package that it is in.
        return False


MISSING = {
    test: [module for module in modules if not is_installed(module)]
    for test, (_, modules) in OPTIONAL.items()
}

# Left out as a whole, and said so at the end.
collect_ignore = [test for test, modules in MISSING.items() if modules]


#: A file is one process's, and nobody must be left with a long one at the end: xdist
#: deals these first (scripts/test.sh), the longest before others.
LONG = [
    "test_op_table",
    "test_docs",
    "test_scaffolds",
    "test_kernelbench",
    "test_backend",
    "test_programs",
    "test_conditions",
    "test_site",
    "test_families",
    "test_random_programs",
    "test_oracle",
    "test_window_programs",
    "test_gpu_results",
    "test_ray",
    "test_import_recurrences",
    "test_golden",
    "test_e2e_gpu",
    "test_whole_models",
    "test_import_dynamic",
]


def pytest_collection_modifyitems(items):
    order = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONG)))


def pytest_terminal_summary(terminalreporter):
    for test, modules in MISSING.items():
        if modules:
            missing, option = ", ".join(modules), OPTIONAL[test][0]
            terminalreporter.write_line(
                f"{test} is left out: no {missing}: run scripts/install-deps.sh {option}"
            )


def tool(name):
    """The path of one of LLVM 22's tools, as Debian names them."""
    found = shutil.which(f"{name}-22") or shutil.which(
        name, path="/usr/lib/llvm-22/bin"
    )
    assert found, f"{name}-22 is not installed: run scripts/install-deps.sh"
    return found


@pytest.fixture(scope="session")
def parses():
    """A function that fails unless MLIR 22 parses and verifies a text."""

    def check(text):
        result = subprocess.run(
            [tool("mlir-opt"), "-", "-o", os.devnull],
            input=text,
            text=True,
            capture_output=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    return check


def python(*arguments, flags=(), path=(), stdout=subprocess.PIPE, **options):
    """Runs Python with the package on its path; returns the finished process."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, path), str(PYTHON)])
    return subprocess.run(
        [sys.executable, *flags, *map(str, arguments)],
        env=environment,
        text=True,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        **options,
    )


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory, monkeypatch):
    """Logs and reproducers of failed imports go to pytest's own folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))


@pytest.fixture(scope="session")
def import_server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def importer(import_server, tmp_path_factory):
    """Runs `python -m fastk.importer` with the given arguments."""

    def run(*arguments):
        return import_server.run(arguments, tmp_path_factory.mktemp("import"))

    return run


@pytest.fixture
def model(tmp_path):
    """Writes a model file; returns "FILE.py:build"."""

    def write(body, name="build"):
        path = tmp_path / "model_file.py"
        path.write_text(
            "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
            + body
        )
        return f"{path}:{name}"

    return write


def pytest_sessionfinish(session, exitstatus):
    """No test of this folder may be skipped: torch and MLIR are always there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = 1
