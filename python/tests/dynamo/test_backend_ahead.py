# ===- test_backend_ahead.py - Inductor at work while a graph is imported -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""While a graph is imported for the first time, Inductor compiles it as it is."""

import os
import signal
import subprocess
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

from fastk.dynamo import backend, importing, work
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


def test_weights_that_inductor_takes_are_not_given_twice(home, monkeypatch):  # noqa: F811
    seen = []

    def import_it(importer, data):
        seen.append("import")
        raise Unsupported("by decree")

    def compile_it(module, inputs, **options):
        seen.append("compile")
        return module.forward

    monkeypatch.setattr(importing.Importer, "text_of", import_it)
    monkeypatch.setattr(compile_fx, "compile_fx", compile_it)
    model, (x,) = mlp()
    with torch.no_grad(), torch._inductor.config.patch(freezing=True):
        warned(lambda: compiled(model)(x))
    assert seen == ["import", "compile"]


def hanging(folder):
    """(a program that hangs, the file that has its number once it runs)."""
    began = folder / "began"
    text = f"echo $$ > {began}.new; mv {began}.new {began}; exec sleep 600"
    return script(folder, "hangs", text), began


def appears(path):
    """Waits for a file that a process writes."""
    deadline = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


def ends(pid):
    """Waits for the end of a process that another thread waits for."""
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.01)
    return not os.path.exists(f"/proc/{pid}")


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt; a shell's background jobs, as these may be, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c(path):
    """Once there is a file."""
    appears(path)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("when", ["compiles", "waits"])
@pytest.mark.parametrize("what", ["import", "fastk-opt"])
def test_ctrl_c_ends_what_is_asked(home, interrupts, monkeypatch, tmp_path, what, when):  # noqa: F811
    """While Inductor compiles, and while the answer is waited for after it."""
    hangs, began = hanging(tmp_path)
    monkeypatch.setattr(backend, "_importer", importer := backend.Importer())
    if what == "import":
        monkeypatch.setattr("sys.executable", str(hangs))
    else:
        monkeypatch.setattr(importing.Importer, "text_of", lambda importer, data: "module {}")
        monkeypatch.setenv("FASTK_OPT", str(hangs))

    def compile_it(module, inputs, **options):
        if when == "compiles":
            assert appears(began)
            raise KeyboardInterrupt
        threading.Thread(target=press_ctrl_c, args=[began], daemon=True).start()
        return module.forward

    monkeypatch.setattr(compile_fx, "compile_fx", compile_it)
    model, (x,) = mlp()
    start = time.monotonic()
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        compiled(model)(x)
    assert time.monotonic() - start < PATIENCE
    assert ends(int(began.read_text()))
    importer.stop()


def test_ctrl_c_before_anything_began(home, monkeypatch, tmp_path):  # noqa: F811
    """Whatever is started later for nobody ends at once."""
    hangs, _ = hanging(tmp_path)
    cancelled = threading.Event()
    done = threading.Event()

    def call():
        assert cancelled.wait(PATIENCE)
        process = subprocess.Popen([str(hangs)], start_new_session=True)
        with work.watched(process):
            process.wait()
        done.set()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.beside(call, interrupt)
    cancelled.set()
    assert done.wait(PATIENCE)
