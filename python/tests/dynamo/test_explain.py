# ===- test_explain.py - What fastk does with a model -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""explain() tells each region of a model, and why it is replaced or not."""

import torch
from torch import nn
from worlds import (  # noqa: F401
    LOST,
    WON,
    home,
    inductor_cache,
    known,
    mlp,
    winners,
    with_winners,
)

from fastk.dynamo import backend, duel, explain


def rows_of(explanation):
    return {row.name: row for row in explanation.rows}


def test_replaced_regions(with_winners, monkeypatch):  # noqa: F811
    monkeypatch.setattr(duel, "measure", lambda *arguments: WON)
    model, (x,) = mlp()
    lines = []
    found = explain(model, x, progress=lines.append)
    assert len(lines) == len(found.graphs) == 1 and found.device == "cpu"
    rows = rows_of(found)
    row = rows["matmul_bias_gelu"]
    assert row.is_replaced and row.inductors == 2e-6 and row.ours == 1e-6
    assert "2.00 times as fast as Inductor's" in row.reason
    text = str(found)
    assert f"of {len(found.rows)} regions are replaced" in text
    assert "matmul_bias_gelu" in text and row.key[:8] in text
    assert "graph 0 with what won: 2.00 times as fast as Inductor's" in text
    page = found.page()
    assert page.startswith("<!DOCTYPE html>") and "matmul_bias_gelu" in page


def test_regions_that_lose(with_winners, monkeypatch):  # noqa: F811
    # The other cache knows a duel that was won.
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(with_winners.folder / "lost"))
    monkeypatch.setattr(duel, "measure", lambda *arguments: LOST)
    model, (x,) = mlp()
    row = rows_of(explain(model, x, progress=print))["matmul_bias_gelu"]
    assert row.outcome == "not replaced" and "0.50 times as fast" in row.reason


def test_a_graph_that_loses_as_a_whole(with_winners, monkeypatch):  # noqa: F811
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(with_winners.folder / "whole"))
    monkeypatch.setattr(duel, "measure", lambda *arguments: WON)
    monkeypatch.setattr(backend.whole, "hold", lambda *arguments: LOST)
    model, (x,) = mlp()
    found = explain(model, x, progress=print)
    row = rows_of(found)["matmul_bias_gelu"]
    assert row.outcome == "not replaced" and row.ours == 1e-6
    assert row.reason.endswith("; the graph as a whole is no faster")
    for text in (str(found), found.page()):
        assert "graph 0 with what won: 0.50 times as fast" in text
        assert "graph 0: left to Inductor: with what won by itself" in text


def test_without_winners_inductors_times_are_told(home):  # noqa: F811
    model, (x,) = mlp()
    found = explain(model, x, progress=print)
    assert {row.outcome for row in found.rows} == {"miss"}
    assert all(row.inductors > 0 and row.ours is None for row in found.rows)
    assert found.total > 0 and "0 of" in found.summary()


def test_a_model_without_graphs(home):  # noqa: F811
    lines = []
    found = explain(nn.GRU(8, 8).eval(), torch.randn(3, 2, 8), progress=lines.append)
    assert not found.graphs and not lines
    first, why, *_ = str(found).splitlines()
    assert first.startswith("torch.compile made no graph of this model")
    assert why.startswith("torch.compile leaves a part to Python: ")
    assert "GRU(8, 8)" in why
    assert "leaves a part to Python" in found.page()


def test_a_part_that_is_left_to_python(home):  # noqa: F811
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            y = self.linear(x)
            torch._dynamo.graph_break()
            return y.relu() + 1

    for _ in range(2):
        found = explain(Mixed().eval(), torch.randn(3, 8), progress=lambda line: None)
        text = str(found)
        assert len(found.graphs) == 2 and found.rows
        assert "regions are replaced" in text and "leaves a part to Python: " in text
        # Asked again it is said again, and once.
        assert len(found.breaks) == 1, found.breaks


def test_a_graph_that_is_left_alone(home):  # noqa: F811
    class Draws(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    found = explain(Draws(), torch.randn(4, 4), progress=print)
    assert not found.rows and "random" in found.graphs[0].reason
    assert "left to Inductor" in str(found) and "left to Inductor" in found.page()
