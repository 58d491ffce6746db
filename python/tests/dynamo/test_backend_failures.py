# ===- test_backend_failures.py - Failures of fastk inside a compilation -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Whatever fails in fastk, the user has PyTorch's result, and one warning."""

import dataclasses

import pytest
import torch
from worlds import (  # noqa: F401
    WON,
    Mlp,
    compiled,
    fastk_ops,
    home,
    inductor_cache,
    known,
    mlp,
    rewritten,
    run_script,
    script,
    warned,
    winners,
    with_winners,
)

from fastk.dynamo import backend, compiler, duel, ops, regions
from fastk.dynamo.errors import Failed

OWN = '; TORCH_LOGS="+fastk" shows where'


def survives(seen, replaced=0):
    """The only warning of a model whose winners mostly cannot be used."""
    model, (x,) = mlp()
    with torch.no_grad():
        run = compiled(model)
        result, told = warned(lambda: run(x))
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-4)
    assert len(fastk_ops(seen.modules[-1])) == replaced
    (text,) = told
    # The next graph fails in the same way, and nobody is told again.
    with torch.no_grad():
        _, told = warned(lambda: compiled(mlp()[0])(x))
    assert not told
    return text


def raising(error):
    def function(*arguments, **options):
        raise error

    return function


def test_the_importing_process_dies(rewritten, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(tmp_path / "empty"))
    importer = backend.Importer()
    monkeypatch.setattr(backend, "_importer", importer)
    dies = script(tmp_path, "python", "read path; echo out of memory >&2; exit 9")
    monkeypatch.setattr("sys.executable", str(dies))
    assert survives(rewritten) == (
        "fastk leaves a graph to Inductor: the importing process ended: out of memory"
    )


