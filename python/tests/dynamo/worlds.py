# ===- worlds.py - What the tests of torch.compile's backend share -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Graphs of Dynamo, models with winners, and places that are nobody's own.

No conftest.py: that of the folder above is imported by its name.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import types
import warnings

import pytest
import torch
import torch._inductor.config
from compiled import BIN
from compiled import fastk as run_tool
from conftest import PYTHON
from spooled import search
from torch import nn
from torch.nn import functional

import fastk.dynamo  # noqa: F401, registers the backend
from fastk.dynamo import backend, duel, importing, store

#: Of a duel: won by far. Its times are made up.
WON = duel.Result(1e-6, 2e-6, 2.0, 1.9, 2.1)
LOST = duel.Result(2e-6, 1e-6, 0.5, 0.4, 0.6)

# For Inductor: a compiler, and no test programs for each set of instructions.
if not shutil.which("g++"):
    os.environ.setdefault("CXX", "clang++-22")
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"  # for other processes
torch._inductor.config.cpp.vec_isa_ok = True


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    def __init__(self, size=32, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(size)
        self.mix, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        return x + self.out(self.attend(self.mix(self.norm(x))))


    def attend(self, mixed):
        """Of queries, keys and values beside each other."""
        parts = mixed.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return seen.transpose(1, 2).flatten(-2)


def mlp():
    torch.manual_seed(0)
    return Mlp().eval(), (torch.randn(16, 64),)


def attention():
    torch.manual_seed(0)
    return Attention().eval(), (torch.randn(2, 16, 32),)


def capture(function, *inputs):
    """(GraphModule, inputs) that Dynamo hands to a backend."""
    found = []

    def record(module, given):
        found.append((module, given))
        return module.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=record, fullgraph=True)(*inputs)
    torch._dynamo.reset()
    return found[0]


def nodes_named(module, *names):
    """Nodes of a graph by their names, in the graph's order."""
    return [node for node in module.graph.nodes if node.name in names]


def workload(module, *names):
    """What fastk-opt would say of a hit at these nodes."""
    places = list(module.graph.nodes)
    lines = [places.index(node) + 1 for node in nodes_named(module, *names)]
    return {
        "name": "planted", "key": "k" * 64, "reason": "for a test", "outcome": "hit",
        "places": [["fastk.node", line, 0] for line in lines],
    }  # fmt: skip


def fastk_ops(module):
    """The names of fastk's ops that a graph calls."""
    return [
        node.target.name().partition("::")[2].partition(".")[0]
        for node in module.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        and node.target.namespace == "fastk"
    ]


def graphs_of(kept):
    """The files of graphs that a store has."""
    return sorted(pathlib.Path(kept.path("imports")).rglob("*.graph"))


def script(folder, name, text):
    """The path of a program for the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def run_script(text, stderr=False, **environment):
    """What a Python process prints that runs `text`, with fastk and these tests."""
    folders = (PYTHON, PYTHON / "tests", PYTHON / "tests" / "dynamo")
    environment = {**os.environ, **environment, "FASTK_OPT": str(BIN / "fastk-opt")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    # Duels are those of so many threads.
    environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    sys.stderr.write(done.stderr)  # shown where a test fails
    assert done.returncode == 0, done.stderr
    return done.stderr if stderr else done.stdout


def _search(folder):
    """Fills folder/bank with winners for both models."""
    imports = importing.Imports(store.Store(folder / "imports"), backend._importer)
    model, (x,) = attention()
    searched = {
        "mlp": (capture(mlp()[0], *mlp()[1]), 4),
        "attend": (capture(model.attend, model.mix(x)), 2),
    }
    for name, (graph, evaluations) in searched.items():
        work = folder / name
        work.mkdir()
        # Both to one bank.
        (folder / "bank").mkdir(exist_ok=True)
        (work / "bank").symlink_to(folder / "bank")
        budget = f"--budget=evaluations={evaluations}"
        search(BIN / "fastk-opt", imports.text_of(*graph), work, budget)


@pytest.fixture(scope="session")
def winners(tmp_path_factory):
    """A bank with winners for both models; their times are made up. It is searched once
    for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "winners"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _search(folder)
            (folder / "done").touch()
    return folder / "bank"


