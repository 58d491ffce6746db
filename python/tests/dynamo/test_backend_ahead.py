# ===- test_backend_ahead.py - Inductor at work while a graph is imported -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""While a graph is imported for the first time, Inductor compiles it as it is."""

import threading
import time

import pytest
import torch
from torch._inductor import compile_fx
from worlds import (  # noqa: F401
    compiled,
    fastk_ops,
    home,
    inductor_cache,
    known,
    mlp,
    rewritten,
    script,
    warned,
    winners,
    with_winners,
)

from fastk.dynamo import backend, importing
from fastk.dynamo.errors import Unsupported

#: Seconds after which what does not come has not come.
PATIENCE = 60


def test_both_are_at_work(home, monkeypatch):  # noqa: F811
    importing_began, inductor_began = threading.Event(), threading.Event()
    given = []

    def import_it(importer, data):
        importing_began.set()
        assert inductor_began.wait(PATIENCE)
        raise Unsupported("by decree")

    def compile_it(module, inputs, **options):
        given.append(module)
        inductor_began.set()
        assert importing_began.wait(PATIENCE)
        return module.forward

    monkeypatch.setattr(importing.Importer, "text_of", import_it)
    monkeypatch.setattr(compile_fx, "compile_fx", compile_it)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x))
    assert told == ["fastk leaves a graph to Inductor: by decree"]
    # What was made ahead is what runs.
    assert len(given) == 1


def test_inductor_has_the_graph_of_dynamo(home, monkeypatch):  # noqa: F811
    """Not a copy, which Inductor's caches would not know."""
    given = []

    def compile_it(module, inputs, **options):
        given.append(module)
        return module.forward

    def import_it(importer, data):
        raise Unsupported("by decree")

    monkeypatch.setattr(importing.Importer, "text_of", import_it)
    monkeypatch.setattr(compile_fx, "compile_fx", compile_it)
    modules = []

    def watching(module, inputs):
        modules.append(module)
        return backend.fastk(module, inputs)

    torch._dynamo.reset()
    model, (x,) = mlp()
    with torch.no_grad():
        warned(lambda: torch.compile(model, backend=watching)(x))
    assert len(given) == 1 and given[0] is modules[0]


def test_what_was_imported_before_is_not_waited_for(rewritten, monkeypatch):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)
        rewritten.modules.clear()
        monkeypatch.setattr(backend.Plain, "prepare", None)
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-4)
    assert fastk_ops(rewritten.modules[-1]) and not told


def test_a_failure_of_inductor_is_the_users(home, monkeypatch):  # noqa: F811
    calls = []

    def fail(module, inputs, **options):
        calls.append(module)
        raise RuntimeError("there is no compiler")

    monkeypatch.setattr(compile_fx, "compile_fx", fail)
    model, (x,) = mlp()
    with torch.no_grad(), pytest.raises(Exception, match="there is no compiler"):
        compiled(model)(x)
    assert len(calls) == 1


def test_ctrl_c_ends_the_import(home, monkeypatch, tmp_path):  # noqa: F811
    importer = backend.Importer()
    monkeypatch.setattr(backend, "_importer", importer)
    hangs = script(tmp_path, "python", f"echo > {tmp_path}/began; exec sleep 600")
    monkeypatch.setattr("sys.executable", str(hangs))
    processes = []

    def interrupt(module, inputs, **options):
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        processes.append(importer.process)
        raise KeyboardInterrupt

    monkeypatch.setattr(compile_fx, "compile_fx", interrupt)
    model, (x,) = mlp()
    start = time.monotonic()
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        compiled(model)(x)
    assert time.monotonic() - start < PATIENCE
    assert processes[0].poll() is not None and importer.process is None