def test_there_is_no_fastk_opt(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setenv("FASTK_OPT", "/no/fastk-opt")
    # Nothing that takes time comes before.
    monkeypatch.setattr(backend.Imports, "text_of_data", None)
    assert survives(rewritten) == (
        "fastk leaves a graph to Inductor: FASTK_OPT names /no/fastk-opt, which is no "
        "program: let it name fastk-opt"
    )


def test_fastk_opt_fails(rewritten, monkeypatch, tmp_path):  # noqa: F811
    fails = script(tmp_path, "fastk-opt", "echo 'error: bad bank' >&2; exit 1")
    monkeypatch.setenv("FASTK_OPT", str(fails))
    assert survives(rewritten) == (
        "fastk leaves a graph to Inductor: fastk-opt left with 1: error: bad bank"
    )


def test_a_region_cannot_be_compiled(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setattr(compiler, "compile_region", raising(Failed("no linker")))
    assert survives(rewritten) == (
        "fastk leaves the rest of a graph to Inductor: no linker"
    )


def test_a_region_is_another_workload_by_itself(rewritten, monkeypatch):  # noqa: F811
    """Which is no failure: the others are replaced, and nobody is warned."""
    compile_region = compiler.compile_region
    keys = []

    def first_fails(text, key, *arguments):
        keys.append(key)
        if len(keys) == 1:
            key = "0" * 64
        return compile_region(text, key, *arguments)

    monkeypatch.setattr(compiler, "compile_region", first_fails)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-4)
    assert len(keys) == 2 and not told
    assert len(fastk_ops(rewritten.modules[0])) == 1


def test_a_duel_raises(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setattr(backend, "hold_duel", raising(torch.OutOfMemoryError("17 GB")))
    monkeypatch.setattr(duel.Result, "read", lambda store, name: None)
    assert survives(rewritten) == (
        "fastk failed and leaves a region to Inductor: OutOfMemoryError: 17 GB" + OWN
    )


def test_one_duel_raises(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setattr(duel.Result, "read", lambda store, name: None)
    hold, calls = backend.hold_duel, []

    def first_raises(*arguments):
        calls.append(arguments)
        if len(calls) % 2:
            raise ValueError("odd")
        return hold(*arguments)

    monkeypatch.setattr(backend, "hold_duel", first_raises)
    assert "ValueError: odd" in survives(rewritten, replaced=1)


def test_an_op_cannot_be_registered(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ops, "register", raising(RuntimeError("there is one already")))
    assert survives(rewritten) == (
        "fastk failed and leaves a region to Inductor: RuntimeError: there is one already"
        + OWN
    )


def test_a_program_cannot_be_loaded(rewritten, monkeypatch, tmp_path):  # noqa: F811
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF")
    monkeypatch.setattr(
        compiler, "compile_region", lambda *arguments: (str(broken), "d" * 64)
    )
    assert "Error: " in survives(rewritten)


def test_the_graph_cannot_be_rewritten(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setattr(regions, "replace_all", raising(KeyError("node")))
    assert survives(rewritten) == (
        "fastk failed and leaves a graph to Inductor: KeyError: 'node'" + OWN
    )


def test_inductor_does_not_take_what_was_rewritten(rewritten, monkeypatch):  # noqa: F811
    from torch._inductor import compile_fx

    compile_it = compile_fx.compile_fx

    def refuse(module, *arguments, **options):
        if fastk_ops(module):
            raise AssertionError("no such op")
        return compile_it(module, *arguments, **options)

    monkeypatch.setattr(compile_fx, "compile_fx", refuse)
    assert survives(rewritten) == (
        "fastk failed and leaves a graph to Inductor: AssertionError: no such op" + OWN
    )


def test_what_inductor_itself_does_not_take_is_the_users(rewritten, monkeypatch):  # noqa: F811
    from torch._inductor import compile_fx

    monkeypatch.setattr(compile_fx, "compile_fx", raising(AssertionError("of Inductor")))
    model, (x,) = mlp()
    with torch.no_grad(), pytest.raises(Exception, match="of Inductor"):
        warned(lambda: compiled(model)(x))


def test_the_cache_cannot_be_written(rewritten, monkeypatch, tmp_path):  # noqa: F811
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(tmp_path / "file"))
    text = survives(rewritten)
    assert "cannot be written: make room, or let FASTK_TORCH_CACHE name another" in text


@pytest.mark.parametrize("stage", ["imports", "duel"])
def test_ctrl_c_is_the_users(rewritten, monkeypatch, stage):  # noqa: F811
    where = {"imports": (backend.Imports, "text_of"), "duel": (backend, "hold_duel")}
    monkeypatch.setattr(*where[stage], raising(KeyboardInterrupt()))
    monkeypatch.setattr(duel.Result, "read", lambda store, name: None)
    model, (x,) = mlp()
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        compiled(model)(x)


LOGS = """
import torch, worlds
from torch._inductor import compile_fx
compile_fx.compile_fx = lambda module, inputs, **options: module.forward
model, (x,) = worlds.mlp()
with torch.no_grad():
    worlds.compiled(model)(x)
"""


def test_what_happens_is_logged_where_it_is_asked_for(rewritten):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)  # its duels are held
    lines = run_script(LOGS, stderr=True, TORCH_LOGS="+fastk").splitlines()
    assert any("layer_norm: no winner for this key" in line for line in lines)
    assert any("matmul_bias_gelu: 2.00 times as fast as Ind" in line for line in lines)


def test_a_duel_that_settles_nothing_is_held_once(rewritten, monkeypatch):  # noqa: F811
    """Of one for each layer the luckiest would count."""
    held = []

    def measure(*_):
        held.append(1)
        return dataclasses.replace(WON, noise=1.0)

    monkeypatch.setattr(duel, "measure", measure)
    monkeypatch.setattr(duel.Result, "read", lambda store, name: None)
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(Mlp(), Mlp(), Mlp()).eval(), torch.randn(16, 64)
    with torch.no_grad():
        compiled(model)(x)
    assert len(held) == 2 and not fastk_ops(rewritten.modules[-1])


def test_a_graph_that_loses_as_a_whole(rewritten, monkeypatch):  # noqa: F811
    """Whatever its regions won by themselves. It is known to the next process."""
    results = {}

    def hold(module, changed, inputs, *_):
        results["ops"] = len(fastk_ops(changed))
        return dataclasses.replace(WON, ratio=0.99, low=0.97, high=1.01)

    monkeypatch.setattr(backend.whole, "hold", hold)
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(rewritten.folder / "own"))
    model, (x,) = mlp()
    for held in (hold, None):
        monkeypatch.setattr(backend.whole, "hold", held)
        with torch.no_grad():
            _, told = warned(lambda: compiled(model)(x))
        assert not told and not fastk_ops(rewritten.modules[-1])
    assert results == {"ops": 2}


KEPT = [(1.0, 0.99, 0.0, True), (1.2, 1.1, 0.0, True), (0.999, 0.99, 0.0, False),
        (1.01, 0.97, 0.0, False), (1.2, 1.1, 0.2, False)]  # fmt: skip


@pytest.mark.parametrize("ratio, low, noise, kept", KEPT)
def test_which_graphs_are_kept(ratio, low, noise, kept):
    result = duel.Result(1e-3, 1e-3, ratio, low, ratio + 0.1, noise=noise)
    assert backend.whole.is_kept(result) == kept


def test_a_wrong_graph_is_not_kept():
    assert not backend.whole.is_kept(dataclasses.replace(WON, wrong="it differs"))