def compiled_library(folder, text):
    """The path of a library for the host of a function's text."""
    (folder / "model.mlir").write_text(text)
    run_tool("fastk-opt", folder / "model.mlir", "--emit=so", "-o", folder / "model.so")
    return str(folder / "model.so")


@pytest.fixture
def own_tools(monkeypatch):
    """The programs of the build, and the libraries beside them."""
    monkeypatch.setenv("FASTK_OPT", str(BIN / "fastk-opt"))


@pytest.fixture(scope="session")
def inductor_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture
def home(tmp_path, monkeypatch, inductor_cache):
    """A user without a bank, with caches of their own."""
    monkeypatch.setenv("FASTK_OPT", str(BIN / "fastk-opt"))
    monkeypatch.setenv("FASTK_BANK", "")
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(inductor_cache))
    monkeypatch.setattr(backend, "_told", set())
    return tmp_path


@pytest.fixture(scope="session")
def known(tmp_path_factory):
    """A cache that the tests of one process share: it knows what was imported."""
    return tmp_path_factory.mktemp("known")


@pytest.fixture
def with_winners(home, winners, known, monkeypatch):
    """A user with winners, all of whose duels are won: by decree, not by measuring.

    Yields what is seen of each compilation: .modules that Inductor was given.
    """
    monkeypatch.setenv("FASTK_BANK", str(winners))
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(known))
    monkeypatch.setattr(duel, "measure", lambda ours, theirs, clock: WON)
    # What is not measured need not be compiled.
    monkeypatch.setattr(backend, "compiled", lambda module, inputs, config: module)
    seen = watch(monkeypatch)
    seen.bank, seen.folder = winners, home
    return seen


@pytest.fixture
def rewritten(with_winners, monkeypatch):
    """The same, where Inductor leaves the graph to PyTorch: for tests of what it is
    given."""
    return watch(monkeypatch, lambda module, inputs, **options: module.forward, with_winners)


def watch(monkeypatch, instead=None, seen=None):
    """Records what Inductor is given from here on: .modules, and .patches of its
    settings. What it makes ahead counts when it is used."""
    from torch._inductor import compile_fx

    from fastk.dynamo import backend

    seen = seen or types.SimpleNamespace()
    seen.modules, seen.patches, inside = [], [], []
    compile_it = instead or compile_fx.compile_fx

    def record(module, inputs, **options):
        # It calls itself, once for all settings.
        if not inside:
            seen.modules.append(module)
            seen.patches.append(options.get("config_patches"))
        inside.append(module)
        try:
            return compile_it(module, inputs, **options)
        finally:
            inside.pop()

    def prepare(plain):
        count = len(seen.modules)
        make(plain)
        ahead[id(plain)] = seen.modules[count:], seen.patches[count:]
        del seen.modules[count:], seen.patches[count:]

    def result(plain):
        try:
            return use(plain)
        finally:
            modules, patches = ahead.pop(id(plain))
            seen.modules += modules
            seen.patches += patches

    ahead, make, use = {}, backend.Plain.prepare, backend.Plain.result
    monkeypatch.setattr(compile_fx, "compile_fx", record)
    monkeypatch.setattr(backend.Plain, "prepare", prepare)
    monkeypatch.setattr(backend.Plain, "result", result)
    return seen


def compiled(function, **options):
    """torch.compile by fastk, as in a new process."""
    torch._dynamo.reset()
    return torch.compile(function, backend="fastk", **options)


def warned(call):
    """(result, texts of fastk's warnings) of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    # What the garbage collector says of files is of any test that ran before.
    told = [str(w.message) for w in caught if w.category is not ResourceWarning]
    return result, [text for text in told if "fastk" in text]
